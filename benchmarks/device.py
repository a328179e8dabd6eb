"""Does a launch use all cores, and are FFT, sort and scan as fast as the libraries people call themselves?

    python -m benchmarks.device [--quick] [--json FILE]

On the CPU the peers are the same launch on one thread, and plain NumPy. Where there is a CUDA card, its primitives are
compared with PyTorch on that card and with NumPy on the CPU.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks import device_kernels as kernels
from benchmarks.table import TARGET, Row, faster, interleave, options, report, shorter, unavailable
from pellucid import settings
from pellucid.device import Device, choose, devices, launch, primitives, synchronize
from pellucid.progress import amount

SPEEDUP_PER_CORE = 0.9
"""The target: 1.8 times as fast on 2 cores."""

Step = Callable[[], object]


@dataclass(frozen=True)
class Size:
    edge: int
    count: int
    image: int
    repeats: int

    def __str__(self) -> str:
        return f"FFT {self.edge}³, sort and scan of {amount(self.count, '')}, launch {self.image}², float32"


FULL = Size(edge=256, count=2**24, image=2048, repeats=7)
QUICK = Size(edge=128, count=2**21, image=1024, repeats=5)


def main() -> None:
    given = options("Launches on all cores; FFT, sort and scan beside NumPy and PyTorch.")
    size = QUICK if given.is_quick else FULL
    rows = launch_rows(size) + cpu_rows(size)
    for card in devices()[1:2]:
        rows += cuda_rows(size, card)
    report("device", rows, str(size), given)


def launch_rows(size: Size) -> list[Row]:
    """A kernel that only computes: speed-up of all threads over one, and against the target."""
    cores = len(os.sched_getaffinity(0))
    out = np.zeros((size.image, size.image), np.float32)
    cpu = choose("cpu")

    def run(threads: int) -> None:
        with settings.use(replace(settings.current(), threads=threads)):
            launch(kernels.iterate, out.shape, [100], [out], cpu)

    times = interleave({"all": lambda: run(cores), "one": lambda: run(1)}, size.repeats)
    case = f"launch, {cores} threads"
    return [
        shorter(case, "s", times["all"], "the same launch, 1 thread", times["one"]),
        faster(f"{case}, speed-up", "x", times["one"] / times["all"], TARGET, max(1.0, SPEEDUP_PER_CORE * cores)),
    ]


def cpu_rows(size: Size) -> list[Row]:
    math = primitives(choose("cpu"))
    volume, values = inputs(size)
    pairs: dict[str, tuple[Step, Step]] = {
        "rfft, 3 axes": (lambda: math.rfft(volume, (0, 1, 2)), lambda: np.fft.rfftn(volume)),
        "rfft, last axis": (lambda: math.rfft(volume), lambda: np.fft.rfft(volume)),
        "sort": (lambda: math.sort(values), lambda: np.sort(values)),
        "argsort": (lambda: math.argsort(values), lambda: np.argsort(values, kind="stable")),
        "scan": (lambda: math.scan(values), lambda: np.cumsum(values, dtype=np.float64)),
    }
    return [_compare(f"{case}, CPU", {"ours": ours, "NumPy": peer}, size) for case, (ours, peer) in pairs.items()]


def cuda_rows(size: Size, card: Device) -> list[Row]:
    """Each primitive on the card, with data there already, beside PyTorch on the card and NumPy on the CPU."""
    volume, values = inputs(size)
    ours = _cuda_steps(card, volume, values)
    theirs = _torch_steps(card, volume, values)
    numpy_steps: dict[str, Step] = {
        "rfft, 3 axes": lambda: np.fft.rfftn(volume),
        "sort": lambda: np.sort(values),
        "argsort": lambda: np.argsort(values, kind="stable"),
        "scan": lambda: np.cumsum(values, dtype=np.float64),
    }
    rows = []
    for case, step in ours.items():
        rows.append(_compare(f"{case}, CUDA", {"ours": step, "NumPy on the CPU": numpy_steps[case]}, size))
        if theirs is None:
            rows.append(unavailable(f"{case}, CUDA", "PyTorch", "not installed"))
        else:
            rows.append(_compare(f"{case}, CUDA", {"ours": step, "PyTorch": theirs[case]}, size))
    return rows


def _cuda_steps(card: Device, volume: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> dict[str, Step]:
    math = primitives(card)
    cube, line = math.to_device(volume), math.to_device(values)

    def waited(step: Step) -> Step:
        def run() -> None:
            step()
            synchronize(card)

        return run

    return {
        "rfft, 3 axes": waited(lambda: math.rfft(cube, (0, 1, 2))),
        "sort": waited(lambda: math.sort(line)),
        "argsort": waited(lambda: math.argsort(line)),
        "scan": waited(lambda: math.scan(line)),
    }


def _torch_steps(card: Device, volume: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> dict[str, Step] | None:
    try:
        torch: Any = import_module("torch")
    except ImportError:
        return None
    cube, line = torch.from_numpy(volume).to(card.name), torch.from_numpy(values).to(card.name)

    def waited(step: Step) -> Step:
        def run() -> None:
            step()
            torch.cuda.synchronize(card.index)

        return run

    return {
        "rfft, 3 axes": waited(lambda: torch.fft.rfftn(cube)),
        "sort": waited(lambda: torch.sort(line)[0]),
        "argsort": waited(lambda: torch.argsort(line, stable=True)),
        "scan": waited(lambda: torch.cumsum(line, 0, dtype=torch.float64)),
    }


def inputs(size: Size) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    random = np.random.default_rng(1)
    volume = random.standard_normal((size.edge,) * 3, np.float32)
    return volume, random.standard_normal(size.count, np.float32)


def _compare(case: str, steps: dict[str, Step], size: Size) -> Row:
    times = interleave(steps, size.repeats)
    (_, ours), (peer, peer_time) = times.items()
    return shorter(case, "ms", ours * 1000, peer, peer_time * 1000)


if __name__ == "__main__":
    main()
