"""Running many small pieces of work on several threads.

Here: ThreadPool, which spreads a list over the caller's thread and some more.
Not here: processes (process_pool), how many threads there should be (settings).
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pellucid.settings import current

Item = TypeVar("Item")


class ThreadPool:
    """Threads that are started when they are first needed. The caller's own thread works too.

    >>> found: list[int] = []
    >>> ThreadPool(2).map(found.append, [1, 2, 3])
    >>> sorted(found)
    [1, 2, 3]
    """

    def __init__(self, count: int | None = None) -> None:
        self.count = count or current().threads
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def map(self, work: Callable[[Item], object], items: Sequence[Item]) -> None:
        """Call ``work`` once for every item, in any order; the first error stops what has not begun."""
        # The iterator of a list may be shared: taking the next item is one step of the interpreter.
        waiting = iter(list(items))

        def drain() -> None:
            try:
                for item in waiting:
                    work(item)
            except BaseException:
                for _ in waiting:
                    pass
                raise

        others = [self._started().submit(drain) for _ in range(min(self.count, len(items)) - 1)]
        try:
            drain()
        finally:
            errors = [future.exception() for future in others]
        for error in errors:
            if error is not None:
                raise error

    def _started(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(max(1, self.count - 1), thread_name_prefix="pellucid-formats")
            return self._pool

    def close(self) -> None:
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown()
                self._pool = None
