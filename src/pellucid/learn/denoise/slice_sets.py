"""Slices of the same scan from different views: what the network learns from.

Here: SetVolume, SliceSets, which reads the same region of every set.
Not here: making them (tomo.pipeline.view_sets, stages), samples (samples).
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import prod

import numpy as np

from pellucid.box import Box, Shape
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import Volume, open_volume


@dataclass(frozen=True)
class SetVolume:
    """A box of a volume. location: of the volume."""

    location: str
    box: Box


@dataclass(frozen=True)
class SliceSets:
    """Open volumes of the same shape. mean: of all sets, where it is stored."""

    sets: tuple[tuple[Volume, Box], ...]
    mean: tuple[Volume, Box] | None = None

    @property
    def shape(self) -> Shape:
        return self.sets[0][1].shape

    @property
    def count(self) -> int:
        return len(self.sets)

    def read(self, number: int, box: Box) -> Voxels:
        """Of one set, as float32."""
        volume, whole = self.sets[number]
        return volume.read(box.shift(whole.start)).astype(np.float32, copy=False)

    def read_mean(self, box: Box) -> Voxels:
        """Of all sets."""
        if self.mean is not None:
            volume, whole = self.mean
            return volume.read(box.shift(whole.start)).astype(np.float32, copy=False)
        total = self.read(0, box)
        for number in range(1, self.count):
            total = total + self.read(number, box)
        return total / np.float32(self.count)

    def others(self, number: int, mean: Voxels, own: Voxels) -> Voxels:
        """The mean of all sets but one, from that of all and that one."""
        count = np.float32(self.count)
        return (count * mean - own) / (count - 1)

    def in_memory(self, limit_bytes: int) -> "SliceSets":
        """With all voxels in memory, where so many bytes suffice."""
        volumes = [*self.sets, *([self.mean] if self.mean else [])]
        if 4 * len(volumes) * prod(self.shape) > limit_bytes:
            return self
        held = [_held(volume, box) for volume, box in volumes]
        return SliceSets(tuple(held[: self.count]), held[self.count] if self.mean else None)


def _held(volume: Volume, box: Box) -> tuple[Volume, Box]:
    voxels = volume.read(box).astype(np.float32, copy=False)
    return Volume.from_array(voxels), Box.whole(voxels.shape)


@contextmanager
def open_sets(sets: tuple[SetVolume, ...], mean: SetVolume | None = None) -> Iterator[SliceSets]:
    """Volumes of one file are opened once."""
    shapes = {one.box.shape for one in (*sets, *([mean] if mean else []))}
    if len(shapes) > 1:
        raise InvalidInput(
            f"The sets have different shapes (z, y, x): {', '.join(map(str, sorted(shapes)))}.",
            remedy="Use reconstructions of the same rows with the same settings.",
        )
    with ExitStack() as stack:
        opened: dict[str, Volume] = {}
        for one in (*sets, *([mean] if mean else [])):
            if one.location not in opened:
                opened[one.location] = stack.enter_context(open_volume(one.location))
        pairs = tuple((opened[one.location], one.box) for one in sets)
        yield SliceSets(pairs, (opened[mean.location], mean.box) if mean else None)
