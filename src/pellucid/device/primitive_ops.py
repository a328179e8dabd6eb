"""What Warp lacks or does slowly: FFT, sort and scan, the same on every device.

Here: the Primitives protocol, and choosing the implementation for a device.
Not here: the implementations (scipy_primitives on SciPy and NumPy, cupy_primitives on CuPy).
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import DTypeLike

from pellucid.device.hardware import Device, choose

Array = Any
"""An array in the device's memory: NumPy on the CPU, CuPy on CUDA. Functions also take Warp arrays of that device;
launch() takes all three."""

PRIMITIVES = {
    "cpu": "pellucid.device.scipy_primitives:CpuPrimitives",
    "cuda": "pellucid.device.cupy_primitives:CudaPrimitives",
}


class Primitives(Protocol):
    """Operations on arrays of one device. None of them changes its input.

    Transforms keep single precision single. ``axes``: the axes transformed, for rfft and irfft the last one is real.
    Work on CUDA is queued in the order of Warp's launches; to_host() waits for it.
    """

    def to_device(self, array: np.ndarray[Any, Any]) -> Array:
        """Large arrays are copied beside what is queued by other threads meanwhile."""

    def to_host(self, array: Array, out: np.ndarray[Any, Any] | None = None) -> np.ndarray[Any, Any]:
        """out: where to put it, of the same shape and type; returned, where it is given."""

    def empty(self, shape: Sequence[int], dtype: DTypeLike) -> Array: ...

    def zeros(self, shape: Sequence[int], dtype: DTypeLike) -> Array: ...

    def fft(self, array: Array, axes: Sequence[int] = (-1,)) -> Array: ...

    def ifft(self, array: Array, axes: Sequence[int] = (-1,)) -> Array: ...

    def rfft(self, array: Array, axes: Sequence[int] = (-1,)) -> Array: ...

    def irfft(self, array: Array, shape: Sequence[int], axes: Sequence[int] = (-1,)) -> Array:
        """``shape``: lengths of the result along ``axes``; an odd and an even length have transforms of one length."""

    def sort(self, values: Array, axis: int = -1) -> Array:
        """Ascending, not-a-number last."""

    def argsort(self, keys: Array, axis: int = -1) -> Array:
        """int64 indices that sort the keys; equal keys keep their order. For pairs: ``values[argsort(keys)]``."""

    def scan(self, values: Array, *, exclusive: bool = False) -> Array:
        """Prefix sums of one axis: inclusive, or exclusive (first is zero).

        Integers are summed in 64 bits of their sign, floating-point numbers in float64.
        """


def primitives(device: Device | None = None) -> Primitives:
    """The implementation for a device."""
    return _load(device or choose())


@cache
def _load(device: Device) -> Primitives:
    module, _, name = PRIMITIVES[device.kind].partition(":")
    return cast(Primitives, getattr(import_module(module), name)(device))


def sum_dtype(dtype: np.dtype[Any]) -> type[np.generic]:
    """What scan() sums in."""
    if dtype.kind == "u":
        return np.uint64
    return np.int64 if dtype.kind in "ib" else np.float64
