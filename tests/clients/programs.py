"""Programs in C: built once, run, and listened to.

Here: running one, one that listens, and what has to stand before it.
Not here: tests.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from tests.contracts.lanes import reply
from tests.waiting import TIMEOUT_S

VALGRIND = ("valgrind", "--quiet", "--leak-check=full", "--errors-for-leak-kinds=definite", "--error-exitcode=99")


def _ucx_folder() -> str:
    found = find_spec("libucx")
    return str(Path(found.origin).parent / "lib") if found is not None and found.origin else ""


UCX: Mapping[str, str] = {"LD_LIBRARY_PATH": _ucx_folder(), "UCX_LOG_LEVEL": "fatal"}
"""By which a C program finds the libucp of the Python package, and UCX writes nothing between the program's lines."""


def run(*command: object, **environment: str) -> list[str]:
    """What a program of ours prints, as words; it has to end well."""
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert "Sanitizer" not in done.stderr and "==" not in done.stderr, done.stderr
    return done.stdout.split() + ([] if done.returncode in (0, 1) else [f"exit code {done.returncode}", done.stderr])


@contextmanager
def serving(*command: object, **environment: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The C end, listening, and its address."""
    arguments = [str(part) for part in command]
    with subprocess.Popen(
        arguments, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **environment}
    ) as child:
        try:
            (address,) = reply(child, "listening")
            yield child, address
        finally:
            child.kill()


def printed_address(viewer: "subprocess.Popen[str]") -> str:
    """The address for programs, which ``pellucid view --network`` prints after the link for a browser."""
    assert viewer.stdout is not None
    viewer.stdout.readline()
    return viewer.stdout.readline().removeprefix("For programs: ").strip().strip("'")
