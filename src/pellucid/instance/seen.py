"""What the values of a volume are like that is still on its way.

Here: SeenValues, some of the voxels that came so far.
Not here: statistics of volumes that are there (volume.statistics), what is made of them (filling).
"""

import threading
from math import ceil

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.volume.statistics import Histogram

PER_BLOCK = 2**14
MOST = 2**20


class SeenValues:
    """A sample in bounded memory; blocks may be added from any thread.

    count: voxels that came. When the sample is full every other value goes, and of later blocks fewer are taken, so
    that each part of the volume keeps its share.

    >>> seen = SeenValues()
    >>> seen.add(np.arange(8.0).reshape(2, 2, 2))
    >>> seen.count, seen.histogram(2).counts.tolist()
    (8, [4, 4])
    """

    def __init__(self) -> None:
        self.count = 0
        self._stride = 1
        self._values: list[Voxels] = []
        self._kept = 0
        self._lock = threading.Lock()

    def add(self, block: Voxels) -> None:
        some = _some(block, self._stride)
        with self._lock:
            self.count += block.size
            self._values.append(some)
            self._kept += some.size
            while self._kept > MOST:
                self._stride *= 2
                self._values = [np.concatenate(self._values)[::2]]
                self._kept = self._values[0].size

    def histogram(self, bins: int) -> Histogram:
        """As of all voxels that came; NaN and infinity are left out."""
        with self._lock:
            values = np.concatenate([*self._values, np.empty(0)])
            count = self.count
        values = values[np.isfinite(values)]
        values = values if values.size else np.zeros(1)
        counts, edges = np.histogram(values, bins)
        return Histogram(np.rint(counts * (count / values.size)).astype(np.int64), edges)


def _some(block: Voxels, stride: int) -> Voxels:
    """A few thousand voxels, spread over all of the block."""
    n = ceil((block.size * stride / PER_BLOCK) ** 0.5)
    return block[:, ::n, ::n].reshape(-1).copy() if n > 1 else block.reshape(-1).copy()
