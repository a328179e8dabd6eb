"""Pages of shared memory: allocated in advance, mapped many at a time, and reused.

Here: reserve, clear, map_pages, in_parallel, BufferPool, Mappings.
Not here: shared memory itself (formats.shared_memory), what is written into it (pieces).
"""

import ctypes
import errno
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import prod
from typing import Any

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray

PAGE_BYTES = 4096
SLAB_BYTES = 32 * 2**20
MAX_THREADS = 8
MAPPED_TOGETHER = 16 * PAGE_BYTES
POPULATE_WRITE = 23
_madvise = ctypes.CDLL(None, use_errno=True).madvise
_madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def reserve(shared: SharedArray) -> None:
    """Have every page of new memory, mapped for writing; raise OSError where there is not that much.

    A receiver that takes a page fault for every 4 KiB falls behind.
    """
    content = _bytes(shared)
    if _advised(content[:PAGE_BYTES], POPULATE_WRITE) == errno.EINVAL:  # before Linux 5.14
        os.posix_fallocate(shared.descriptor, 0, max(1, content.size))
        in_parallel(lambda start: _touch(content[start : start + SLAB_BYTES]), range(0, content.size, SLAB_BYTES))
        return

    def populate(start: int) -> None:
        fault = _advised(content[start : start + SLAB_BYTES], POPULATE_WRITE)
        if fault:
            raise OSError(fault, os.strerror(fault))

    in_parallel(populate, range(0, content.size, SLAB_BYTES))


def clear(shared: SharedArray, value: float = 0) -> None:
    """Give every element one value, whatever was there before."""
    content, together = shared.array.reshape(-1), SLAB_BYTES // shared.dtype.itemsize
    in_parallel(lambda start: content[start : start + together].fill(value), range(0, content.size, together))


def map_pages(content: Voxels) -> None:
    """Map pages that are there already, because the other end has reserved them."""
    # A read maps all sixteen around it, and shared memory is writable from then on. MADV_POPULATE_READ does so too, but
    # looks at every page afterwards: 23 GB/s a core against 16, and 6 for mapping by writing.
    content[::MAPPED_TOGETHER].max(initial=0)


def _bytes(shared: SharedArray) -> Voxels:
    return shared.array.reshape(-1).view(np.uint8)


def _advised(content: Voxels, advice: int) -> int:
    """The number of the error, 0 where there was none."""
    start = content.ctypes.data
    before = start % PAGE_BYTES
    if not content.size or _madvise(start - before, content.size + before, advice) == 0:
        return 0
    return ctypes.get_errno()


def _touch(content: Voxels) -> None:
    content[::PAGE_BYTES] |= 0


def in_parallel(function: Callable[[int], None], items: Iterable[int]) -> None:
    """Call the function for every item on several cores; NumPy lets them run side by side."""
    with ThreadPoolExecutor(min(MAX_THREADS, len(os.sched_getaffinity(0)))) as pool:
        for _ in pool.map(function, items):
            pass


class BufferPool:
    """Memory of unused arrays, of this process or another, for the next array of about that size.

    Its pages are there already: having new ones takes three times as long as copying into them. Old voxels are still in
    it. When there is more than limit_bytes, the oldest goes first.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._spare: list[SharedArray] = []
        self._lock = threading.Lock()

    def put(self, shared: SharedArray) -> None:
        with self._lock:
            self._spare.append(shared)
            while sum(each.nbytes for each in self._spare) > self._limit_bytes:
                threading.Thread(target=self._spare.pop(0).close).start()  # Giving pages back takes its time.

    def clear(self) -> None:
        """Give all of it back."""
        with self._lock:
            spare, self._spare = self._spare, []
        for each in spare:
            each.close()

    def take(self, shape: Sequence[int], dtype: Any) -> SharedArray | None:
        """Memory for such an array, mapped; None where nothing fits without waste."""
        nbytes = prod(shape) * np.dtype(dtype).itemsize
        with self._lock:
            fitting = [each for each in self._spare if nbytes <= each.nbytes <= 2 * nbytes]
            if not fitting:
                return None
            found = min(fitting, key=lambda each: each.nbytes)
            self._spare.remove(found)
        if (found.shape, found.dtype) == (tuple(shape), np.dtype(dtype)):
            return found
        with found:
            shared = SharedArray(os.dup(found.descriptor), shape, dtype)
        content = _bytes(shared)
        in_parallel(lambda start: map_pages(content[start : start + SLAB_BYTES]), range(0, content.size, SLAB_BYTES))
        return shared


class Mappings:
    """Memory of other processes, mapped until it was unused for a moment.

    Who sends one array after the other is given the same memory by turns, and to map and unmap it takes half as long as
    to copy into it. most: how many of them are kept.
    """

    def __init__(self, keep_s: float, most: int) -> None:
        self._keep_s, self._most = keep_s, most
        self._kept: dict[tuple[int, int], Voxels] = {}
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()

    def take(self, descriptor: int) -> tuple[tuple[int, int], Voxels]:
        """All bytes behind a descriptor, which is closed, and what they are called here."""
        status = os.fstat(descriptor)
        name = (status.st_dev, status.st_ino)
        with SharedArray(descriptor, (status.st_size,), np.uint8) as shared, self._lock:
            return name, self._kept.pop(name, shared.array)

    def put(self, name: tuple[int, int], content: Voxels) -> None:
        """They are not used any more."""
        with self._lock:
            self._kept[name] = content
            gone = [self._kept.pop(each) for each in list(self._kept)[: -self._most]]
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(self._keep_s, self.clear)
            self._timer.daemon = True
            self._timer.start()
        threading.Thread(target=gone.clear).start()  # Unmapping takes its time.

    def clear(self) -> None:
        """Give all of them up."""
        with self._lock:
            gone, self._kept = self._kept, {}
        gone.clear()
