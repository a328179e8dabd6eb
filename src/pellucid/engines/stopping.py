"""Whether the work on a block should stop: the user interrupted it, or another block failed.

Here: stopping_when, which an engine sets around its work, and raise_if_stopped, which long work calls between steps.
Not here: which blocks are begun (the engines).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pellucid.errors import Cancelled

IsStopped = Callable[[], bool]
_IS_STOPPED: ContextVar[IsStopped | None] = ContextVar("is_stopped", default=None)


@contextmanager
def stopping_when(is_stopped: IsStopped) -> Iterator[None]:
    """In this thread, raise_if_stopped() asks this from now on."""
    token = _IS_STOPPED.set(is_stopped)
    try:
        yield
    finally:
        _IS_STOPPED.reset(token)


def raise_if_stopped() -> None:
    """Raise Cancelled where the work of this thread should stop; nothing outside an engine.

    >>> raise_if_stopped()
    >>> with stopping_when(lambda: True):
    ...     raise_if_stopped()
    Traceback (most recent call last):
    pellucid.errors.Cancelled: The work was cancelled. Run the same command again to continue where it stopped.
    """
    is_stopped = _IS_STOPPED.get()
    if is_stopped is not None and is_stopped():
        raise Cancelled("The work")
