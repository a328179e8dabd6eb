"""What does a model for every brick gain over one model of the same size, and does it leave seams?

    python -m benchmarks.neural_ensemble [--quick] [--json FILE]

2 x 2 x 2 bricks with 0, 4 and 16 ghost cells beside one model of as many bytes, trained with as many steps as a brick,
and with as many as all bricks together. PSNR over all voxels, and how much the gradient changes across the faces of
bricks relative to the voxels around (1: no seam), blended and with hard switching. neural_ensemble.png in
benchmarks/results shows the errors of the middle slice with 0 and with 16 ghost cells beside each other.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.neural_volumes import smooth
from benchmarks.sample_scans import SHARED
from benchmarks.table import RESULTS, Row, options, report
from pellucid.box import Box
from pellucid.formats.neural_field.format import NeuralReader
from pellucid.neural.compression import CompressionOptions, compress
from pellucid.volume.volume import open_volume

Array = np.ndarray[Any, np.dtype[Any]]
SCAN = SHARED / "volumes" / "stroke_T1.nii.gz"
AROUND = 12
"""Voxels on each side of a face that it is compared with."""


@dataclass(frozen=True)
class Size:
    """steps: of each brick's model."""

    scan: bool
    side: int
    size: int
    steps: int
    batch: int
    ghosts: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.size // 1000} kB, {self.steps} steps of {self.batch} points for each of 8 bricks"


FULL = Size(scan=True, side=64, size=200_000, steps=700, batch=1024, ghosts=(0, 4, 16))
QUICK = Size(scan=False, side=32, size=66_000, steps=30, batch=512, ghosts=(0, 4))


def main() -> None:
    given = options("Ensembles of neural fields beside one model.")
    size = QUICK if given.is_quick else FULL
    voxels = open_volume(str(SCAN)).read() if size.scan and SCAN.exists() else smooth(size.side)
    name = SCAN.name.partition(".")[0] if size.scan and SCAN.exists() else f"smooth {size.side}³"
    report("neural_ensemble", _rows(name, voxels, size, is_kept=not given.is_quick), str(size), given)


def _rows(name: str, voxels: Array, size: Size, *, is_kept: bool) -> list[Row]:
    rows, errors = [], []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "a.npy"
        np.save(source, voxels)
        single = {f"one model, {steps} steps": _psnr(source, size, steps) for steps in (size.steps, 8 * size.steps)}
        for ghost in size.ghosts:
            path = source.with_name(f"{ghost}.plf")
            bricks = CompressionOptions(
                size=size.size, steps=size.steps, batch=size.batch, bricks=(2, 2, 2), ghost=ghost
            )
            psnr = compress(source, path, bricks).quality.psnr
            case = f"{name}, {ghost} ghost cells"
            rows += [Row(case, "PSNR", "dB", psnr, peer, one, psnr / one) for peer, one in single.items()]
            blended, switched = (_decoded(path, is_blended=is_blended) for is_blended in (True, False))
            jumps = gradient_jump(blended), gradient_jump(switched)
            rows.append(
                Row(case, "gradient across faces", "", jumps[0], "hard switching", jumps[1], jumps[1] / jumps[0])
            )
            errors.append((blended - voxels.astype(np.float32)) ** 2)
    if is_kept:
        _write_errors(errors[0], errors[-1])
    return rows


def _psnr(source: Path, size: Size, steps: int) -> float:
    """Of one model."""
    chosen = CompressionOptions(size=size.size, steps=steps, batch=size.batch)
    return compress(source, source.with_name(f"one{steps}.plf"), chosen).quality.psnr


def _decoded(path: Path, *, is_blended: bool) -> Array:
    reader = NeuralReader(path)
    values = reader.volume.values(Box.whole(reader.volume.shape), is_blended=is_blended)
    reader.close()
    return values


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


def _write_errors(*errors: Array) -> None:
    """The middle slices beside each other, in one grey scale."""
    slices = [np.sqrt(error[error.shape[0] // 2 - 1]) for error in errors]
    white = float(np.percentile(slices[0], 99)) or 1.0
    image = np.concatenate([np.pad(np.clip(one / white, 0, 1), 2) for one in slices], axis=1)
    Image.fromarray((255 * image).astype(np.uint8)).save(RESULTS / "neural_ensemble.png")


if __name__ == "__main__":
    main()
