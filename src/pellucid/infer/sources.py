"""Where a network gets its voxels from.

Here: VoxelSource, the protocol; volumes as channels.
Not here: another network as the source (prediction).
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from pellucid.box import Box, Shape
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import Volume

Allocate = Callable[[tuple[int, ...], "np.dtype[Any]"], Voxels]


class VoxelSource(Protocol):
    """Voxels of a box, with one or more channels."""

    @property
    def shape(self) -> Shape: ...

    @property
    def channels(self) -> int: ...

    def read(self, box: Box) -> Voxels:
        """(channel, z, y, x)."""


class VolumeSource:
    """A region of volumes of the same shape, each of them a channel. Nothing outside the region is read."""

    def __init__(self, volumes: Sequence[Volume], region: Box | None = None) -> None:
        self.volumes = volumes
        self._region = region or volumes[0].box
        self.shape = self._region.shape
        self.channels = len(volumes)
        for volume in volumes[1:]:
            if volume.shape != volumes[0].shape:
                raise InvalidInput(
                    f"{volume.location} has shape {volume.shape}, and {volumes[0].location} has "
                    f"{volumes[0].shape} (z, y, x).",
                    remedy="Use volumes of the same shape.",
                )

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(*(volume.dtype for volume in self.volumes))

    def read(self, box: Box, allocate: Allocate = np.empty) -> Voxels:
        """allocate: makes the array, from its shape and type."""
        region = box.shift(self._region.start)
        voxels = allocate((self.channels, *box.shape), self.dtype)
        for channel, volume in zip(voxels, self.volumes, strict=True):
            if volume.dtype == voxels.dtype:
                volume.read(region, channel)
            else:
                channel[...] = volume.read(region)
        return voxels
