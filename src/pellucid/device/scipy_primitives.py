"""FFT, sort and scan on the CPU: SciPy's transforms and NumPy's sort, on all threads of the settings.

Here: CpuPrimitives.
Not here: CUDA (cupy_primitives).
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.fft
from numpy.typing import DTypeLike

from pellucid import settings
from pellucid.device.hardware import Device
from pellucid.device.protocol import sum_dtype

Array = np.ndarray[Any, Any]

SCAN_CHUNK = 2**16
"""Elements scanned at a time: a chunk is summed and offset while it is in cache. Fixed, so that rounding does not
depend on the number of threads."""


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
        return np.sort(np.asarray(values), axis=axis)

    def argsort(self, keys: Any, axis: int = -1) -> Array:
        return np.argsort(np.asarray(keys), axis=axis, kind="stable")

    def scan(self, values: Any, *, exclusive: bool = False) -> Array:
        values = np.asarray(values)
        out = np.empty(len(values) + 1, sum_dtype(values.dtype))
        out[0] = 0
        _scan(values, out[1:])
        return out[:-1] if exclusive else out[1:]


def _threads() -> int:
    return settings.current().threads


def _scan(values: Array, out: Array) -> None:
    """Prefix sums, in two passes over chunks: the sum of each, then the sums within each on top of those before."""
    chunks = [slice(start, start + SCAN_CHUNK) for start in range(0, len(values), SCAN_CHUNK)]
    with ThreadPoolExecutor(_threads()) as pool:
        totals = list(pool.map(lambda chunk: values[chunk].sum(dtype=out.dtype), chunks))
        offsets = np.cumsum([out.dtype.type(0), *totals[:-1]], dtype=out.dtype)
        list(pool.map(lambda chunk, offset: _scan_chunk(values[chunk], offset, out[chunk]), chunks, offsets))


def _scan_chunk(values: Array, offset: np.generic, out: Array) -> None:
    np.cumsum(values, dtype=out.dtype, out=out)
    out += offset
