"""Running a kernel on a device: on all cores of the CPU, or on a CUDA GPU.

Here: launch(), prepare(), prepare_all(), synchronize().
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from pellucid import settings
from pellucid.device import runtime
from pellucid.device.hardware import Device, choose
from pellucid.errors import InvalidInput

BANDS_PER_THREAD = 8
"""More bands than threads: work is seldom spread evenly (the middle of an image costs more than its border)."""

MIN_BAND = 2048
"""Kernel threads in a band, at least: starting one costs about 20 µs."""

MAX_AXIS = 2**31 - 1
"""Warp counts its threads along an axis in 32 bits."""

CUDA_PIECE = 2**20
"""Kernel threads that run on CUDA between two looks at whether they are still wanted."""


def never_cancelled() -> bool:
    """Whether to stop: no."""
    return False


@dataclass(frozen=True)
class LaunchRange:
    """Some of the indices of a launch: those of ``shape``, the leading one counted from ``start``.

    is_cancelled: asked between small pieces, from any thread; once it is true the rest is left out. heft: how many
    ordinary kernel threads one of these is worth.
    """

    shape: tuple[int, ...]
    start: int = 0
    is_cancelled: Callable[[], bool] = never_cancelled
    heft: int = 1


def launch(
    kernel: Any,
    dim: int | Sequence[int] | LaunchRange,
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    device: Device | None = None,
    block_dim: int | None = None,
) -> None:
    """Run a kernel for every index below ``dim`` (up to four axes), or for a Portion of them.

    On the CPU it is done on return; on CUDA it is queued on Warp's stream (see synchronize()). block_dim: threads per
    CUDA block, 256 by default; the CPU ignores it.
    """
    device = device or choose()
    portion = dim if isinstance(dim, LaunchRange) else LaunchRange((dim,) if isinstance(dim, int) else tuple(dim))
    _check(kernel, portion.shape)
    if prod(portion.shape) == 0:
        return
    if device.is_cuda:
        _launch_cuda(kernel, portion, [*inputs, *outputs], device, block_dim)
    else:
        _run(_record_bands(kernel, portion, [*inputs, *outputs]), portion.is_cancelled)


def prepare(kernel: Any, device: Device | None = None, block_dim: int | None = None) -> None:
    """Compile and load the kernel's module now, so that its first launch does not wait. Not for generic kernels."""
    device = device or choose()
    warp = runtime.start()
    with runtime.LOCK, _announced(kernel, device):
        warp.load_module(kernel.module, device=device.name, block_dim=block_dim)


def prepare_all(block_dims: Mapping[Any, int | None], device: Device | None = None) -> None:
    """Compile and load several kernels at once: the compilers leave Python's lock while they work.

    block_dims: for each kernel the block_dim that it will be launched with. Kernels that are loaded cost nothing.
    """
    device = device or choose()
    new = [kernel for kernel in block_dims if device.name not in _State.seen.get(kernel, ())]
    if not new:
        return
    warp = runtime.start()
    with runtime.LOCK, ExitStack() as announcements, ThreadPoolExecutor(len(new)) as pool:
        for kernel in new:
            announcements.enter_context(_announced(kernel, device))
        loads = [
            pool.submit(warp.load_module, kernel.module, device=device.name, block_dim=block_dims[kernel])
            for kernel in new
        ]
        for load in loads:
            load.result()


def synchronize(device: Device | None = None) -> None:
    """Wait until everything queued on the device is done, but not for large arrays that other threads copy."""
    device = device or choose()
    if device.is_cuda:
        runtime.start().synchronize_stream(runtime.stream(device.name))


def _check(kernel: Any, shape: tuple[int, ...]) -> None:
    parameters = [argument.label for argument in kernel.adj.args]
    if parameters[:1] != ["first"]:
        remedy = "Add 'first: wp.int32' as first parameter, and add it to the leading index of wp.tid()."
        raise InvalidInput(f"The kernel {kernel.key} does not support several threads.", remedy=remedy)
    if shape[0] > MAX_AXIS:
        remedy = "Use several axes, each below 2³¹."
        raise InvalidInput(
            f"{shape[0]:,} threads along one axis are too many for the kernel {kernel.key}.", remedy=remedy
        )


def _launch_cuda(
    kernel: Any, portion: LaunchRange, arguments: list[Any], device: Device, block_dim: int | None
) -> None:
    warp, shape = runtime.start(), portion.shape
    is_whole = portion.is_cancelled is never_cancelled
    for first, stop in [(0, shape[0])] if is_whole else _pieces(shape, CUDA_PIECE):
        if portion.is_cancelled():
            return
        inputs = [portion.start + first, *arguments]
        with runtime.LOCK, _announced(kernel, device):
            warp.launch(
                kernel, (stop - first, *shape[1:]), inputs=inputs, device=device.name, block_dim=block_dim or 256
            )
        if not is_whole:
            synchronize(device)


# On the CPU


def _record_bands(kernel: Any, portion: LaunchRange, arguments: list[Any]) -> list[Any]:
    """One recorded launch per band. Recording compiles, loads and packs, all of it here: running is then pure C++."""
    warp, shape = runtime.start(), portion.shape
    is_whole = portion.is_cancelled is never_cancelled
    smallest = max(1, MIN_BAND // portion.heft)
    cuts = bands(shape, settings.current().threads, smallest) if is_whole else _pieces(shape, smallest)
    with runtime.LOCK, _announced(kernel, choose("cpu")):
        return [
            warp.launch(
                kernel,
                (stop - first, *shape[1:]),
                inputs=[portion.start + first, *arguments],
                device="cpu",
                record_cmd=True,
            )
            for first, stop in cuts
        ]


def bands(shape: tuple[int, ...], threads: int, smallest: int = MIN_BAND) -> list[tuple[int, int]]:
    """The leading axis, cut into nearly equal half-open ranges.

    >>> bands((10, 4096), threads=1), bands((10, 4096), threads=2)[:3]
    ([(0, 10)], [(0, 1), (1, 2), (2, 3)])
    """
    count = 1 if threads == 1 else min(shape[0], threads * BANDS_PER_THREAD, max(1, prod(shape) // smallest))
    return _cut(shape[0], count)


def _pieces(shape: tuple[int, ...], size: int) -> list[tuple[int, int]]:
    """The leading axis, cut into ranges of so many threads as near as may be."""
    return _cut(shape[0], max(1, min(shape[0], prod(shape) // size)))


def _cut(length: int, count: int) -> list[tuple[int, int]]:
    return list(pairwise(length * i // count for i in range(count + 1)))


def _run(commands: list[Any], is_cancelled: Callable[[], bool] = never_cancelled) -> None:
    """Run all of them, on this thread and on as many others as are idle."""
    remaining = iter(commands)
    others = min(settings.current().threads, len(commands)) - 1
    helpers = [_pool(others).submit(_run_remaining, remaining, is_cancelled) for _ in range(others)]
    try:
        _run_remaining(remaining, is_cancelled)
    finally:
        _join(helpers)


def _run_remaining(remaining: Iterator[Any], is_cancelled: Callable[[], bool]) -> None:
    # Several threads draw from one list iterator; the interpreter lock makes each draw whole.
    for command in remaining:
        if is_cancelled():
            return
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
            # The smaller one ends once it is no longer referenced.
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
    return runtime.compile_notice(name, device.name)
