"""Starting Python for another process, without modules from the current folder.

Here: module_command(), the command that runs one of our modules; safe_path(), for children that a library starts.
Not here: what the processes do (workers, instance, agent), processes of files alone (formats.process_pool).

Python looks for modules in the current folder first, for ``-m`` as for ``-c``. In a folder where others may write, a
``struct.py`` of theirs would run as the user who started the process.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "PYTHONSAFEPATH"
"""Set, Python does not look for modules in the current folder."""
_lock = threading.Lock()
_users = 0
_before: str | None = None


def module_command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module in a new process of this Python."""
    return [sys.executable, "-P", "-m", module, *arguments]


@contextmanager
def safe_path() -> Iterator[None]:
    """Python processes that start in this context, such as those of multiprocessing, ignore the current folder too.

    Only in this context: in the program of a user, other children are the user's own.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _users, _before  # noqa: PLW0603
    with _lock:
        if _users == 0:
            _before = os.environ.get(VARIABLE)
            os.environ[VARIABLE] = "1"
        _users += 1


def _leave() -> None:
    global _users  # noqa: PLW0603
    with _lock:
        _users -= 1
        if _users:
            return
        if _before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = _before
