"""Where does the time of a reconstruction on a card go, kernel by kernel?

    python -m benchmarks.reconstruct_steps [--quick] [--json FILE]

One slab of sixteen slices of 2048² from 2048 views, raw rows in host memory to slices in host memory: the milliseconds
of every kernel, transform and copy, each waited for. Beside that the time of a slab's turn on the card when nothing is
waited for in between: the difference is what the card waits for the host. Needs a CUDA device.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.reconstruct import _scan
from benchmarks.table import Row, options, report
from pellucid.device import Device, choose, kernel_launch, synchronize
from pellucid.device.cupy_primitives import CudaPrimitives
from pellucid.tomo.correction.rings import RingSettings
from pellucid.tomo.pipeline.in_memory import reconstruct_array
from pellucid.tomo.pipeline.slabs import SlabStatistics
from pellucid.tomo.recipe import Recipe

METHODS = ("to_device", "to_host", "fft", "ifft", "rfft", "irfft", "sort", "argsort", "scan")
REPEATS = 5


def main() -> None:
    given = options("The steps of a reconstruction on a card.")
    edge, slices, device = 256 if given.is_quick else 2048, 16, choose()
    scan, made = _scan(edge, slices, edge), np.ones((slices, edge, edge), np.float32)
    rows: list[Row] = []
    for rings in ("none", "vo-all", "auto"):
        recipe = Recipe(method="gridding", center=(edge - 1) / 2, rings=RingSettings(rings))

        def run(recipe: Recipe = recipe) -> SlabStatistics:
            account = SlabStatistics()
            reconstruct_array(scan, recipe, device=device.name, out=made, account=account)
            return account

        run()
        accounts = [run() for _ in range(REPEATS)]
        for step in accounts[0].seconds:
            milliseconds = 1000 * float(np.median([account.seconds[step] for account in accounts]))
            rows.append(Row(f"{rings}, together: {step}", "time", "ms", milliseconds, "", None, None))
        with every_step_timed(device) as taken:
            for _ in range(REPEATS):
                run()
        rows += [_row(rings, name, times) for name, times in sorted(taken.items(), key=lambda one: -sum(one[1]))]
    report("reconstruct_steps", rows, f"{slices} slices of {edge}² from {edge} views", given)


def _row(rings: str, name: str, times: list[float]) -> Row:
    count = len(times) // REPEATS
    return Row(f"{rings}: {name}, {count} ×", "time", "ms", 1000 * sum(times) / REPEATS, "", None, None)


@contextmanager
def every_step_timed(device: Device) -> Iterator[dict[str, list[float]]]:
    """Seconds of every kernel, transform and copy while this is entered, by name."""
    taken: dict[str, list[float]] = defaultdict(list)

    def timed(name: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        synchronize(device)
        start = time.perf_counter()
        result = function(*arguments, **named)
        synchronize(device)
        taken[name].append(time.perf_counter() - start)
        return result

    launch = kernel_launch._launch_cuda

    def timed_launch(kernel: Any, *rest: Any) -> None:
        timed(kernel.key.rpartition("__")[2], launch, kernel, *rest)

    def wrapped(name: str) -> Callable[..., Any]:
        method = getattr(CudaPrimitives, name)
        return lambda self, *arguments, **named: timed(f"[{name}]", method, self, *arguments, **named)

    with patch.object(kernel_launch, "_launch_cuda", timed_launch):
        patches = [patch.object(CudaPrimitives, name, wrapped(name)) for name in METHODS]
        for one in patches:
            one.start()
        try:
            yield taken
        finally:
            for one in patches:
                one.stop()


if __name__ == "__main__":
    main()
