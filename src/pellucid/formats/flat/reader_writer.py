"""Reader and Writer over voxels that lie at regular distances in one file.

Here: FlatReader and ScaledReader; FlatWriter, whose header becomes valid only when the output is complete;
CompressedWriter and DetachedWriter.
Not here: what the headers say (each format), moving bytes (byte_sources).
"""

import gzip
import shutil
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.box import Box, Shape
from pellucid.errors import Incomplete, InvalidInput, OutputExists
from pellucid.formats.byte_sources import UNFINISHED, ByteSource, disk_full_errors
from pellucid.formats.flat.deflate import gzip_stream
from pellucid.formats.flat.placement import FlatArray, Placement, allocate, read_box
from pellucid.formats.protocol import Header, Level, Reader, Spacing, Voxels, check_selection

_COPY_BYTES = 1 << 20


class FlatReader:
    """Boxes of a flat file, of any time and channel."""

    def __init__(self, header: Header, placement: Placement, source: ByteSource) -> None:
        self.header = header
        self._placement = placement
        self._source = source
        try:
            source.require(placement.end(header.times, header.channels))
        except BaseException:
            source.close()
            raise

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        check_selection(self._source_name, self.header, level=level, t=t, c=c)
        read_box(self._source, self._placement.at(t, c), box, out)

    def close(self) -> None:
        self._source.close()

    @property
    def _source_name(self) -> str:
        return str(getattr(self._source, "path", "the file"))


class ScaledReader:
    """Stored numbers that mean ``slope * number + intercept``, given as float32; those that are not scaled keep their
    type. missing: numbers that stand for no value, given as NaN."""

    def __init__(self, stored: Reader, slope: float, intercept: float, missing: Sequence[float] = ()) -> None:
        self._stored = stored
        self._slope = slope
        self._intercept = intercept
        dtype = stored.header.dtype
        self._missing = [number for one in missing if (number := _as_stored(one, dtype)) is not None]
        self._is_scaled = not missing or (slope, intercept) != (1.0, 0.0)
        self.header = replace(stored.header, dtype=np.dtype(np.float32) if self._is_scaled else dtype)

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        depth = self._stored.header.levels[level].chunk[0]
        for part in box.tiles((depth, *box.stop[1:])):
            numbers: Voxels = np.empty(part.shape, self._stored.header.dtype)
            self._stored.read(part, numbers, level=level, t=t, c=c)
            is_missing = [numbers == number for number in self._missing]
            # In float64: int32 numbers would lose digits before they are scaled.
            values = numbers.astype(np.float64) * self._slope + self._intercept if self._is_scaled else numbers
            for which in is_missing:
                values[which] = np.nan
            out[part.relative_to(box.start).slices] = values

    def close(self) -> None:
        self._stored.close()


MISSING = ("_FillValue", "missing_value")
"""Attributes of NetCDF that say which number stands for no value."""


def with_values(stored: Reader, slope: float, intercept: float, missing: Sequence[float]) -> Reader:
    """A variable of NetCDF as its values: scaled, and NaN where there is none. Whole numbers that are not scaled stay
    as they are: none of them stands for no value."""
    is_scaled = (slope, intercept) != (1.0, 0.0)
    known = [number for number in missing if np.isfinite(number)]
    if not is_scaled and (not known or stored.header.dtype.kind != "f"):
        return stored
    return ScaledReader(stored, slope, intercept, known)


def _as_stored(number: float, dtype: np.dtype[Any]) -> Any:
    """A number as it is stored; None where no voxel can have it."""
    if dtype.kind == "f":
        return dtype.type(number)
    # A signed number may stand for an unsigned one.
    return np.array(int(number)).astype(dtype)[()] if number == int(number) and abs(number) < 2**63 else None


class FlatWriter:
    """One array filled in place. Rows are the grain: files of this kind are written fastest in long runs."""

    is_shareable = True

    def __init__(self, array: FlatArray, head: bytes) -> None:
        self._array = array
        self._head = head
        self.grains: tuple[Shape, ...] = ((1, 1, array.shape[2]),)

    def write(self, box: Box, voxels: Voxels, *, level: int = 0) -> None:
        self._array.write(box, voxels)

    def read(self, box: Box, out: Voxels, *, level: int = 0) -> None:
        self._array.read(box, out)

    def finish(self) -> None:
        """Put the format's first bytes in, which were held back until now."""
        self._array.store_bytes(0, self._head[: len(UNFINISHED)])

    def close(self) -> None:
        self._array.close()


class CompressedWriter(FlatWriter):
    """A flat file beside the output, compressed into it as one stream when it is finished."""

    def __init__(self, array: FlatArray, head: bytes, output: Path, plain_head: bytes = b"") -> None:
        super().__init__(array, head)
        self._output = output
        self._plain_head = plain_head

    def finish(self) -> None:
        super().finish()
        partial = self._output.with_name(f"{self._output.name}.partial")
        with disk_full_errors(self._output):
            with partial.open("wb") as file, self._array.path.open("rb") as staged:
                file.write(self._plain_head)
                gzip_stream(staged, file)
            partial.replace(self._output)
        self._array.path.unlink(missing_ok=True)


class DetachedWriter(FlatWriter):
    """Voxels in a file of their own; the header beside it appears when the output is complete."""

    def __init__(self, array: FlatArray, header: Path, text: bytes) -> None:
        super().__init__(array, b"")
        self._header_path = header
        self._text = text

    def finish(self) -> None:
        partial = self._header_path.with_name(f"{self._header_path.name}.partial")
        with disk_full_errors(self._header_path):
            partial.write_bytes(self._text)
            partial.replace(self._header_path)


def staged_array(
    output: Path, head: bytes, shape: Shape, dtype: np.dtype[Any], *, resume: bool, plain_head: bytes = b""
) -> FlatArray:
    """The uncompressed voxels of a compressed output, which wait beside it."""
    staged = output.with_name(f"{output.name}.staged")
    if output.exists() and not resume:
        raise OutputExists(str(output))
    if output.exists() and not staged.exists():
        # It was finished, and then the work that asked for it was interrupted: nothing written may be lost.
        partial = staged.with_name(f"{staged.name}.partial")
        with disk_full_errors(staged), output.open("rb") as file, partial.open("wb") as copy:
            file.seek(len(plain_head))
            with gzip.GzipFile(fileobj=file) as stream:
                shutil.copyfileobj(stream, copy, _COPY_BYTES)
        partial.replace(staged)
    return open_array(staged, head, shape, dtype, resume=resume)


def open_array(path: Path, head: bytes, shape: Shape, dtype: np.dtype[Any], *, resume: bool) -> FlatArray:
    """The array of a new output, or of one begun before with the same header."""
    if resume and path.exists():
        _check_same(path, head, len(head) + prod(shape) * dtype.itemsize)
    else:
        allocate(path, UNFINISHED + head[len(UNFINISHED) :] if head else b"", shape, dtype)
    return FlatArray(path, shape, dtype, len(head), writable=True)


def _check_same(path: Path, head: bytes, size: int) -> None:
    with path.open("rb") as file:
        found = file.read(len(head))
    if path.stat().st_size != size or found[len(UNFINISHED) :] != head[len(UNFINISHED) :]:
        raise InvalidInput(
            f"{path} was started with another shape, type or spacing.",
            remedy="Run the same command as before, or delete it and start again.",
        )


def refuse_unfinished(path: Path, head: bytes) -> None:
    """Raise Incomplete where a writer of this module began the file and never completed it."""
    if head.startswith(UNFINISHED):
        raise Incomplete(str(path))


def one_level(shape: Shape, spacing: Spacing = (1.0, 1.0, 1.0)) -> tuple[Level, ...]:
    """The only level of a flat file; a plane is the piece that is read in one go."""
    return (Level(shape, (1, shape[1], shape[2]), spacing),)
