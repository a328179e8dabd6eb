"""A scan: projections of a turning sample, the frames that calibrate them, and the geometry.

Here: Frames (lazy, read block by block) and Scan.
Not here: files (scan_files), what is done with the frames (correction and the modules after it).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from pellucid.box import Box
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import Volume

Floats = np.ndarray[Any, np.dtype[np.float64]]
Indices = np.ndarray[Any, np.dtype[np.int64]]
CM_UM = 1e4


@dataclass(frozen=True, eq=False)
class Frames:
    """Some of the frames of a volume with axes (frame, row, column), in the order of ``indices``.

    times: when each was taken, in any unit common to the whole scan (seconds, or the frame's number).

    >>> frames = Frames.from_array(np.arange(24).reshape(4, 2, 3)).choose([3, 1])
    >>> frames.count, frames.rows, frames.columns, frames.read(rows=(1, 2))[:, 0, 0].tolist()
    (2, 2, 3, [21, 9])
    """

    volume: Volume
    indices: Indices
    times: Floats

    @classmethod
    def whole(cls, volume: Volume, first_time: float = 0.0) -> "Frames":
        """All frames of a volume, one unit of time apart."""
        count = volume.shape[0]
        return cls(volume, np.arange(count), first_time + np.arange(count, dtype=np.float64))

    @classmethod
    def from_array(cls, array: Voxels, first_time: float = 0.0) -> "Frames":
        return cls.whole(Volume.from_array(array), first_time)

    @property
    def count(self) -> int:
        return len(self.indices)

    @property
    def rows(self) -> int:
        return self.volume.shape[1]

    @property
    def columns(self) -> int:
        return self.volume.shape[2]

    @property
    def shape(self) -> tuple[int, int, int]:
        """(frame, row, column)."""
        return (self.count, self.rows, self.columns)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.volume.dtype

    def untimed(self) -> "Frames":
        """The same frames, taken to be as far from one projection as from the next: before all of them."""
        return Frames(self.volume, self.indices, np.full(self.count, -1.0))

    def choose(self, which: Any) -> "Frames":
        """Some of these frames: a slice, indices or a mask."""
        return Frames(self.volume, self.indices[which], self.times[which])

    def read(self, frames: tuple[int, int] | None = None, rows: tuple[int, int] | None = None) -> Voxels:
        """Frames first to stop (stop excluded) and rows first to stop as an array (frame, row, column).

        Frames in memory are not copied where they follow one another: what comes back is not to be written to.
        """
        first, stop = self._checked(frames, self.count, "frames")
        top, bottom = self._checked(rows, self.rows, "rows")
        held, indices = self.volume.array, self.indices[first:stop]
        if held is not None and held.dtype == self.dtype and (np.diff(indices) == 1).all():
            return held[indices[0] : indices[-1] + 1, top:bottom]
        out = np.empty((stop - first, bottom - top, self.columns), self.dtype)
        for start, length in _runs(self.indices[first:stop]):
            frame = int(self.indices[first + start])
            box = Box((frame, top, 0), (frame + length, bottom, self.columns))
            self.volume.read(box, out[start : start + length])
        return out

    def _checked(self, wanted: tuple[int, int] | None, length: int, what: str) -> tuple[int, int]:
        first, stop = wanted or (0, length)
        if not 0 <= first < stop <= length:
            raise InvalidInput(
                f"There are no {what} {first}:{stop}: there are {length}.", do=f"Stay within 0:{length}."
            )
        return first, stop


def _runs(indices: Indices) -> Iterator[tuple[int, int]]:
    """Start and length of every stretch of indices that follow one another: each is one read."""
    breaks = np.flatnonzero(np.diff(indices) != 1) + 1
    edges = [0, *breaks.tolist(), len(indices)]
    for start, stop in pairwise(edges):
        yield start, stop - start


@dataclass(frozen=True, eq=False)
class Scan:
    """A parallel-beam scan around a vertical axis.

    angles_rad: of every projection. flats, darks: None where it was said that there are none. pixel_size_um: of the
    detector seen from the sample; None where unknown. axis_column: where the file says the axis is, in pixels from the
    centre of column 0. assumptions: what was not in the file and is taken to be so, one sentence each.
    """

    name: str
    kind: str
    projections: Frames
    angles_rad: Floats
    flats: Frames | None = None
    darks: Frames | None = None
    pixel_size_um: float | None = None
    axis_column: float | None = None
    assumptions: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if len(self.angles_rad) != self.projections.count:
            raise InvalidInput(
                f"{self.name} has {self.projections.count} projections and {len(self.angles_rad)} angles.",
                do="Give the angles: a range such as 0:180, or a file with one angle in degrees per projection.",
            )
        wanted = self.projections.shape[1:]
        for what, frames in (("flats", self.flats), ("darks", self.darks)):
            if frames is not None and frames.shape[1:] != wanted:
                raise InvalidInput(
                    f"The {what} of {self.name} are {frames.shape[1:]} pixels and its projections {wanted}.",
                    do=f"Give {what} taken with the same detector settings.",
                )

    @property
    def rows(self) -> int:
        """Slices that can be made of it."""
        return self.projections.rows

    @property
    def columns(self) -> int:
        return self.projections.columns

    @property
    def count(self) -> int:
        """Projections."""
        return self.projections.count

    @property
    def per_pixel(self) -> float:
        """What attenuation per pixel is multiplied by: to be per cm where the size of a pixel is known, else 1."""
        return CM_UM / self.pixel_size_um if self.pixel_size_um else 1.0

    @property
    def step_rad(self) -> float:
        """Median distance between neighbouring angles."""
        return float(np.median(np.abs(np.diff(self.angles_rad)))) if self.count > 1 else 0.0

    @property
    def span_rad(self) -> float:
        """How far the sample turned, counting the last step: π for a half turn that leaves out the last angle."""
        return float(np.ptp(self.angles_rad)) + self.step_rad

    @property
    def is_full_turn(self) -> bool:
        return self.span_rad > 1.5 * np.pi

    def close(self) -> None:
        """Close the files; volumes that are shared are closed once."""
        for frames in (self.projections, self.flats, self.darks):
            if frames is not None:
                frames.volume.close()
