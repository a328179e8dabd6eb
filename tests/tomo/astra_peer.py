"""ASTRA on the CPU, with the axis anywhere: its projector as a matrix, and its iterative methods."""

from typing import Any

import numpy as np
import pytest

from pellucid.formats.protocol import Voxels
from pellucid.tomo.scan import Floats


def _astra() -> Any:
    """Where ASTRA is not installed, only the tests that compare with it are skipped."""
    return pytest.importorskip("astra")


def _projector(columns: int, angles_rad: Floats, axis: float) -> tuple[Any, Any, Any]:
    """Joseph's ("linear"), as an id, with the geometries of rays and of the slice."""
    astra = _astra()
    cosine, sine, zero = np.cos(angles_rad), np.sin(angles_rad), np.zeros(len(angles_rad))
    away = (columns - 1) / 2 - axis
    vectors = np.stack([sine, -cosine, away * cosine + zero, away * sine, cosine, sine], axis=1)
    rays = astra.create_proj_geom("parallel_vec", columns, vectors)
    slice_geometry = astra.create_vol_geom(columns, columns)
    return astra.create_projector("linear", rays, slice_geometry), rays, slice_geometry


def astra_matrix(columns: int, angles_rad: Floats, axis: float) -> Any:
    """(bin of a view, pixel), sparse."""
    astra = _astra()
    projector, _, _ = _projector(columns, angles_rad, axis)
    matrix = astra.projector.matrix(projector)
    found = astra.matrix.get(matrix)
    astra.matrix.delete(matrix)
    astra.projector.delete(projector)
    return found


def astra_iterations(rows: Voxels, angles_rad: Floats, axis: float, method: str, iterations: int) -> Voxels:
    """A slice from one sinogram (view, column); method: "SIRT" or "CGLS"."""
    astra = _astra()
    projector, rays, slice_geometry = _projector(rows.shape[1], angles_rad, axis)
    measured = astra.data2d.create("-sino", rays, rows.astype(np.float32))
    made = astra.data2d.create("-vol", slice_geometry)
    choice = astra.astra_dict(method)
    choice.update(ProjectorId=projector, ReconstructionDataId=made, ProjectionDataId=measured)
    algorithm = astra.algorithm.create(choice)
    astra.algorithm.run(algorithm, iterations)
    found = np.array(astra.data2d.get(made))
    astra.algorithm.delete(algorithm)
    astra.data2d.delete([measured, made])
    astra.projector.delete(projector)
    return found
