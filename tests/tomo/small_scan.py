"""A small scan as a file: an ellipse in every slice, a little larger from row to row."""

from pathlib import Path

import h5py
import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.tomo.scan import Scan
from tests.tomo.analytic import ellipse_sinogram, even_angles

COLUMNS = 48
AXIS = 22.7
MU_PER_CM = 30.0
PIXEL_UM = 5.0


def write_scan(path: Path, rows: int = 20, views: int = 72, axis: float = AXIS, turn_rad: float = np.pi) -> Path:
    """Data Exchange HDF5 with flats of 20,000 counts and darks of 100."""
    angles = even_angles(views, turn_rad)
    per_pixel = MU_PER_CM * PIXEL_UM * 1e-4
    lengths = [ellipse_sinogram(angles, COLUMNS, axis, (10 + row / 4, 9.0), middle=(2.0, 1.0)) for row in range(rows)]
    counts = 100 + 20_000 * np.exp(-per_pixel * np.stack(lengths, axis=1))
    with h5py.File(path, "w") as file:
        group = file.create_group("exchange")
        group["data"] = counts.astype(np.float32)
        group["data_white"] = np.full((3, rows, COLUMNS), 20_100, np.float32)
        group["data_dark"] = np.full((2, rows, COLUMNS), 100, np.float32)
        group["theta"] = np.degrees(angles)
    return path


def inside(image: Voxels) -> Voxels:
    """The pixels of a slice that are well inside the ellipse."""
    along = np.arange(COLUMNS) - (COLUMNS - 1) / 2
    return np.asarray(image[((along[None, :] - 2) / 10) ** 2 + ((along[:, None] + 1) / 9) ** 2 < 0.5])


def write_simulated(path: Path, scan: Scan) -> Path:
    """A simulated scan as Data Exchange HDF5, of which the flats before and after count as one group."""
    assert scan.flats is not None and scan.darks is not None
    with h5py.File(path, "w") as file:
        group = file.create_group("exchange")
        for name, frames in (("data", scan.projections), ("data_white", scan.flats), ("data_dark", scan.darks)):
            group[name] = frames.read()
        group["theta"] = np.degrees(scan.angles_rad)
    return path
