"""Are reading and writing hidden behind computing, from a scan's file to a volume's?

    python -m benchmarks.reconstruct_files [--quick] [--json FILE]

A scan in the page cache to Zarr on disk: every stage alone (all rows read; all slabs computed, memory to memory; all
slabs written), and the whole. The target: no more than 1.3 times the slowest stage. Where there is a CUDA device, it
computes, and the scan is larger.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shutil import rmtree

import numpy as np

from benchmarks.scan import folder
from benchmarks.table import TARGET, Row, options, report, seconds_of, shorter
from pellucid.box import Box
from pellucid.device import Array, Device, choose, primitives
from pellucid.engines.engine import make_engine
from pellucid.formats.hdf5.write_arrays import write_arrays
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Voxels
from pellucid.formats.registry import open_writer
from pellucid.tomo.correction.rings import RingSettings
from pellucid.tomo.methods.gridding_cpu import reuse_buffers
from pellucid.tomo.pipeline.planning import plan_slabs
from pellucid.tomo.pipeline.reconstruct import OutputOptions, RunOptions, Watch, reconstruct
from pellucid.tomo.pipeline.slabs import SlabStatistics, make_slab
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan_files.registry import open_scan
from pellucid.volume.blocks import split
from pellucid.volume.volume import open_volume

TARGET_RATIO = 1.3
SLAB = 64


@dataclass(frozen=True)
class Size:
    rows: int
    columns: int
    views: int

    def __str__(self) -> str:
        return f"{self.views} views of {self.rows} x {self.columns} pixels, 16 bits, to float32"


FULL = Size(rows=256, columns=1024, views=900)
CUDA = Size(rows=512, columns=2048, views=1024)
QUICK = Size(rows=128, columns=256, views=225)
RECIPES = {
    "direct": Recipe(method="direct"),
    "gridding": Recipe(method="gridding"),
    "gridding, vo-all": Recipe(method="gridding", rings=RingSettings("vo-all")),
}
REPEATS = {"direct": 1, "gridding": 3, "gridding, vo-all": 1}
"""Of the whole: those that take long are spread little."""


def main() -> None:
    given = options("Reading, computing and writing at the same time.")
    size = QUICK if given.is_quick else CUDA if choose().is_cuda else FULL
    rows: list[Row] = []
    with folder() as place:
        scan = write_scan(place / "scan.h5", size)
        for name, recipe in RECIPES.items():
            rows += case_rows(name, scan, place, replace(recipe, center=(size.columns - 1) / 2))
    report("reconstruct_files", rows, str(size), given)


def write_scan(path: Path, size: Size) -> Path:
    """A disc beside the axis, with noise."""
    angles = np.arange(size.views) * np.pi / size.views
    places = np.arange(size.columns) - (size.columns - 1) / 2 - 0.1 * size.columns * np.cos(angles)[:, None]
    lost = 2 / size.columns * np.sqrt(np.maximum((0.3 * size.columns) ** 2 - places**2, 0))
    noise = np.random.default_rng(0).normal(500, 100, (size.rows, size.columns)).astype(np.float32)
    counts = np.empty((size.views, size.rows, size.columns), np.uint16)
    for view, row in enumerate(20_000 * np.exp(-lost).astype(np.float32)):
        counts[view] = row + np.roll(noise, 7 * view, axis=1)
    flat = np.full((1, *counts.shape[1:]), 20_500, np.uint16)
    arrays = {"data": counts, "data_white": flat, "data_dark": np.full_like(flat, 500), "theta": np.degrees(angles)}
    write_arrays(path, {f"exchange/{name}": array for name, array in arrays.items()}, {})
    return path


def case_rows(name: str, scan: Path, place: Path, recipe: Recipe) -> list[Row]:
    target, layouts = place / "whole.zarr", []

    @contextmanager
    def noting(layout: Layout) -> Iterator[Callable[[Box, Voxels], None]]:
        layouts.append(layout)
        yield lambda box, voxels: None

    def whole(watch: Watch | None = None) -> None:
        running = RunOptions(make_engine(), overwrite=True, watch=watch)
        reconstruct(scan, target, recipe, OutputOptions(), running=running).close()

    whole(noting)  # Kernels are compiled, and the layout is known.
    stages = stage_seconds(scan, target, layouts[0], recipe)
    taken, slowest = min(seconds_of(whole) for _ in range(REPEATS[name])), max(stages.values())
    text = [Row(f"{name}: {stage} alone", "time", "s", spent, "", None, None) for stage, spent in stages.items()]
    text.append(shorter(f"{name}: the whole", "s", taken, "the slowest stage", slowest))
    return [*text, shorter(f"{name}: the whole by the slowest stage", "×", taken / slowest, TARGET, TARGET_RATIO)]


def stage_seconds(scan_path: Path, made: Path, layout: Layout, recipe: Recipe) -> dict[str, float]:
    """Every stage by itself, slab by slab, as the whole does it; what is written is what the whole made."""
    spent = dict.fromkeys(("reading", "computing", "writing"), 0.0)
    again = Location.parse(made.with_name("again.zarr"))
    rmtree(again.local, ignore_errors=True)
    with closing(open_scan(scan_path)) as scan, open_volume(made) as volume, reuse_buffers():
        plan = plan_slabs(scan, recipe, choose())
        with closing(open_writer(again, layout)) as writer:
            for block in split(volume.shape, (SLAB, *volume.shape[1:])):
                rows, voxels = (block.core.start[0], block.core.stop[0]), np.ones(block.core.shape, np.float32)
                start = time.perf_counter()
                raw = scan.projections.read(rows=rows)
                spent["reading"] += time.perf_counter() - start
                start = time.perf_counter()
                make_slab(raw, scan, rows, plan, SlabStatistics(), partial(_keep, voxels, plan.device))
                spent["computing"] += time.perf_counter() - start
                volume.read(block.core, voxels)
                start = time.perf_counter()
                writer.write(block.core, voxels)
                spent["writing"] += time.perf_counter() - start
    return spent


def _keep(voxels: Voxels, device: Device, start: int, slices: Array) -> None:
    primitives(device).to_host(slices, out=voxels[start : start + len(slices)])


if __name__ == "__main__":
    main()
