"""Volume: scalars on a regular grid, read when they are needed.

Here: Volume, and opening one by its name or from an array.
Not here: bytes (formats), several volumes over time or channel (series), counting voxels (statistics).
"""

from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.box import Box, Shape
from pellucid.errors import InvalidInput, SelectionNeeded
from pellucid.formats.damage import naming_damage
from pellucid.formats.in_memory import ArrayReader
from pellucid.formats.location import Location
from pellucid.formats.orientation import Orientation, at_level
from pellucid.formats.protocol import Header, Level, Spacing, Voxels, check_location, check_selection
from pellucid.formats.registry import open_reader
from pellucid.volume.change_listeners import ChangeListeners, Listener
from pellucid.volume.closable_reader import ClosableReader
from pellucid.volume.indexing import Index, axes_of, box_of
from pellucid.volume.interpolate import trilinear
from pellucid.volume.statistics import (
    BRICK,
    BrickRanges,
    Histogram,
    NonFiniteCounts,
    Percentiles,
    VolumeStatistics,
)

if TYPE_CHECKING:  # It takes a while to import, and few volumes are neural fields.
    from pellucid.formats.neural_field.neural_volume import NeuralVolume
    from pellucid.formats.neural_field.residual import ResidualValues


class Volume:
    """A lazy volume with axes (z, y, x).

    >>> volume = Volume.from_array(np.arange(24, dtype=np.uint8).reshape(2, 3, 4), spacing=(2.0, 1.0, 1.0), unit="um")
    >>> volume.shape, volume.value_range, volume[1, :, 0].tolist()
    ((2, 3, 4), (0.0, 23.0), [12, 16, 20])
    """

    def __init__(self, opened: ClosableReader, location: Location, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        self.location = location
        self._opened = opened
        self._level = level
        self._frame = {"t": t, "c": c}
        self._announcements = ChangeListeners()
        self._statistics = VolumeStatistics(self)

    @classmethod
    def from_array(
        cls,
        array: Voxels,
        spacing: Spacing = (1.0, 1.0, 1.0),
        unit: str = "",
        orientation: Orientation | None = None,
    ) -> "Volume":
        """A volume over an array in memory; the array is not copied."""
        reader = ArrayReader(array, spacing, unit, orientation)
        return cls(ClosableReader(reader), reader.location)

    @property
    def header(self) -> Header:
        return self._opened.header

    @property
    def levels(self) -> tuple[Level, ...]:
        """All resolutions of the file, the full one first."""
        return self.header.levels

    @property
    def level(self) -> int:
        """Which of the levels this volume reads."""
        return self._level

    @property
    def shape(self) -> Shape:
        return self.levels[self._level].shape

    @property
    def chunk(self) -> Shape:
        """The chunk of the file, (z, y, x): the smallest part that is read as a whole."""
        return self.levels[self._level].chunk

    @property
    def spacing(self) -> Spacing:
        """Distance between voxel centres along (z, y, x), in ``unit``."""
        return self.levels[self._level].spacing

    @property
    def unit(self) -> str:
        return self.header.unit

    @property
    def orientation(self) -> Orientation | None:
        """Its orientation in space; None if the file does not state one."""
        return at_level(self.header.orientation, self.levels[0].spacing, self.spacing)

    @property
    def up(self) -> str:
        """The axis that points up in images, such as "z"; "-z" (slice 0 at the top) if the file does not state one."""
        return (self.header.orientation or Orientation()).up

    @property
    def front(self) -> str | None:
        """The axis that points to a patient's front; None if there is none."""
        return (self.header.orientation or Orientation()).front

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.header.dtype

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    @property
    def box(self) -> Box:
        """The box of all voxels."""
        return Box.whole(self.shape)

    @property
    def array(self) -> Voxels | None:
        """The array that the volume was made from, not copied and not to be changed; None for a file."""
        reader = self._opened.reader
        return reader.array if isinstance(reader, ArrayReader) else None

    @property
    def neural(self) -> "tuple[NeuralVolume, ResidualValues | None] | None":
        """The neural fields that the voxels are decoded from, and what is added to them at the full resolution."""
        neural_at: Callable[[int], tuple[NeuralVolume, ResidualValues | None]] | None
        neural_at = getattr(self._opened.reader, "neural_at", None)
        return neural_at(self._frame["t"]) if neural_at and not self._level else None

    def at_level(self, level: int) -> "Volume":
        """The same volume at another resolution."""
        check_selection(self.location.path, self.header, level=level, **self._frame)
        return Volume(self._opened, self.location.with_options(level=level), level=level, **self._frame)

    def read(self, box: Box | None = None, out: Voxels | None = None) -> Voxels:
        """The voxels of a box as an array; with ``out``, into that array (shape of the box, the volume's dtype)."""
        box = self.box if box is None else box
        if not self.box.contains(box) or box.is_empty:
            raise InvalidInput(
                f"The box {box} (z, y, x) is outside a volume of {self.shape}.",
                remedy=f"Choose a box within {self.box}.",
            )
        if out is None:
            out = np.empty(box.shape, self.dtype)
        elif not _can_take(out, box, self.dtype):
            raise InvalidInput(
                f"{_described(out)} does not fit the box {box} (z, y, x) of {self.dtype}.",
                remedy=f"Pass a writable array of shape {box.shape} and type {self.dtype}.",
            )
        with naming_damage(self.location.path, "its voxels could not be read"):
            self._opened.reader.read(box, out, level=self._level, **self._frame)
        return out

    def __getitem__(self, index: Index) -> Voxels:
        """``volume[box]`` or ``volume[z0:z1, y, x0:x1]``. As in NumPy, a number drops its axis."""
        if isinstance(index, Box):
            return self.read(index)
        return self.read(box_of(index, self.shape))[axes_of(index)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Voxels:
        """All voxels: ``np.asarray(volume)``."""
        return self.read().astype(dtype or self.dtype, copy=False)

    @property
    def value_range(self) -> tuple[float, float]:
        """The smallest and largest value of all voxels, without NaN."""
        return self.brick_ranges().overall

    def histogram(self, bins: int = 256, within: tuple[float, float] | None = None) -> Histogram:
        """The number of voxels in each of ``bins`` equal bins within two values: the smallest and the largest."""
        return self._statistics.histogram(bins, within)

    def percentiles(self, *percents: float) -> Percentiles:
        """The values below which the given percentages of all voxels are, and how exact they are."""
        return self._statistics.percentiles(percents)

    def non_finite(self) -> NonFiniteCounts:
        """The number of voxels that are NaN, and of those that are infinite."""
        return self._statistics.non_finite()

    def brick_ranges(self, brick: int = BRICK) -> BrickRanges:
        """The smallest and largest value of every brick; computed once, then read from the cache."""
        return self._statistics.brick_ranges(brick)

    def sample(self, points: Voxels) -> Voxels:
        """Values at (n, 3) points in voxel coordinates (z, y, x), trilinear between voxel centres."""
        last = np.array(self.shape) - 1
        low = np.clip(np.floor(points.min(axis=0)), 0, last).astype(int)
        high = np.clip(np.ceil(points.max(axis=0)), 0, last).astype(int) + 1
        region = Box((int(low[0]), int(low[1]), int(low[2])), (int(high[0]), int(high[1]), int(high[2])))
        return trilinear(self.read(region), np.clip(points, 0, last) - low)

    def on_change(self, listener: Listener) -> Callable[[], None]:
        """Call the listener with every box that changes; returns a function that stops this."""
        return self._announcements.add(listener)

    def changed(self, box: Box) -> None:
        """Announce that the voxels of a box have changed."""
        self._statistics.forget()
        self._announcements.changed(box)

    def close(self) -> None:
        """Close the file; every volume made from this one is closed too."""
        self._opened.close()

    def __reduce__(self) -> tuple[object, ...]:
        # To another process goes the name; an array that is only in this one goes itself.
        if self.location.is_memory:
            return (Volume.from_array, (self.read(), self.spacing, self.unit, self.orientation))
        return (open_volume, (str(self.location.absolute),))

    def __enter__(self) -> "Volume":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        facts = f"shape={self.shape}, dtype={self.dtype}, spacing={self.spacing} {self.unit}".rstrip()
        return f"Volume({str(self.location)!r}, {facts})"


def _can_take(out: object, box: Box, dtype: np.dtype[Any]) -> bool:
    return isinstance(out, np.ndarray) and out.shape == box.shape and out.dtype == dtype and out.flags.writeable


def _described(out: object) -> str:
    return f"An array of {out.shape} {out.dtype}" if isinstance(out, np.ndarray) else f"A {type(out).__name__}"


def open_volume(path: str | Path | Location) -> Volume:
    """Open a volume by its location: ``file.h5:/entry/data``, ``folder/``, ``s3://bucket/scan.zarr``,
    ``stack.tif:t=3,c=0``."""
    if isinstance(path, np.ndarray):
        raise InvalidInput(
            "pellucid.open() takes a path, not an array.", remedy="Use pellucid.Volume.from_array(array)."
        )
    location = Location.parse(path)
    opened = ClosableReader(open_reader(location))
    try:
        return select_volume(opened, location)
    except BaseException:
        opened.close()
        raise


def select_volume(opened: ClosableReader, location: Location) -> Volume:
    """The volume of an open file that a location selects: its time step, channel and level."""
    header = opened.header
    check_location(location, header)
    t, c, level = (location.number(name) for name in ("t", "c", "level"))
    if (t is None and header.times > 1) or (c is None and header.channels > 1):
        raise SelectionNeeded(location.path, header.times, header.channels)
    return Volume(opened, location, level=level or 0, t=t or 0, c=c or 0)
