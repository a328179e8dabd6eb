"""Whether a kernel compiles and runs: used by ``pellucid doctor``.

Here: one small kernel and its check.
Not here: launching in general (kernel_launch).
"""

# mypy: disable-error-code="untyped-decorator, valid-type"
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import time

import numpy as np
import warp as wp

from pellucid.device.hardware import Device
from pellucid.device.kernel_launch import launch
from pellucid.device.runtime import start


@wp.kernel(enable_backward=False, module="unique")
def double(first: wp.int32, values: wp.array(dtype=wp.float32)) -> None:
    i = wp.tid() + first
    values[i] = 2.0 * values[i]


def seconds_to_run(device: Device) -> float:
    """Compile (or load from the cache) and run a kernel; RuntimeError where it does not, or the result is wrong."""
    started = time.perf_counter()
    values = start().array(np.arange(5, dtype=np.float32), device=device.name)
    launch(double, 5, outputs=[values], device=device)
    if values.numpy().tolist() != [0.0, 2.0, 4.0, 6.0, 8.0]:
        raise RuntimeError("a kernel ran and gave a wrong result")
    return time.perf_counter() - started
