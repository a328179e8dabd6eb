"""How fast are SIRT and CGLS, and how close to the truth, beside ASTRA's?

    python -m benchmarks.iterations [--quick] [--json FILE]

Seconds for one iteration of one slice, of sixteen made at once and of one alone, and the rms error of a disc from 60
views without noise after equal iterations. On the CPU, both with Joseph's rays (ASTRA's ``linear``).
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.reconstruct import disc_sinograms
from benchmarks.table import Row, interleave, options, report, seconds_of, shorter, unavailable
from pellucid.device import choose
from pellucid.formats.protocol import Voxels
from pellucid.tomo.methods.direct import ParallelGeometry
from pellucid.tomo.methods.iterative import cgls, sirt

METHODS: dict[str, Callable[..., Any]] = {"SIRT": sirt, "CGLS": cgls}
COUNTS = {"SIRT": (50, 200), "CGLS": (10, 50)}
TIMED = 4
"""Iterations of one measurement."""


def main() -> None:
    given = options("Iterative reconstruction of slices.")
    columns, views = (128, 90) if given.is_quick else (512, 180)
    rows = []
    for method in METHODS:
        try:
            rows += [*time_rows(method, columns, views), *error_rows(method, COUNTS[method])]
        except ImportError as error:
            rows.append(unavailable(method, "ASTRA", str(error)))
    report("iterations", rows, f"{columns}² slices from {views} views; errors: 128² from 60", given)


def time_rows(method: str, columns: int, views: int) -> list[Row]:
    """ASTRA makes one slice after the other, each in the same seconds, which are measured once."""
    sinograms, angles = disc_sinograms(16, views, columns)
    ours = {slices: partial(made, method, sinograms[:slices], angles, TIMED) for slices in (16, 1)}
    taken = interleave({f"{slices} slice{'s' if slices > 1 else ''}": work for slices, work in ours.items()}, 3)
    theirs = seconds_of(partial(astra, method, sinograms[0], angles, TIMED)) / TIMED
    return [
        shorter(f"{method}, {name} at once", "s an iteration", taken[name] / slices / TIMED, "ASTRA", theirs)
        for name, slices in zip(taken, ours, strict=True)
    ]


def error_rows(method: str, counts: tuple[int, ...]) -> list[Row]:
    """The disc of disc_sinograms is known: its attenuation is 0.01 per pixel."""
    size, finer = 128, 8
    sinograms, angles = disc_sinograms(1, 60, size)
    away = (np.arange(size * finer) + 0.5) / finer - size / 2
    disc = 0.01 * ((away[None, :] - 0.1 * size) ** 2 + away[:, None] ** 2 <= (0.3 * size) ** 2)
    truth = disc.reshape(size, finer, size, finer).mean(axis=(1, 3))
    rows = []
    for count in counts:
        slices = made(method, sinograms, angles, count)[0], astra(method, sinograms[0], angles, count)
        ours, theirs = (100 * float(np.sqrt(np.mean((one - truth) ** 2))) for one in slices)
        case = f"{method}, {count} iterations"
        rows.append(Row(case, "rms error", "of the disc", ours, "ASTRA", theirs, theirs / ours))
    return rows


def made(method: str, sinograms: Voxels, angles: Any, count: int) -> Any:
    middle = (sinograms.shape[2] - 1) / 2
    geometry = ParallelGeometry.shared(angles, middle, len(sinograms), is_circle=False)
    return METHODS[method](sinograms, geometry, count, device=choose("cpu"))


def astra(method: str, sinogram: Voxels, angles: Any, count: int) -> Any:
    library = import_module("astra")
    columns = sinogram.shape[1]
    rays = library.create_proj_geom("parallel", 1.0, columns, angles)
    volume = library.create_vol_geom(columns, columns)
    projector = library.create_projector("linear", rays, volume)
    measured, result = library.data2d.create("-sino", rays, sinogram), library.data2d.create("-vol", volume)
    choice = library.astra_dict(method)
    choice |= {"ProjectorId": projector, "ProjectionDataId": measured, "ReconstructionDataId": result}
    algorithm = library.algorithm.create(choice)
    library.algorithm.run(algorithm, count)
    found = np.array(library.data2d.get(result))
    library.algorithm.delete(algorithm)
    library.data2d.delete([measured, result])
    library.projector.delete(projector)
    return found


if __name__ == "__main__":
    main()
