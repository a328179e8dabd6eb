"""Results of windows that several blocks need.

Here: WindowCache, of bounded size, for several threads.
Not here: what the results are blended to (prediction).
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future

from pellucid.formats.protocol import Voxels


class WindowCache:
    """The results that were used last, up to so many bytes. A result that is being computed is waited for."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._results: OrderedDict[Hashable, Future[Voxels]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, compute: Callable[[], Voxels]) -> Voxels:
        """The result of a key: computed by the first thread that needs it, and again if it had to go."""
        with self._lock:
            found = self._results.get(key)
            if found is not None:
                self._results.move_to_end(key)
            else:
                mine = self._results[key] = Future()
        if found is not None:
            return found.result()
        try:
            mine.set_result(compute())
        except BaseException as error:
            with self._lock:
                self._results.pop(key, None)
            mine.set_exception(error)
            raise
        self._shrink()
        return mine.result()

    def _shrink(self) -> None:
        with self._lock:
            done = [(key, one.result().nbytes) for key, one in self._results.items() if one.done()]
            total = sum(size for _, size in done)
            for key, size in done:
                if total <= self._max_bytes:
                    return
                del self._results[key]
                total -= size
