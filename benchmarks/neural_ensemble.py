"""What does a model for every brick gain over one model of the same size, and does it leave seams?

    python -m benchmarks.neural_ensemble [--quick] [--json FILE] [--parts FOLDER] [--until SECONDS] [--only trainings]
                                         [--trainings N]

2 x 2 x 2 bricks with 0, 4 and 16 ghost cells beside one model of as many bytes, trained with as many steps as a brick,
and with as many as all bricks together. PSNR over all voxels, and how much the gradient changes across the faces of
bricks relative to the voxels around (1: no seam), blended and with hard switching. neural_ensemble.png in
benchmarks/results shows the errors of the middle slice with 0 and with 16 ghost cells beside each other. Every model
is kept in FOLDER/ensemble: another run leaves it out.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from benchmarks.entry_points import with_entry_points
from benchmarks.neural_volumes import smooth
from benchmarks.sample_scans import SHARED
from benchmarks.table import RESULTS, Options, Row, report, unavailable
from pellucid.box import Box
from pellucid.formats.neural_field.format import NeuralReader
from pellucid.neural.compression import CompressionOptions, compress
from pellucid.volume.volume import open_volume

Array = np.ndarray[Any, np.dtype[Any]]
AROUND = 12
"""Voxels on each side of a face that it is compared with."""


@dataclass(frozen=True)
class Size:
    """scan: below the folder of real scans; side: of the smooth volume that is taken without one. steps: of each
    brick's model. batch: None for the default."""

    scan: str
    side: int
    size: int
    steps: int
    batch: int | None
    ghosts: tuple[int, ...]

    def __str__(self) -> str:
        points = f" of {self.batch} points" if self.batch else ""
        return f"{self.size // 1000} kB, {self.steps} steps{points} for each of 8 bricks"

    @property
    def name(self) -> str:
        return Path(self.scan).name.partition(".")[0] if self.has_scan else f"smooth {self.side}³"

    @property
    def has_scan(self) -> bool:
        return bool(self.scan) and (SHARED / self.scan).exists()

    def voxels(self) -> Array:
        return open_volume(str(SHARED / self.scan)).read() if self.has_scan else smooth(self.side)


CUDA = Size("volumes/bonsai.nrrd", side=256, size=1_000_000, steps=6000, batch=None, ghosts=(0, 8, 16))
FULL = Size("volumes/stroke_T1.nii.gz", side=64, size=200_000, steps=700, batch=1024, ghosts=(0, 4, 16))
QUICK = Size("", side=32, size=66_000, steps=30, batch=512, ghosts=(0, 4))


@dataclass(frozen=True)
class Model:
    """ghost: cells of an ensemble; None for a single model."""

    steps: int
    ghost: int | None = None

    @property
    def name(self) -> str:
        return f"one-{self.steps}" if self.ghost is None else f"ghost-{self.ghost}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Ensembles of neural fields beside one model.")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, under 60 s on 2 cores")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    parser.add_argument("--parts", type=Path, metavar="FOLDER", help="where results are kept (default: nowhere)")
    parser.add_argument("--until", type=float, default=float("inf"), metavar="SECONDS", help="start nothing later")
    parser.add_argument("--only", choices=("trainings",), help="write no table, which takes the processor some time")
    parser.add_argument("--trainings", type=int, metavar="N", help="at the same time (default: 3 on a GPU)")
    given = parser.parse_args()
    size = QUICK if given.quick else CUDA if torch.cuda.is_available() else FULL
    with tempfile.TemporaryDirectory() as folder:
        with_entry_points(Path(folder) / "site")
        source, kept = Path(folder) / "a.npy", (given.parts or Path(folder)) / "ensemble"
        np.save(source, size.voxels())
        at_once = given.trainings or (3 if torch.cuda.is_available() else 1)
        deadline = time.monotonic() + given.until
        kept.mkdir(parents=True, exist_ok=True)
        train(
            models_of(size), partial(train_one, source=source, size=size, kept=kept, deadline=deadline), kept, at_once
        )
        if given.only is None:
            report("neural_ensemble", table_rows(size, kept), str(size), Options(given.quick, given.json))
        if given.only is None and not given.quick:
            write_errors(size, kept)


def models_of(size: Size) -> list[Model]:
    return [*(Model(size.steps, ghost) for ghost in size.ghosts), Model(size.steps), Model(8 * size.steps)]


def train(models: list[Model], one: Callable[[Model], Model], kept: Path, at_once: int) -> None:
    """Those that are not kept yet."""
    missing = [model for model in models if not (kept / f"{model.name}.plf").exists()]
    with ProcessPoolExecutor(at_once, mp_context=get_context("spawn")) as pool:
        for model in pool.map(one, missing):
            print(model.name, flush=True)


def train_one(model: Model, source: Path, size: Size, kept: Path, deadline: float) -> Model:
    """Nothing after the deadline."""
    if time.monotonic() < deadline:
        chosen = CompressionOptions(size=size.size, steps=model.steps, batch=size.batch)
        if model.ghost is not None:
            chosen = replace(chosen, bricks=(2, 2, 2), ghost=model.ghost)
        compress(source, kept / f"{model.name}.plf", chosen)
    return model


def table_rows(size: Size, kept: Path) -> list[Row]:
    rows: list[Row] = []
    paths = {model: kept / f"{model.name}.plf" for model in models_of(size)}
    there = {model: path for model, path in paths.items() if path.exists()}
    single = {f"one model, {model.steps} steps": psnr(path) for model, path in there.items() if model.ghost is None}
    for model, path in there.items():
        if model.ghost is not None:
            case, own = f"{size.name}, {model.ghost} ghost cells", psnr(path)
            rows += [Row(case, "PSNR", "dB", own, peer, one, own / one) for peer, one in single.items()]
            jumps = [gradient_jump(decoded(path, is_blended=is_blended)) for is_blended in (True, False)]
            peer = "hard switching"
            rows.append(Row(case, "gradient across faces", "", jumps[0], peer, jumps[1], jumps[1] / jumps[0]))
    return rows or [unavailable("all", "ours", "nothing has run")]


def psnr(path: Path) -> float:
    """As it was measured over all voxels when the file was written."""
    with closing(NeuralReader(path)) as reader:
        return reader.volume.quality["psnr"]


def decoded(path: Path, *, is_blended: bool) -> Array:
    with closing(NeuralReader(path)) as reader:
        return reader.volume.values(Box.whole(reader.volume.shape), is_blended=is_blended)


def gradient_jump(values: Array) -> float:
    """How much the gradient changes across the middle of the axes, relative to the voxels around it."""
    ratios = []
    for axis in range(3):
        others = tuple(other for other in range(3) if other != axis)
        changes = np.abs(np.diff(values.astype(np.float64), 2, axis=axis)).mean(axis=others)
        middle = values.shape[axis] // 2
        around = [*range(middle - 2 - AROUND, middle - 2), *range(middle, middle + AROUND)]
        ratios.append(changes[middle - 2 : middle].mean() / changes[around].mean())
    return float(np.mean(ratios))


def write_errors(size: Size, kept: Path) -> None:
    """The middle slices with the fewest and with the most ghost cells beside each other, in one grey scale."""
    paths = [kept / f"ghost-{ghost}.plf" for ghost in (size.ghosts[0], size.ghosts[-1])]
    if not all(path.exists() for path in paths):
        return
    voxels = size.voxels().astype(np.float32)
    slices = [np.abs(decoded(path, is_blended=True) - voxels)[len(voxels) // 2 - 1] for path in paths]
    white = float(np.percentile(slices[0], 99)) or 1.0
    image = np.concatenate([np.pad(np.clip(one / white, 0, 1), 2) for one in slices], axis=1)
    Image.fromarray((255 * image).astype(np.uint8)).save(RESULTS / "neural_ensemble.png")


if __name__ == "__main__":
    main()
