"""FFT, sort and scan on the CPU: SciPy's transforms and NumPy's sort and sum.

Here: CpuPrimitives.
Not here: CUDA (cupy_primitives).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.fft
from numpy.typing import DTypeLike

from pellucid import settings
from pellucid.device.hardware import Device
from pellucid.device.primitive_ops import sum_dtype

Array = np.ndarray[Any, Any]


class CpuPrimitives:
    """See Primitives. Arrays are NumPy's; a Warp array on the CPU is read in place."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def to_device(self, array: Array) -> Array:
        return np.asarray(array)

    def to_host(self, array: Any, out: Array | None = None) -> Array:
        if out is None:
            return np.asarray(array)
        np.copyto(out, array)
        return out

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
        # One thread: NumPy's vectorised sort beats sorting parts in threads and merging them where it has AVX-512.
        return np.sort(np.asarray(values), axis=axis)

    def argsort(self, keys: Any, axis: int = -1) -> Array:
        return np.argsort(np.asarray(keys), axis=axis, kind="stable")

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
