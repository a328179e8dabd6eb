"""The Reader and Writer protocols of every format, and the data types that they use.

Here: Level, Header, Layout; Reader, Writer and Format; check_selection, of a level, time step and channel of a Header.
Not here: choosing a format (registry), names of files (location), any bytes.

A format is a module (or a third party's object) with two functions, ``open_reader`` and ``open_writer``.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pellucid.box import Box, Shape
from pellucid.errors import SelectionInvalid
from pellucid.formats.location import Location
from pellucid.formats.orientation import Orientation

Spacing = tuple[float, float, float]
Voxels = np.ndarray[Any, np.dtype[Any]]

VOXEL_TYPES = (
    "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64",
)  # fmt: skip


@dataclass(frozen=True)
class Level:
    """One resolution of a volume.

    shape, chunk: voxels along (z, y, x); the chunk is the piece that is cheapest to read whole.
    spacing: distance between voxel centres along (z, y, x), in the header's unit.
    """

    shape: Shape
    chunk: Shape
    spacing: Spacing = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Header:
    """What a file says of itself. levels[0] is the full resolution; dtype is in native byte order.

    orientation: of the full resolution; None where the file does not state it. is_computed: whether voxels are computed
    when they are read, which takes far longer than reading them. compression: what was lost for it, in words.
    """

    levels: tuple[Level, ...]
    dtype: np.dtype[Any]
    unit: str = ""
    times: int = 1
    channels: int = 1
    codec: str = ""
    orientation: Orientation | None = None
    is_computed: bool = False
    compression: str = ""


def check_selection(path: str, header: Header, *, level: int, t: int, c: int) -> None:
    """An error where a file does not have this level, time step or channel."""
    counts = (("time step", t, header.times), ("channel", c, header.channels), ("level", level, len(header.levels)))
    for axis, request, count in counts:
        if not 0 <= request < count:
            raise SelectionInvalid(path, axis, request, count)


def check_location(location: Location, header: Header) -> None:
    """The same for what a name selects."""
    level, t, c = (location.number(name) or 0 for name in ("level", "t", "c"))
    check_selection(location.path, header, level=level, t=t, c=c)


@dataclass(frozen=True)
class Layout:
    """How an output is to be written; None leaves the choice to the format.

    levels: shape and spacing of every resolution, full one first (their ``chunk`` is the requested chunk).
    shard: voxels of one stored object that holds several chunks, where the format has such.
    codec: "none", "gzip", "zstd", "lz4" or "blosc"; a format refuses what it cannot do.
    orientation: of the full resolution; a format stores what it can of it (conversion reports the rest).
    """

    levels: tuple[Level, ...]
    dtype: np.dtype[Any]
    unit: str = ""
    shard: Shape | None = None
    codec: str | None = None
    orientation: Orientation | None = None


class Reader(Protocol):
    """An open file. Safe to use from several threads at once."""

    header: Header

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        """Fill ``out`` (shape of the box, header's dtype, any strides) with the voxels of the box."""

    def close(self) -> None: ...


class Writer(Protocol):
    """An output being filled, in any order, from several threads at once.

    grains: per level, the smallest piece that may be written on its own: boxes whose edges are multiples of it
        (or the volume's border) never share a chunk or shard.
    is_shareable: whether several processes may each open the output and write their own boxes.
    """

    grains: tuple[Shape, ...]
    is_shareable: bool

    def write(self, box: Box, voxels: Voxels, *, level: int = 0) -> None:
        """Store the voxels of a box; they are in the file when this returns."""

    def read(self, box: Box, out: Voxels, *, level: int = 0) -> None:
        """Read back what was written: pyramid levels are made from the level before."""

    def finish(self) -> None:
        """Make the output complete and openable by others; the last call before close."""

    def close(self) -> None: ...


class Format(Protocol):
    """A module or object that knows one format."""

    def open_reader(self, location: Location) -> Reader: ...

    def open_writer(self, location: Location, layout: Layout, *, resume: bool = False) -> Writer:
        """Create the output, or with ``resume`` attach to one created before with the same layout."""
