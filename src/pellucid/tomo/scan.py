"""A scan: projections of a rotating sample, the frames that calibrate them, and the geometry.

Here: Frames (lazy, read block by block) and Scan.
Not here: files (scan_files), what is done with the frames (correction and the modules after it).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from pellucid.box import Box
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.bad_pixels import BadPixels
from pellucid.tomo.correction.missing_pixels import fill_missing
from pellucid.tomo.number_check import check_number
from pellucid.volume.volume import Volume

Floats = np.ndarray[Any, np.dtype[np.float64]]
Indices = np.ndarray[Any, np.dtype[np.int64]]
CM_UM = 1e4
FULL_TURN = 2 * np.pi * (1 + 1e-6)
MAX_STEP_RAD = np.pi / 4
"""Between views that follow one another while the sample turns on and on; larger ones are those of golden angles."""

ONE_ANGLE_RAD = np.radians(0.5)
"""Views within so much are all at one angle, apart from the noise of an encoder."""

FRAMES_AT_ONCE = 32
"""That are read together and then put in order, where frames are not read in the order in which they are stored."""


@dataclass(frozen=True, eq=False)
class Frames:
    """Frames of a volume with axes (frame, row, column), in the order of ``indices``.

    times: when each was taken, in any unit that the whole scan shares (seconds, or the frame number). repair: the bad
    pixels of the detector, which are replaced wherever frames are read.

    >>> frames = Frames.from_array(np.arange(24).reshape(4, 2, 3)).choose([3, 1])
    >>> frames.count, frames.rows, frames.columns, frames.read(rows=(1, 2))[:, 0, 0].tolist()
    (2, 2, 3, [21, 9])
    """

    volume: Volume
    indices: Indices
    times: Floats
    repair: Callable[[], BadPixels] | None = None

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
        return replace(self, times=np.full(self.count, -1.0))

    def choose(self, which: Any) -> "Frames":
        """Some of these frames: a slice, indices or a mask."""
        return replace(self, indices=self.indices[which], times=self.times[which])

    def read(self, frames: tuple[int, int] | None = None, rows: tuple[int, int] | None = None) -> Voxels:
        """Frames first to stop and rows first to stop (both without stop), as an array (frame, row, column). Pixels
        that are not finite are filled in. Consecutive frames in memory are not copied: do not change the result."""
        return self.read_filled(frames, rows)[0]

    def read_filled(
        self, frames: tuple[int, int] | None = None, rows: tuple[int, int] | None = None
    ) -> tuple[Voxels, int]:
        """The same, and the number of pixels that were not finite and were filled in."""
        first, stop = self._checked(frames, self.count, "frames")
        top, bottom = self._checked(rows, self.rows, "rows")
        bad = None if self.repair is None else self.repair().within((top, bottom))
        if bad is None or not bad.count:
            return self._complete((first, stop), (top, bottom))
        reach = bad.rows_needed((top, bottom))
        complete, filled = self._complete((first, stop), reach)
        return bad.filled(complete, reach[0])[:, top - reach[0] : bottom - reach[0]], filled

    def _complete(self, frames: tuple[int, int], rows: tuple[int, int]) -> tuple[Voxels, int]:
        stored = self._stored(frames, rows)
        held = self.volume.array
        return fill_missing(stored, is_shared=held is not None and np.may_share_memory(stored, held))

    def _stored(self, frames: tuple[int, int], rows: tuple[int, int]) -> Voxels:
        (first, stop), (top, bottom) = frames, rows
        held, indices = self.volume.array, self.indices[first:stop]
        if held is not None and held.dtype == self.dtype and (np.diff(indices) == 1).all():
            return held[indices[0] : indices[-1] + 1, top:bottom]
        out = np.empty((stop - first, bottom - top, self.columns), self.dtype)
        order = np.argsort(indices, kind="stable")
        is_sorted = bool((np.diff(order) == 1).all())
        for start, length in _runs(indices[order], stop - first if is_sorted else FRAMES_AT_ONCE):
            frame = int(indices[order[start]])
            box = Box((frame, top, 0), (frame + length, bottom, self.columns))
            if is_sorted:
                self.volume.read(box, out[start : start + length])
            else:
                out[order[start : start + length]] = self.volume.read(box)
        return out

    def read_rows(self, rows: Sequence[int]) -> Voxels:
        """Single rows, far apart, as (frame, row, column); what is compressed together is unpacked once for all."""
        top, bottom = min(rows), max(rows) + 1
        nearest = min(np.diff(sorted(rows)), default=self.rows)
        is_packed = self.volume.header.codec not in ("", "none") and self.volume.chunk[1] > nearest
        if self.volume.array is not None or not is_packed:
            return np.concatenate([self.read(rows=(row, row + 1)) for row in rows], axis=1)
        out = np.empty((self.count, len(rows), self.columns), self.dtype)
        chosen = [row - top for row in rows]
        for first in range(0, self.count, FRAMES_AT_ONCE):
            stop = min(self.count, first + FRAMES_AT_ONCE)
            out[first:stop] = self.read((first, stop), (top, bottom))[:, chosen]
        return out

    def _checked(self, wanted: tuple[int, int] | None, length: int, what: str) -> tuple[int, int]:
        first, stop = wanted or (0, length)
        if not 0 <= first < stop <= length:
            raise InvalidInput(
                f"Invalid range of {what} {first}:{stop}: there are {length}.",
                remedy=f"Choose a range within 0:{length}.",
            )
        return first, stop


def _runs(indices: Indices, most: int) -> Iterator[tuple[int, int]]:
    """Start and length of every stretch of indices that follow one another, so many at most: each is one read."""
    breaks = np.flatnonzero(np.diff(indices) != 1) + 1
    edges = [0, *breaks.tolist(), len(indices)]
    for first, stop in pairwise(edges):
        for start in range(first, stop, most):
            yield start, min(most, stop - start)


def frame_groups(times: Floats, projection_times: Floats) -> list[Indices]:
    """Indices of the flats, or darks, that were taken together, in the order of time.

    >>> [group.tolist() for group in frame_groups(np.array([0.0, 1, 9, 10]), np.arange(2.0, 9))]
    [[0, 1], [2, 3]]
    """
    order = np.argsort(times, kind="stable")
    passed = np.searchsorted(np.sort(projection_times), times[order])
    return list(np.split(order, np.flatnonzero(np.diff(passed)) + 1))


def _when(time: float, first: float, last: float) -> str:
    return "before" if time <= first else "after" if time > last else "during"


@dataclass(frozen=True, eq=False)
class Scan:
    """A parallel-beam scan around a vertical axis.

    angles_rad: of every projection. flats, darks: None where it was said that there are none. pixel_size_um: of the
    detector seen from the sample; None where unknown. axis_column: where the file says the axis is, in pixels from the
    centre of column 0. assumptions: what was not in the file and is taken to be so, one sentence each. inputs: the
    files and folders that it is read from; none of an array.
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
    inputs: tuple[Location, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.pixel_size_um is not None:
            check_number(f"The pixel size of {self.name} in micrometres", self.pixel_size_um, above=0)
        if self.axis_column is not None:
            check_number(f"The column of the axis of {self.name}", self.axis_column)
        if len(self.angles_rad) != self.projections.count:
            raise InvalidInput(
                f"{self.name} has {self.projections.count} projections and {len(self.angles_rad)} angles.",
                remedy="Set the angles: a range such as 0:180, or a file with one angle in degrees per projection.",
            )
        if not (is_finite := np.isfinite(self.angles_rad)).all():
            first = int(np.argmin(is_finite))
            raise InvalidInput(
                f"The angle of projection {first} of {self.name} is {self.angles_rad[first]}, not a finite number.",
                remedy="Correct it in the file, or set the angles: a range such as --angles 0:180, or a file.",
            )
        wanted = self.projections.shape[1:]
        for what, frames in (("flats", self.flats), ("darks", self.darks)):
            if frames is not None and frames.shape[1:] != wanted:
                raise InvalidInput(
                    f"The {what} of {self.name} are {frames.shape[1:]} pixels and its projections {wanted}.",
                    remedy=f"Use {what} taken with the same detector settings.",
                )

    @property
    def bad_pixel_count(self) -> int:
        """Dead and hot pixels of the detector that are replaced wherever frames are read."""
        return 0 if self.projections.repair is None else self.projections.repair().count

    @property
    def rows(self) -> int:
        """The number of slices that can be made."""
        return self.projections.rows

    @property
    def columns(self) -> int:
        return self.projections.columns

    @property
    def count(self) -> int:
        """The number of projections."""
        return self.projections.count

    @property
    def pixels(self) -> int:
        """The number of pixels of all projections together."""
        return self.count * self.rows * self.columns

    @property
    def per_pixel(self) -> float:
        """Factor for attenuation per pixel: gives attenuation per cm if the pixel size is known, otherwise 1."""
        return CM_UM / self.pixel_size_um if self.pixel_size_um else 1.0

    @property
    def step_rad(self) -> float:
        """Median distance between neighbouring angles, in whatever order they were taken."""
        return float(np.median(np.diff(np.sort(self.angles_rad)))) if self.count > 1 else 0.0

    @property
    def span_rad(self) -> float:
        """How far the sample turned, counting the last step: π for a half turn that leaves out the last angle."""
        return float(np.ptp(self.angles_rad)) + self.step_rad

    @property
    def is_full_turn(self) -> bool:
        return self.span_rad > 1.5 * np.pi

    def check_turn(self) -> None:
        """An error where the sample did not turn: all views are at one angle, or seen from behind at that angle."""
        folded = np.sort(np.mod(self.angles_rad, np.pi))
        spread = np.pi - np.diff(folded, append=folded[0] + np.pi).max()
        if self.count > 1 and spread < ONE_ANGLE_RAD:
            at = f"{np.degrees(self.angles_rad[0]):g} degrees"
            half_turns = "" if np.ptp(self.angles_rad) < np.pi / 2 else ", or half turns from there"
            raise InvalidInput(
                f"All {self.count} angles of {self.name} are {at}{half_turns}.",
                remedy="Check that they are in degrees and those of the rotation stage, or set them with --angles.",
            )

    def groups(self, frames: Frames | None) -> list[tuple[str, int]]:
        """When flats, or darks, were taken: before, during or after the projections, and how many at a time."""
        if frames is None:
            return []
        times, first, last = frames.times, self.projections.times.min(), self.projections.times.max()
        return [
            (_when(float(times[group[0]]), first, last), len(group))
            for group in frame_groups(times, self.projections.times)
        ]

    def in_angle_order(self) -> "Scan":
        """The same scan with its projections sorted by angle; itself where they follow one another already.

        Axis, rings, zingers and black projections depend on which views are neighbours. Views of more than a full turn
        are sorted by where they are in a turn, unless the turns are taken one after the other.
        """
        steps, turned = np.diff(self.angles_rad), np.ptp(self.angles_rad)
        is_steady = (steps >= 0).all() or (steps <= 0).all()
        if is_steady and (turned <= FULL_TURN or np.abs(steps).max() <= MAX_STEP_RAD):
            return self
        angles = self.angles_rad if turned <= FULL_TURN else np.mod(self.angles_rad, 2 * np.pi)
        order = np.argsort(angles, kind="stable")
        text = (*self.assumptions, "The projections are not in the order of their angles, and are sorted.")
        projections = self.projections.choose(order)
        return replace(self, projections=projections, angles_rad=angles[order], assumptions=text)

    def close(self) -> None:
        """Close the files; volumes that are shared are closed once."""
        for frames in (self.projections, self.flats, self.darks):
            if frames is not None:
                frames.volume.close()
