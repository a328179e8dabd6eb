"""Devices: which there are, launching kernels on them, and FFT, sort and scan.

Here: choose() and Device, launch(), primitives().
Not here: the kernels of a layer (beside the code that launches them).

Importing this loads neither Warp nor CuPy nor SciPy: the first call that needs one does.
"""

from pellucid.device.hardware import Device, choose, choose_all, devices
from pellucid.device.kernel_launch import LaunchRange, launch, never_cancelled, prepare, prepare_all, synchronize
from pellucid.device.primitive_ops import Array, Primitives, primitives

__all__ = [
    "Array",
    "Device",
    "LaunchRange",
    "Primitives",
    "choose",
    "choose_all",
    "devices",
    "launch",
    "never_cancelled",
    "prepare",
    "prepare_all",
    "primitives",
    "synchronize",
]
