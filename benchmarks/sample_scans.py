"""Where the scans are that benchmarks read: they are too large for the repository.

Here: their folder, and enlarged, for volumes that would take minutes to make.
Not here: what a benchmark uses where they are absent (each says so itself).
"""

import os
from pathlib import Path

from pellucid.formats.protocol import Voxels

SHARED = Path(os.environ.get("TEST_DATA_FOLDER", Path(__file__).parents[2] / "shared" / "data"))


def enlarged(voxels: Voxels, times: int) -> Voxels:
    """Each voxel so many times along each axis."""
    return voxels.repeat(times, 0).repeat(times, 1).repeat(times, 2)
