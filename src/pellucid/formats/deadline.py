"""A time limit for opening a file.

Here: within_limit(): work in a thread of its own, which is left behind where it takes too long; timeout_error().
Not here: how long that is (settings), limits of a whole process (workers, agent), a library that keeps Python's lock
(hdf5.structure_check).

A system call on a network disk that is gone cannot be stopped from outside. The caller continues without it; the thread
ends with the process, if not before.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import TypeVar

from pellucid.errors import Unreadable
from pellucid.settings import current

Result = TypeVar("Result")


def within_limit(path: str, work: Callable[[], Result]) -> Result:
    """What the work gives; Unreadable where that takes longer than the setting ``open_timeout_s``."""
    timeout_s = current().open_timeout_s
    done: Future[Result] = Future()
    context = copy_context()

    def run() -> None:
        try:
            done.set_result(context.run(work))
        except BaseException as error:  # noqa: BLE001  # Another thread raises it again.
            done.set_exception(error)

    threading.Thread(target=run, name="pellucid-open", daemon=True).start()
    try:
        return done.result(timeout_s)
    except TimeoutError:
        if done.done():  # It was the work that raised it.
            raise
        raise timeout_error(path, timeout_s) from None


def timeout_error(path: str, timeout_s: float) -> Unreadable:
    return Unreadable(path, f"opening it took longer than {timeout_s} s")
