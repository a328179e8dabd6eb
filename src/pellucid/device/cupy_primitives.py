"""FFT, sort and scan on CUDA, by CuPy.

Here: CudaPrimitives.
Not here: the CPU (scipy_primitives).

CuPy works on Warp's stream of the device, so that its work and Warp's launches follow one another without waiting, and
its memory is not reused while a launch still reads it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from pellucid.device import cupy_staging, runtime
from pellucid.device.hardware import Device
from pellucid.device.primitive_ops import sum_dtype
from pellucid.errors import MissingPackage

Array = Any


class CudaPrimitives:
    """See Primitives. Arrays are CuPy's; a Warp array on this device is read in place."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._cupy = _import_cupy()

    @contextmanager
    def _on_stream(self) -> Iterator[Any]:
        stream = runtime.stream(self.device.name).cuda_stream
        cuda, index = self._cupy.cuda, self.device.index
        with cuda.Device(index), cuda.ExternalStream(int(stream), index) as work:
            yield work

    def to_device(self, array: np.ndarray[Any, Any]) -> Array:
        with self._on_stream() as work:
            if not isinstance(array, np.ndarray) or array.nbytes < cupy_staging.PIECE_BYTES:
                return self._cupy.asarray(array)
            made = self._cupy.empty(array.shape, array.dtype)
            cupy_staging.upload(self._cupy, array, made, work)
            return made

    def to_host(self, array: Array, out: np.ndarray[Any, Any] | None = None) -> np.ndarray[Any, Any]:
        with self._on_stream() as work:
            array = self._cupy.asarray(array)
            if array.nbytes < cupy_staging.PIECE_BYTES:
                return _kept(np.asarray(self._cupy.asnumpy(array)), out)
            array = self._cupy.ascontiguousarray(array)
            kept = np.empty(array.shape, array.dtype) if out is None else out
            cupy_staging.download(self._cupy, array, kept, work)
            return kept

    def empty(self, shape: Sequence[int], dtype: DTypeLike) -> Array:
        with self._on_stream():
            return self._cupy.empty(tuple(shape), dtype)

    def zeros(self, shape: Sequence[int], dtype: DTypeLike) -> Array:
        with self._on_stream():
            return self._cupy.zeros(tuple(shape), dtype)

    def fft(self, array: Array, axes: Sequence[int] = (-1,)) -> Array:
        with self._on_stream():
            return self._cupy.fft.fftn(self._at_least_single(array), axes=tuple(axes))

    def ifft(self, array: Array, axes: Sequence[int] = (-1,)) -> Array:
        with self._on_stream():
            return self._cupy.fft.ifftn(self._at_least_single(array), axes=tuple(axes))

    def rfft(self, array: Array, axes: Sequence[int] = (-1,)) -> Array:
        with self._on_stream():
            return self._cupy.fft.rfftn(self._at_least_single(array), axes=tuple(axes))

    def irfft(self, array: Array, shape: Sequence[int], axes: Sequence[int] = (-1,)) -> Array:
        with self._on_stream():
            return self._cupy.fft.irfftn(self._at_least_single(array), s=tuple(shape), axes=tuple(axes))

    def sort(self, values: Array, axis: int = -1) -> Array:
        with self._on_stream():
            return self._cupy.sort(self._cupy.asarray(values), axis=axis)

    def argsort(self, keys: Array, axis: int = -1) -> Array:
        # CuPy's only sort is a stable one.
        with self._on_stream():
            return self._cupy.argsort(self._cupy.asarray(keys), axis=axis)

    def scan(self, values: Array, *, exclusive: bool = False) -> Array:
        with self._on_stream():
            values = self._cupy.asarray(values)
            dtype = sum_dtype(values.dtype)
            if not exclusive:
                return self._cupy.cumsum(values, dtype=dtype)
            out = self._cupy.zeros(len(values), dtype)
            out[1:] = self._cupy.cumsum(values[:-1], dtype=dtype)
            return out

    def _at_least_single(self, array: Array) -> Array:
        # cuFFT's half precision takes powers of two only; SciPy computes half in single, so both do.
        array = self._cupy.asarray(array)
        return array.astype(np.float32) if array.dtype == np.float16 else array


def _kept(array: np.ndarray[Any, Any], out: np.ndarray[Any, Any] | None) -> np.ndarray[Any, Any]:
    if out is None:
        return array
    np.copyto(out, array)
    return out


def _import_cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise MissingPackage("cupy-cuda13x") from error
    return cupy
