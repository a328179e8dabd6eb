"""How long until the first image: on a fresh machine, and every time after?

    python -m benchmarks.start [--quick] [--json FILE]

The whole command ``pellucid render`` in a process of its own, from the prompt to the PNG: cold with an empty cache,
so that every kernel is compiled and every statistic worked out; warm with the folder that this left. Seconds of
processor time stand beside those on the clock, because the former hardly change when others use the machine.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.sample_scans import SHARED
from benchmarks.table import TARGET, Row, options, report, shorter
from pellucid.volume.sample_volume import sample

TARGETS_S = {"cold": 20.0, "warm": 2.0}
IMAGE = "1024x1024"


@dataclass(frozen=True)
class Taken:
    """Seconds on the clock, and of processor time."""

    clock_s: float
    processor_s: float


def main() -> None:
    given = options("From the prompt to the first image.")
    with tempfile.TemporaryDirectory() as folder:
        source = volume_in(Path(folder))
        rounds = [cold_and_warm(source, Path(folder) / str(i)) for i in range(1 if given.is_quick else 3)]
    rows = [row for name in TARGETS_S for row in rows_of(name, [taken[name] for taken in rounds])]
    report("start", rows, f"{source.name}, {IMAGE}, best of {len(rounds)}", given)


def volume_in(folder: Path) -> Path:
    """A scan where it is at hand, else the product's own sample."""
    bonsai = SHARED / "volumes" / "bonsai.nrrd"
    if bonsai.exists():
        return bonsai
    path = folder / "sample.npy"
    np.save(path, sample(256))
    return path


def cold_and_warm(source: Path, cache: Path) -> dict[str, Taken]:
    return {name: render(source, cache) for name in TARGETS_S}


def render(source: Path, cache: Path) -> Taken:
    """The command, with everything that it keeps in one folder."""
    command = [sys.executable, "-m", "pellucid", "render", str(source), "--size", IMAGE, "-o", f"{cache}.png"]
    kept = {"PELLUCID_CACHE_FOLDER": str(cache), "PELLUCID_KERNEL_FOLDER": str(cache / "kernels")}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env={**os.environ, **kept}, check=True, capture_output=True)
    after, end = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    return Taken(end - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def rows_of(name: str, taken: list[Taken]) -> list[Row]:
    clock, processor = min(one.clock_s for one in taken), min(one.processor_s for one in taken)
    target = TARGETS_S[name]
    return [
        shorter(f"first image, {name}", "s", clock, TARGET, target),
        Row(f"first image, {name}", "processor time", "s", processor, "", None, None),
    ]


if __name__ == "__main__":
    main()
