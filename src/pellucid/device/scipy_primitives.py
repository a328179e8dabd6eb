"""FFT, sort and scan on the CPU: SciPy's transforms and NumPy's sort, on all threads of the settings.

Here: CpuPrimitives.
Not here: CUDA (cupy_primitives).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.fft
from numpy.typing import DTypeLike

from pellucid import settings
from pellucid.device.hardware import Device
from pellucid.device.protocol import sum_dtype

Array = np.ndarray[Any, Any]

WORTH_SPLITTING = 2**17
"""Elements above which sorting parts in threads and merging them is faster than sorting the whole."""


class CpuPrimitives:
    """See Primitives. Arrays are NumPy's; a Warp array on the CPU is read in place."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def to_device(self, array: Array) -> Array:
        return np.asarray(array)

    def to_host(self, array: Any) -> Array:
        return np.asarray(array)

    def empty(self, shape: Sequence[int], dtype: DTypeLike) -> Array:
        return np.empty(tuple(shape), dtype)

    def zeros(self, shape: Sequence[int], dtype: DTypeLike) -> Array:
        return np.zeros(tuple(shape), dtype)

    def fft(self, array: Any, axes: Sequence[int] = (-1,)) -> Array:
        return np.asarray(scipy.fft.fftn(np.asarray(array), axes=tuple(axes), workers=_threads()))

    def ifft(self, array: Any, axes: Sequence[int] = (-1,)) -> Array:
        return np.asarray(scipy.fft.ifftn(np.asarray(array), axes=tuple(axes), workers=_threads()))

    def rfft(self, array: Any, axes: Sequence[int] = (-1,)) -> Array:
        return np.asarray(scipy.fft.rfftn(np.asarray(array), axes=tuple(axes), workers=_threads()))

    def irfft(self, array: Any, shape: Sequence[int], axes: Sequence[int] = (-1,)) -> Array:
        lengths = tuple(shape)
        return np.asarray(scipy.fft.irfftn(np.asarray(array), s=lengths, axes=tuple(axes), workers=_threads()))

    def sort(self, values: Any, axis: int = -1) -> Array:
        values = np.asarray(values)
        if not _is_worth_splitting(values):
            return np.sort(values, axis=axis)
        out: Array = values.copy()
        _in_threads(lambda part: out[part].sort(), len(out))
        out.sort(kind="stable")  # NumPy's stable sort finds the sorted parts and merges them
        return out

    def argsort(self, keys: Any, axis: int = -1) -> Array:
        keys = np.asarray(keys)
        if not _is_worth_splitting(keys):
            return np.argsort(keys, axis=axis, kind="stable")
        parts = _in_threads(lambda part: np.argsort(keys[part], kind="stable") + part.start, len(keys))
        order = np.concatenate(parts)
        return np.asarray(order[np.argsort(keys[order], kind="stable")])

    def scan(self, values: Any, *, exclusive: bool = False) -> Array:
        values = np.asarray(values)
        dtype = sum_dtype(values.dtype)
        if not exclusive:
            return np.cumsum(values, dtype=dtype)
        out = np.zeros(len(values), dtype)
        np.cumsum(values[:-1], dtype=dtype, out=out[1:])
        return out


def _threads() -> int:
    return settings.current().threads


def _is_worth_splitting(values: Array) -> bool:
    # Numbers of 8 and 16 bits are sorted by radix, which gains nothing from sorted parts.
    return values.ndim == 1 and len(values) > WORTH_SPLITTING and values.itemsize > 2 and _threads() > 1


def _in_threads(function: Callable[[slice], Any], length: int) -> list[Any]:
    """The results of a function for as many equal parts as there are threads, in order."""
    count = _threads()
    cuts = [length * i // count for i in range(count + 1)]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(function, [slice(start, stop) for start, stop in pairwise(cuts)]))
