"""Another user of this machine.

Here: the user's account, and commands as that user.
Not here: the fixture (conftest).
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

NAME = f"pellucid-{os.getpid()}"
"""Of this process: two runs on one machine do not disturb each other."""


def can_add() -> bool:
    return os.geteuid() == 0 and shutil.which("useradd") is not None


@contextmanager
def account() -> Iterator[str]:
    """A real user who is nobody here."""
    subprocess.run(["useradd", "--no-create-home", NAME], check=True)
    try:
        yield NAME
    finally:
        subprocess.run(["userdel", NAME], check=True, capture_output=True)


def can(stranger: str, *command: str) -> bool:
    """Whether a command succeeds for that user."""
    done = subprocess.run(["runuser", "-u", stranger, "--", *command], capture_output=True, cwd="/", check=False)
    return done.returncode == 0
