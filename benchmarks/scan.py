"""The volume that the format benchmarks read and write: smooth like a sample, noisy like a detector.

Here: making it, and where benchmark files lie.
Not here: what is measured.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from pellucid.formats.protocol import Voxels

PLANE = (512, 512)


def scan(planes: int) -> Voxels:
    """(planes, 512, 512) uint16: half a MiB a plane, about 60 % of its size under gzip."""
    random = np.random.default_rng(1)
    y, x = np.meshgrid(*(np.linspace(-1, 1, n, dtype=np.float32) for n in PLANE), indexing="ij")
    voxels = np.empty((planes, *PLANE), np.uint16)
    for z in range(planes):
        shape = 9000 * np.sin(6 * x + z / 40) * np.cos(5 * y - z / 60) + 20000 * (x * x + y * y < 0.8)
        voxels[z] = np.clip(shape + random.integers(0, 64, PLANE) + 10000, 0, 65535)
    return voxels


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="pellucid-benchmark-") as path:
        yield Path(path)
