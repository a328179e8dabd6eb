"""Samples for segmentation: a patch of a volume and its labels, turned, mirrored, and brighter or darker.

Here: LabelledSamples.
Not here: what the labels become (targets).
"""

from dataclasses import dataclass

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.infer.windows import reflected
from pellucid.volume.volume import Volume

GAIN, SHIFT, NOISE = 0.15, 0.15, 0.1
"""How far brightness, contrast and noise vary, in standard deviations of the volume."""
TRIES = 20
Sample = tuple[Voxels, ...]


@dataclass(frozen=True)
class LabelledSamples:
    """Patches of the volume (channel, z, y, x), scaled by its mean and std, and of the labels (z, y, x). box: where
    they may be. ignored: patches of nothing else are drawn again. is_varied: turned, mirrored, brighter, noisier.
    margin: slices of labels more, on either side of the patch: boundaries of a slice depend on the one before it."""

    volume: Volume
    labels: Volume
    box: Box
    patch: Shape
    neighbours: int
    mean: float
    std: float
    ignored: int | None = None
    is_isotropic: bool = False
    is_varied: bool = True
    margin: int = 0

    def __post_init__(self) -> None:
        if any(n < p for n, p in zip(self.inner.shape, self.patch, strict=True)):
            raise InvalidInput(
                f"Samples of {self.patch} do not fit into the labelled part of {self.box.shape} voxels (z, y, x).",
                remedy="Choose a smaller --patch, or a larger --box.",
            )

    @property
    def inner(self) -> Box:
        """Where patches may be, without the margin."""
        return self.box.grow((-self.margin, 0, 0))

    def draw(self, number: int, random: np.random.Generator) -> Sample:
        for _ in range(TRIES):
            start = triple(
                a + int(random.integers(n - p + 1))
                for a, n, p in zip(self.inner.start, self.inner.shape, self.patch, strict=True)
            )
            labels = self._labels(start)
            if self.ignored is None or (labels != self.ignored).any():
                break
        voxels = self._voxels(start)
        return self._varied(voxels, labels, random) if self.is_varied else (voxels, labels)

    def at(self, start: Shape) -> Sample:
        return self._voxels(start), self._labels(start)

    def _labels(self, start: Shape) -> Voxels:
        box = Box(start, triple(a + p for a, p in zip(start, self.patch, strict=True)))
        return self.labels.read(box.grow((self.margin, 0, 0))).astype(np.int64)

    def _voxels(self, start: Shape) -> Voxels:
        """Scaled; the slices around it as channels, reflected beyond the first and last slice of the volume."""
        depth, (first, last) = self.volume.shape[0], (start[0] - self.neighbours, start[0] + self.neighbours)
        places = reflected(np.arange(first, last + self.patch[0]), depth)
        low = int(places.min())
        box = Box((low, *start[1:]), (int(places.max()) + 1, start[1] + self.patch[1], start[2] + self.patch[2]))
        voxels = (self.volume.read(box).astype(np.float32) - np.float32(self.mean)) / np.float32(self.std)
        return voxels[None] if not self.neighbours else voxels[places - low][:, None]

    def _varied(self, voxels: Voxels, labels: Voxels, random: np.random.Generator) -> Sample:
        voxels, labels = self._turned(voxels, labels, random)
        gain, shift, noise = random.normal(1, GAIN), random.normal(0, SHIFT), abs(random.normal(0, NOISE))
        varied = voxels * np.float32(gain) + np.float32(shift)
        varied = varied + np.float32(noise) * random.standard_normal(voxels.shape, np.float32)
        return varied.astype(np.float32), np.ascontiguousarray(labels)

    def _turned(self, voxels: Voxels, labels: Voxels, random: np.random.Generator) -> Sample:
        """About z by right angles, about any axis where the voxels are cubes; mirrored along every axis."""
        order = [0, 1, 2]
        if self.is_isotropic and len(set(self.patch)) == 1:
            order = random.permutation(3).tolist()
        elif self.patch[1] == self.patch[2] and random.random() < 0.5:
            order = [0, 2, 1]
        voxels, labels = voxels.transpose(0, *(1 + axis for axis in order)), labels.transpose(order)
        for axis in range(3):
            if random.random() < 0.5:
                # The channels of 2.5D are the slices around one: mirrored along z, their order turns.
                channel = 0 if axis == 0 and self.neighbours else 1 + axis
                voxels, labels = np.flip(voxels, channel), np.flip(labels, axis)
        return voxels, labels
