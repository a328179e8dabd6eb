"""The volumes that neural fields are measured on: real scans, and analytic fields of any size.

Here: scans, smooth, turbulent, and volumes by name, such as "bonsai" or "smooth512".
Not here: what is measured on them (neural, neural_bounded).
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.sample_scans import SHARED
from pellucid.volume.volume import open_volume

SCANS = {
    "bonsai": "volumes/bonsai.nrrd",
    "engine": "volumes/engine.nii.gz",
    "spm152": "volumes/spm152.nii.gz",
    "fibsem_1": "em/fibsem_1.h5:/raw",
}
WAVES = 60
Array = np.ndarray[Any, np.dtype[Any]]


def scans(names: Sequence[str]) -> list[tuple[str, Array]]:
    """Those of the real volumes that are there."""
    return [(name, open_volume(str(SHARED / SCANS[name])).read()) for name in names if is_there(name)]


def is_there(name: str) -> bool:
    return name not in SCANS or (SHARED / SCANS[name].partition(":")[0]).exists()


def write_volume(name: str, path: Path) -> None:
    """A volume by its name as a .npy file; plane by plane, so that one of 1024³ takes little memory."""
    if name in SCANS:
        np.save(path, scans([name])[0][1])
        return
    kind, side = re.fullmatch(r"(smooth|turbulent)(\d+)", name).groups()  # type: ignore[union-attr]
    shape = (int(side),) * 3
    out = np.lib.format.open_memmap(path, "w+", np.float32, shape)
    for index, plane in enumerate(PLANES[kind](int(side))):
        out[index] = plane
    out.flush()


def smooth(side: int) -> Array:
    """A few broad waves and bells."""
    return np.stack(list(_smooth_planes(side)))


def turbulent(side: int) -> Array:
    """Waves of many lengths whose energy falls as in turbulence, with the power -5/3 of the wave number."""
    return np.stack(list(_turbulent_planes(side)))


def _smooth_planes(side: int) -> Iterator[Array]:
    """Every part is a product of one factor along z and one in the plane."""
    axis = np.linspace(-1, 1, side)
    y, x = axis[:, None], axis
    first = np.exp(-6 * ((x - 0.3) ** 2 + y**2))
    second = 0.5 * np.exp(-9 * ((x + 0.4) ** 2 + (y - 0.3) ** 2))
    wave = 0.2 * np.sin(3 * x + 2 * y)
    parts = np.stack([first, second, wave * np.cos(x), wave * np.sin(x)]).astype(np.float32)
    factors = [np.exp(-6 * (axis + 0.2) ** 2), np.exp(-9 * axis**2), np.cos(4 * axis), np.sin(4 * axis)]
    for along_z in np.stack(factors, axis=1).astype(np.float32):
        yield np.tensordot(along_z, parts, axes=1)


def _turbulent_planes(side: int) -> Iterator[Array]:
    """Every wave is a product of one complex factor along each axis: a plane is a product of two matrices."""
    random = np.random.default_rng(0)
    axis = np.linspace(0, 2 * np.pi, side, endpoint=False)
    heights, phases, numbers = [], [], []
    for _ in range(WAVES):
        length = float(np.exp(random.uniform(0, np.log(24))))
        wave = random.normal(size=3)
        numbers.append(wave * length / np.linalg.norm(wave))
        phases.append(random.uniform(0, 2 * np.pi))
        heights.append(length ** (-5 / 6))
    z, y, x = (np.exp(1j * np.outer(axis, [one[n] for one in numbers])) for n in range(3))
    z *= np.array(heights) * np.exp(1j * np.array(phases))
    across = np.concatenate([x.real, -x.imag], axis=1).T.astype(np.float32)
    for factors in z:
        rows = y * factors
        yield np.concatenate([rows.real, rows.imag], axis=1).astype(np.float32) @ across


PLANES = {"smooth": _smooth_planes, "turbulent": _turbulent_planes}
