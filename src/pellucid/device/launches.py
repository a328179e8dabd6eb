"""Running a kernel on a device: on all cores of the CPU, or on a CUDA card.

Here: launch(), prepare(), synchronize().
Not here: FFT, sort and scan (primitives), the kernels themselves.

The convention. Warp runs a CPU launch on one thread. launch() therefore cuts the leading axis of the launch into bands
and runs them on several; a band counts its threads from zero, so a kernel takes ``first`` as its first parameter and
adds it to its leading index. launch() passes it; callers do not:

    @wp.kernel(enable_backward=False)
    def double(first: wp.int32, values: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
        row, column = wp.tid()
        row += first
        out[row, column] = 2.0 * values[row, column]

    launch(double, values.shape, inputs=[values], outputs=[out], device=choose())

Arguments may be Warp arrays, or the NumPy (CPU) or CuPy (CUDA) arrays that primitives() gives. The result does not
depend on the number of threads, except where a kernel adds floating-point numbers atomically: their order is not fixed.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from math import prod
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from pellucid import settings
from pellucid.device import runtime
from pellucid.device.hardware import Device, choose
from pellucid.errors import InvalidInput

BANDS_PER_THREAD = 4
"""More bands than threads: work is seldom spread evenly (the middle of a picture costs more than its border)."""

SMALLEST_BAND = 2048
"""Kernel threads in a band, at least: starting one costs about 20 µs."""

LARGEST_AXIS = 2**31 - 1
"""Warp counts its threads along an axis in 32 bits."""


def launch(
    kernel: Any,
    dim: int | Sequence[int],
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    device: Device | None = None,
    block_dim: int | None = None,
) -> None:
    """Run a kernel for every index below ``dim`` (up to four axes).

    On the CPU it is done on return; on CUDA it is queued on Warp's stream (see synchronize()). block_dim: threads per
    CUDA block, 256 by default; the CPU ignores it.
    """
    device = device or choose()
    shape = (dim,) if isinstance(dim, int) else tuple(dim)
    _check(kernel, shape)
    if prod(shape) == 0:
        return
    if device.is_cuda:
        _launch_cuda(kernel, shape, [0, *inputs, *outputs], device, block_dim)
    else:
        _run(_record_bands(kernel, shape, [*inputs, *outputs]))


def prepare(kernel: Any, device: Device | None = None, block_dim: int | None = None) -> None:
    """Compile and load the kernel's module now, so that its first launch does not wait. Not for generic kernels."""
    device = device or choose()
    warp = runtime.start()
    with runtime.LOCK, _announced(kernel, device):
        warp.load_module(kernel.module, device=device.name, block_dim=block_dim)


def synchronize(device: Device | None = None) -> None:
    """Wait until everything queued on the device is done."""
    device = device or choose()
    if device.is_cuda:
        runtime.start().synchronize_device(device.name)


def _check(kernel: Any, shape: tuple[int, ...]) -> None:
    parameters = [argument.label for argument in kernel.adj.args]
    if parameters[:1] != ["first"]:
        do = "Give it 'first: wp.int32' as first parameter and add it to the leading index of wp.tid()."
        raise InvalidInput(f"The kernel {kernel.key} cannot be split over threads.", do=do)
    if shape[0] > LARGEST_AXIS:
        do = "Give the launch several axes, each below 2³¹."
        raise InvalidInput(f"The kernel {kernel.key} cannot run {shape[0]:,} threads along one axis.", do=do)


def _launch_cuda(
    kernel: Any, shape: tuple[int, ...], arguments: list[Any], device: Device, block_dim: int | None
) -> None:
    warp = runtime.start()
    with runtime.LOCK, _announced(kernel, device):
        warp.launch(kernel, shape, inputs=arguments, device=device.name, block_dim=block_dim or 256)


# On the CPU


def _record_bands(kernel: Any, shape: tuple[int, ...], arguments: list[Any]) -> list[Any]:
    """One recorded launch per band. Recording compiles, loads and packs, all of it here: running is then pure C++."""
    warp = runtime.start()
    with runtime.LOCK, _announced(kernel, choose("cpu")):
        return [
            warp.launch(kernel, (stop - first, *shape[1:]), inputs=[first, *arguments], device="cpu", record_cmd=True)
            for first, stop in bands(shape, settings.current().threads)
        ]


def bands(shape: tuple[int, ...], threads: int) -> list[tuple[int, int]]:
    """The leading axis, cut into nearly equal half-open ranges.

    >>> bands((10, 4096), threads=1), bands((10, 4096), threads=2)[:3]
    ([(0, 10)], [(0, 1), (1, 2), (2, 3)])
    """
    count = 1 if threads == 1 else min(shape[0], threads * BANDS_PER_THREAD, max(1, prod(shape) // SMALLEST_BAND))
    cuts = [shape[0] * i // count for i in range(count + 1)]
    return list(pairwise(cuts))


def _run(commands: list[Any]) -> None:
    """Run all of them, on this thread and on as many others as are idle."""
    remaining = iter(commands)
    others = min(settings.current().threads, len(commands)) - 1
    helpers = [_pool(others).submit(_run_remaining, remaining) for _ in range(others)]
    try:
        _run_remaining(remaining)
    finally:
        _join(helpers)


def _run_remaining(remaining: Iterator[Any]) -> None:
    # Several threads draw from one list iterator; the interpreter lock makes each draw whole.
    for command in remaining:
        command.launch()


def _join(helpers: list[Future[None]]) -> None:
    # A helper that has not begun found the pool busy; this thread has done its share already.
    for helper in helpers:
        if not helper.cancel():
            helper.result()


class _State:
    pool: ThreadPoolExecutor | None = None
    size = 0
    seen: ClassVar[WeakKeyDictionary[Any, set[str]]] = WeakKeyDictionary()


def _pool(threads: int) -> ThreadPoolExecutor:
    with runtime.LOCK:
        if _State.pool is None or _State.size < threads:
            # The smaller one ends by itself once nobody refers to it.
            _State.pool, _State.size = ThreadPoolExecutor(threads, thread_name_prefix="pellucid-kernel"), threads
        return _State.pool


def _forget_pool() -> None:
    # Threads do not survive a fork: a child that used the pool would wait for ever.
    _State.pool, _State.size = None, 0


os.register_at_fork(after_in_child=_forget_pool)


def _announced(kernel: Any, device: Device) -> AbstractContextManager[None]:
    """A context that says so if a first launch has to compile; cheap for all later ones."""
    known = _State.seen.setdefault(kernel, set())
    if device.name in known:
        return nullcontext()
    known.add(device.name)
    name = kernel.key.rpartition("__")[2]  # The key of a kernel made in a function begins with that function's name.
    return runtime.saying_that_it_compiles(name, device.name)
