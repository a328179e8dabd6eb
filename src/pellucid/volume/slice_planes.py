"""Slices as images: which axis runs down and which to the right, and reading one.

Here: SlicePlane; cutting a slice with square pixels, which the command line and the page both show.
Not here: colours (slice_sheet, workers.queries.slices), slices inside a 3D view (rendering).

What is up in space is up in every slice that contains it; a slice across it is seen with y down, or for a patient with
the front at the top.
"""

from dataclasses import dataclass

import numpy as np

from pellucid.box import Box, triple
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import Volume

AXES = "zyx"


@dataclass(frozen=True)
class SlicePlane:
    """A slice across an axis. down, right: the axes along the image's height and width; "-y" is y reversed."""

    across: str
    down: str
    right: str

    @classmethod
    def of(cls, across: str, up: str, front: str | None = None) -> "SlicePlane":
        """As a volume is shown whose axis ``up`` points up, and ``front`` to a patient's front.

        >>> SlicePlane.of("y", up="z")
        SlicePlane(across='y', down='-z', right='x')
        """
        top = up if up[-1] != across else front
        inside = [name for name in AXES if name != across]
        down = _opposite(top) if top is not None else inside[0]
        right = next(name for name in inside if name != down[-1])
        return cls(across, down, right)

    def image(self, voxels: Voxels) -> Voxels:
        """A slice whose axes are in the order (z, y, x), turned as it is shown."""
        turned = voxels if AXES.index(self.down[-1]) < AXES.index(self.right[-1]) else voxels.T
        return turned[::-1] if self.down.startswith("-") else turned

    def flipped(self, signs: tuple[float, float, float]) -> "SlicePlane":
        """For a volume whose x, y or z runs the other way than stored, where a sign is -1.

        >>> SlicePlane("y", "-z", "x").flipped((-1.0, 1.0, 1.0))
        SlicePlane(across='y', down='-z', right='-x')
        """
        down, right = (
            _opposite(name) if signs["xyz".index(name[-1])] < 0 else name for name in (self.down, self.right)
        )
        return SlicePlane(self.across, down, right)

    def extent(self, volume: Volume) -> tuple[float, float]:
        """Height and width in the volume's unit."""
        lengths = {name: n * step for name, n, step in zip(AXES, volume.shape, volume.spacing, strict=True)}
        return lengths[self.down[-1]], lengths[self.right[-1]]


Planes = tuple[SlicePlane, SlicePlane, SlicePlane]
"""Across z, y and x."""


def planes_of(volume: Volume) -> Planes:
    """How slices of a volume are shown."""
    return planes_of_axes(volume.up, volume.front)


def planes_of_axes(up: str = "-z", front: str | None = None) -> Planes:
    """How slices are shown where these axes point up and to the front."""
    z, y, x = (SlicePlane.of(name, up, front) for name in AXES)
    return z, y, x


def cut_slice(volume: Volume, plane: SlicePlane, index: int, size: tuple[int, int]) -> Voxels:
    """(height, width) the nearest voxel of a slice for every pixel, from the coarsest level that has enough of them.

    index: of the slice at the volume's own level.
    """
    axis = AXES.index(plane.across)
    coarse = volume.at_level(_level_for(volume, plane, size)) if volume.level == 0 else volume
    at = min(index * coarse.shape[axis] // volume.shape[axis], coarse.shape[axis] - 1)
    start = triple(at if i == axis else 0 for i in range(3))
    stop = triple(at + 1 if i == axis else n for i, n in enumerate(coarse.shape))
    voxels = plane.image(coarse.read(Box(start, stop)).squeeze(axis))
    rows, columns = ((np.arange(n) + 0.5) * m // n for n, m in zip(size, voxels.shape, strict=True))
    return voxels[np.ix_(rows.astype(int), columns.astype(int))]


def _level_for(volume: Volume, plane: SlicePlane, size: tuple[int, int]) -> int:
    """The coarsest level that still has a voxel for every pixel."""
    axes = [AXES.index(name[-1]) for name in (plane.down, plane.right)]
    enough = [
        number
        for number, level in enumerate(volume.levels)
        if all(level.shape[axis] >= pixels for axis, pixels in zip(axes, size, strict=True))
    ]
    return enough[-1] if enough else 0


def _opposite(axis: str) -> str:
    return axis[1:] if axis.startswith("-") else f"-{axis}"


ASSUMED_PLANES = planes_of_axes()
"""Where no orientation is stated."""
