"""Arrays in memory that several processes share, passed on by descriptor.

Here: SharedArray, made in one process, and in another from the descriptor that it received.
Not here: passing descriptors (workers, transport), filling arrays (hdf5.parallel).

The memory has no name: nothing is in /dev/shm, and it is gone when the last process that holds it has closed it or has
died, however it died.
"""

import ctypes
import fcntl
import mmap
import os
from collections.abc import Sequence
from contextlib import suppress
from math import prod
from types import TracebackType
from typing import Any

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels

_MAP_FIXED = 0x10
_mmap = ctypes.CDLL(None, use_errno=True).mmap
_mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
_mmap.restype = ctypes.c_void_p


class SharedArray:
    """An array in shared memory.

    array: a NumPy view of all of it. descriptor: what other processes get; it belongs to this object.
    ``close`` gives up the descriptor and the view. The memory itself goes with the last view that is still in use.
    is_private: whether ``make_private`` was called.

    >>> with SharedArray.create((2, 3), "uint16") as shared:
    ...     shared.array[...] = 7
    ...     int(shared.array.sum())
    42
    """

    def __init__(self, descriptor: int, shape: Sequence[int], dtype: Any) -> None:
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)
        self.nbytes = prod(self.shape) * self.dtype.itemsize
        self.descriptor = descriptor
        self.is_private = False
        self._array: Voxels | None = _view(descriptor, self.shape, self.dtype)

    @classmethod
    def create(cls, shape: Sequence[int], dtype: Any) -> "SharedArray":
        """A new array of zeros. Its size is fixed for good, so that no holder can pull the memory away from another."""
        size = max(1, prod(shape) * np.dtype(dtype).itemsize)
        descriptor = os.memfd_create("pellucid", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(descriptor, size)
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
            return cls(descriptor, shape, dtype)
        except BaseException:
            os.close(descriptor)
            raise

    @property
    def array(self) -> Voxels:
        if self._array is None:
            raise InvalidInput(
                "This shared array is closed.", remedy="Use it before calling close(), or copy the values you need."
            )
        return self._array

    def make_private(self) -> None:
        """What is written here from now on, through any view, stays in this process: those that the array was handed to
        go on to see what was there. Only the pages that are written to are copied."""
        if self.nbytes and not self.is_private:
            how = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | _MAP_FIXED
            if _mmap(self.array.ctypes.data, self.nbytes, *how, self.descriptor, 0) != self.array.ctypes.data:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self.is_private = True

    def close(self) -> None:
        """Give up the memory; calling it again does nothing."""
        if self._array is not None:
            self._array = None
            os.close(self.descriptor)
            self.descriptor = -1

    def __enter__(self) -> "SharedArray":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_array", None) is not None:
            self.close()


def _view(descriptor: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Voxels:
    count = prod(shape)
    mapped = mmap.mmap(descriptor, max(1, count * dtype.itemsize))
    with suppress(OSError):  # kernels that keep no large pages for shared memory refuse
        mapped.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(mapped, dtype, count).reshape(shape)
