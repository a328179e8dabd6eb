"""How good is a neural field of a given size, and how do classic codecs do at the same size?

    python -m benchmarks.neural [--quick] [--json FILE] [--fields bonsai,smooth] [--size 131072]

PSNR over all voxels at equal bytes: our default model, rounded and coded, beside AMGSRN as published (float32
parameters), SZ3, ZFP, SPERR and the volume subsampled to the same bytes. Real scans are taken from ../shared/data;
those that are absent are left out by name.
"""

import argparse
import math
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import torch

from benchmarks.table import Row, options, report, unavailable
from pellucid.box import Box
from pellucid.neural.compression import CompressionOptions, compress
from pellucid.neural.quality import measure
from pellucid.volume.volume import Volume, open_volume

SHARED = Path(__file__).parents[2] / "shared" / "data"
SCANS = {
    "bonsai": "volumes/bonsai.nrrd",
    "engine": "volumes/engine.nii.gz",
    "spm152": "volumes/spm152.nii.gz",
    "fibsem_1": "em/fibsem_1.h5:/raw",
}
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Size:
    """side: of analytic volumes. scans: whether real ones are compressed. sizes: bytes of fields."""

    side: int
    scans: tuple[str, ...]
    sizes: tuple[int, ...]
    steps: int | None

    def __str__(self) -> str:
        return f"analytic volumes of {self.side}³, {len(self.scans)} scans, fields of {self.sizes} bytes"


FULL = Size(256, tuple(SCANS), (131_072, 1_000_000), None)
QUICK = Size(32, (), (16_384,), 60)


def main() -> None:
    chosen, rest = _chosen()
    given = options("Neural fields beside classic codecs.", rest)
    size = QUICK if given.is_quick else FULL
    names = [name for name in size.scans if name in (chosen.fields or size.scans)]
    analytic = {"smooth": smooth, "turbulent": turbulent}
    made = [(name, make(size.side)) for name, make in analytic.items() if name in (chosen.fields or analytic)]
    volumes = [*scans(names), *made]
    rows = [unavailable(name, "ours", "absent") for name in names if not _path(name).exists()]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for target in [chosen.size] if chosen.size else size.sizes:
            for finish in [start_rows(name, array, target, size, pool) for name, array in volumes]:
                rows += finish()
            report("neural-part" if chosen.fields or chosen.size else "neural", rows, str(size), given)


def _chosen() -> tuple[argparse.Namespace, list[str]]:
    """A part of the rows, which has a table of its own; the other arguments."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--fields", type=lambda text: text.split(","), default=[])
    parser.add_argument("--size", type=int, default=0)
    return parser.parse_known_args()


def scans(names: Sequence[str]) -> list[tuple[str, Array]]:
    """Those of the real volumes that are there."""
    return [(name, open_volume(str(SHARED / SCANS[name])).read()) for name in names if _path(name).exists()]


def _path(name: str) -> Path:
    return SHARED / SCANS[name].partition(":")[0]


def smooth(side: int) -> Array:
    """A few broad waves and bells."""
    z, y, x = np.meshgrid(*[np.linspace(-1, 1, side, dtype=np.float32)] * 3, indexing="ij", sparse=True)
    bells = np.exp(-6 * ((x - 0.3) ** 2 + y**2 + (z + 0.2) ** 2)) + 0.5 * np.exp(
        -9 * ((x + 0.4) ** 2 + (y - 0.3) ** 2 + z**2)
    )
    return np.asarray(bells + 0.2 * np.sin(3 * x + 2 * y) * np.cos(4 * z - x), np.float32)


def turbulent(side: int) -> Array:
    """Waves of many lengths whose energy falls as in turbulence, with the power -5/3 of the wave number."""
    random = np.random.default_rng(0)
    axes = [np.linspace(0, 2 * np.pi, side, endpoint=False, dtype=np.float32)] * 3
    values = np.zeros((side, side, side), np.float32)
    for _ in range(60):
        length = float(np.exp(random.uniform(0, np.log(24))))
        wave = random.normal(size=3)
        wave *= length / np.linalg.norm(wave)
        parts = [np.exp(1j * k * axis).astype(np.complex64) for k, axis in zip(wave, axes, strict=True)]
        phase = np.complex64(np.exp(1j * random.uniform(0, 2 * np.pi)))
        plane = parts[1][:, None] * parts[2][None, :] * phase
        for index, factor in enumerate(parts[0]):
            values[index] += np.float32(length ** (-5 / 6)) * (factor * plane).real
    return values


def start_rows(name: str, array: Array, target: int, size: Size, pool: ProcessPoolExecutor) -> Callable[[], list[Row]]:
    """Compress a volume, and start the rivals at the same size; what is returned waits for the rows."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/a.npy", array)
        ours = compress(f"{folder}/a.npy", f"{folder}/a.plf", CompressionOptions(size=target, steps=size.steps))
        plain = CompressionOptions(parameters=target // 4, model="amgsrn", steps=size.steps, is_rounded=False)
        published = compress(f"{folder}/a.npy", f"{folder}/b.plf", plain)
    case = f"{name}, {target // 1000} kB"
    first = _row(case, ours.quality.psnr, "AMGSRN, float32", published.quality.psnr)
    rivals = {peer: pool.submit(psnr_at_size, peer, array, ours.field_bytes) for peer in CODECS}

    def finish() -> list[Row]:
        rows = [first]
        for peer, future in rivals.items():
            try:
                rows.append(_row(case, ours.quality.psnr, peer, future.result()))
            except (ImportError, ValueError) as error:
                rows.append(unavailable(case, peer, str(error)[:60]))
        return rows

    return finish


def psnr_at_size(peer: str, array: Array, target: int) -> float:
    decoded = at_size(CODECS[peer], array, target)
    return measure(Volume.from_array(array), partial(_part, decoded)).psnr


def _part(array: Array, box: Box) -> Array:
    return array[box.slices]


def _row(case: str, ours: float, peer: str, theirs: float) -> Row:
    return Row(case, "PSNR", "dB", ours, peer, theirs, ours / theirs)


Codec = Callable[[Array, float], tuple[int, Array]]
"""Codes an array with an error bound relative to its range, and returns the bytes and what is decoded."""


def at_size(codec: Codec, array: Array, target: int) -> Array:
    """What a codec decodes from at most ``target`` bytes: the bound is looked for by bisection of its logarithm."""
    values = array.astype(np.float32)
    extent = float(np.ptp(values)) or 1.0
    low, high, best = -7.0, 0.0, None
    for _ in range(14):
        middle = (low + high) / 2
        count, decoded = codec(values, extent * 10**middle)
        if count <= target:
            high, best = middle, decoded
        else:
            low = middle
    if best is None:
        raise ValueError("it needs more bytes at any bound")
    return best


def sperr(values: Array, bound: float) -> tuple[int, Array]:
    # Without a cache, which would give back what was written instead of what is decoded.
    with h5py.File("x", "w", driver="core", backing_store=False, rdcc_nbytes=0) as file:
        data = file.create_dataset("a", data=values, chunks=values.shape, **hdf5plugin.Sperr(absolute=bound, swap=True))
        return data.id.get_storage_size(), data[...]


def sz3(values: Array, bound: float) -> tuple[int, Array]:
    from pysz import sz, szConfig, szErrorBoundMode

    config = szConfig(*values.shape)
    config.errorBoundMode, config.absErrorBound = szErrorBoundMode.ABS, bound
    coded, _ = sz.compress(values, config)
    decoded, _ = sz.decompress(coded, np.float32, values.shape)
    return coded.nbytes, decoded


def zfp(values: Array, bound: float) -> tuple[int, Array]:
    import zfpy

    coded = zfpy.compress_numpy(values, tolerance=bound)
    return len(coded), zfpy.decompress_numpy(coded)


def subsampled(values: Array, bound: float) -> tuple[int, Array]:
    """Fewer voxels, interpolated linearly. bound: 1 of the range keeps two an axis; less keeps more."""
    part = min(1.0, 10 ** (-(math.log10(bound / (float(np.ptp(values)) or 1.0)) + 7) / 7 * 2))
    shape = [max(2, round(n * part)) for n in values.shape]
    tensor = torch.from_numpy(values)[None, None]
    small = torch.nn.functional.interpolate(tensor, shape, mode="trilinear", align_corners=True, antialias=False)
    back = torch.nn.functional.interpolate(small, values.shape, mode="trilinear", align_corners=True)
    return small.numel() * 2, back[0, 0].numpy()


CODECS: dict[str, Codec] = {"SPERR": sperr, "SZ3": sz3, "ZFP": zfp, "subsampled": subsampled}


if __name__ == "__main__":
    main()
