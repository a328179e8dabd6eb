"""TIFF: one file of many pages, or a folder of slices.

Here: stacks in one file (plain, BigTIFF, ImageJ hyperstack, OME with levels): reading all, writing uncompressed.
Not here: folders (folder), pieces of pages (pages), descriptions and heads (header).
"""

import logging
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.box import Box, Shape
from pellucid.errors import DatasetAmbiguous, DatasetMissing, InvalidInput, WrongDimensions
from pellucid.formats.axis_guess import unnamed_letters
from pellucid.formats.byte_sources import FileBytes, local_path, read_head
from pellucid.formats.flat.placement import place
from pellucid.formats.flat.reader_writer import (
    FlatReader,
    FlatWriter,
    one_level,
    open_array,
    refuse_unfinished,
)
from pellucid.formats.limits import FormatLimits
from pellucid.formats.location import Location
from pellucid.formats.protocol import Header, Layout, Level, Reader, Spacing, Voxels, Writer, check_selection
from pellucid.formats.tiff.folder import open_folder_reader, open_folder_writer
from pellucid.formats.tiff.header import check_ome, members, print_head, read_voxel_info, require_members
from pellucid.formats.tiff.pages import Plane, check_chain, geometry_of, opened, plane_of, read_window

_log = logging.getLogger(__name__)

LIMITS = FormatLimits("A TIFF stack")
_SUFFIXES = (".tif", ".tiff")


def open_reader(location: Location) -> Reader:
    path = local_path(location)
    if path.is_dir():
        only = open_folder_reader(location)
        return only if not isinstance(only, Path) else _open_stack(only, location)
    return _open_stack(path, location)


def open_writer(location: Location, layout: Layout, *, resume: bool = False) -> Writer:
    path = local_path(location)
    if location.path.endswith("/") or not path.name.lower().endswith(_SUFFIXES):
        return open_folder_writer(location, layout, resume=resume)
    if layout.codec not in (None, "none"):
        raise InvalidInput(
            f"{path} is one TIFF file, which does not support compression.",
            remedy=f"Write a folder of slices ({path.with_suffix('')}/), or leave out the codec.",
        )
    level = LIMITS.check(location, layout)
    head = print_head(level, layout)
    array = open_array(path, head, level.shape, layout.dtype.newbyteorder("<"), resume=resume)
    return FlatWriter(array, head)


def _open_stack(path: Path, location: Location) -> Reader:
    refuse_unfinished(path, read_head(path, 16))
    check_chain(path)
    with opened(path) as tif:
        check_ome(path, tif)
        series = _choose(location, list(tif.series))
        _warn_of_absent_pages(path, tif, series)
        text = read_voxel_info(tif)
        geometry = geometry_of(path, series.keyframe)
        axes, sizes = _axes(path, series)
        if series.dataoffset is not None and len(series.levels) == 1:
            home = series.pages[0].parent  # OME's planes may all be in another file.
            dtype = np.dtype(series.dtype).newbyteorder(home.byteorder)
            placement, times, channels = place(axes, sizes, dtype, series.dataoffset)
            levels = one_level(placement.shape, text.spacing)
            header = Header(levels, geometry.dtype, text.unit, times, channels)
            return FlatReader(header, placement, FileBytes(Path(home.filehandle.path)))
        stacks = tuple(_stack(path, one) for one in series.levels)
    return StackReader(path, stacks, text.spacing, text.unit)


def _warn_of_absent_pages(path: Path, tif: Any, series: Any) -> None:
    """Pages that the metadata promises: in a file that is missing or broken, an error; never written, zeros."""
    absent = sum(page is None for level in series.levels for page in level.pages)
    if not absent:
        return
    require_members(path, tif)
    for name in members(tif):
        with opened(path.parent / name) as member:
            check_chain(path.parent / name)
            len(member.pages)
    _log.warning("%s: %d planes are missing and are read as zeros.", path, absent)


def _choose(location: Location, series: list[Any]) -> Any:
    """The only image series of a file, or the one asked for by number (``file.tif:/1``)."""
    choices = [f"/{index}" for index in range(len(series))]
    if location.dataset and location.dataset not in choices:
        raise DatasetMissing(location.path, location.dataset, choices)
    if location.dataset:
        return series[int(location.dataset[1:])]
    if len(series) != 1:
        raise DatasetAmbiguous(location.path, choices)
    return series[0]


def _axes(path: Path, series: Any) -> tuple[str, tuple[int, ...]]:
    """Letters of "tczyx" for the axes of a series, and their lengths.

    Samples are channels; axes without a meaning are z, time and z, or time, channel and z, as in every other format;
    outside of a page, axes of one are left out.
    """
    page = series.keyframe
    outer = len(series.shape) - len(page.shape)
    kept = [(axis, n) for axis, n in zip(series.axes[:outer], series.shape[:outer], strict=True) if n > 1]
    named = [*kept, *zip(page.axes, page.shape, strict=True)]
    letters = ["c" if axis == "S" else axis.lower() for axis, _ in named]
    unknown = [index for index, letter in enumerate(letters) if letter not in "tczyx"]
    if "z" not in letters and 1 <= len(unknown) <= 3:
        guess = unnamed_letters(str(path), [*(named[index][1] for index in unknown), *page.shape[:2]])[:-2]
        for index, letter in zip(unknown, guess, strict=True):
            letters[index] = letter
    if len(set(letters)) != len(letters) or not set("yx") <= set(letters) <= set("tczyx"):
        raise WrongDimensions(str(path), series.shape)
    return "".join(letters), tuple(n for _, n in named)


@dataclass(frozen=True)
class Stack:
    """The planes of one level by (t, c, z); c is always 0 where the samples of a plane are the channels."""

    planes: dict[tuple[int, int, int], Plane]
    shape: Shape
    times: int
    channels: int


def _stack(path: Path, series: Any) -> Stack:
    outer = [(letter, n) for letter, n in zip(*_axes(path, series), strict=True) if letter not in "yx"]
    geometry = geometry_of(path, series.keyframe)
    if geometry.samples > 1:
        outer = [(letter, n) for letter, n in outer if letter != "c"]
    lengths = dict(outer)
    indices = product(*(range(n) for _, n in outer))
    if prod(lengths.values()) != len(series.pages):
        raise WrongDimensions(str(path), series.shape)
    planes = {}
    for index, page in zip(indices, series.pages, strict=True):
        at = dict(zip(lengths, index, strict=True))
        if page is not None:  # a page that OME promises and no file has
            home = Path(page.parent.filehandle.path)
            plane = plane_of(home, page, geometry)
            plane.require(home.stat().st_size)
            planes[(at.get("t", 0), at.get("c", 0), at.get("z", 0))] = plane
    channels = geometry.samples if geometry.samples > 1 else lengths.get("c", 1)
    return Stack(planes, (lengths.get("z", 1), *geometry.shape), lengths.get("t", 1), channels)


class StackReader:
    """Pages that are compressed, tiled, scattered or spread over several files."""

    def __init__(self, path: Path, stacks: tuple[Stack, ...], spacing: Spacing, unit: str) -> None:
        self._path = path
        self._stacks = stacks
        first = next(iter(stacks[0].planes.values())).geometry
        self._has_samples = first.samples > 1
        levels = tuple(_level(stack, stacks[0].shape, spacing) for stack in stacks)
        self.header = Header(levels, first.dtype, unit, stacks[0].times, stacks[0].channels, first.codec)
        paths = {plane.path for stack in stacks for plane in stack.planes.values()}
        self._files = {path: FileBytes(path) for path in paths}

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        check_selection(str(self._path), self.header, level=level, t=t, c=c)
        (z0, y0, x0), (z1, y1, x1) = box.start, box.stop
        for z in range(z0, z1):
            plane = self._stacks[level].planes.get((t, 0 if self._has_samples else c, z))
            if plane is None:
                out[z - z0] = 0
            else:
                read_window(
                    self._files[plane.path], plane, (y0, y1), (x0, x1), c if self._has_samples else 0, out[z - z0]
                )

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def _level(stack: Stack, full: Shape, spacing: Spacing) -> Level:
    geometry = next(iter(stack.planes.values())).geometry
    rows, columns = (min(a, b) for a, b in zip(geometry.piece, geometry.shape, strict=True))
    z, y, x = (step * a / b for step, a, b in zip(spacing, full, stack.shape, strict=True))
    return Level(stack.shape, (1, rows, columns), (z, y, x))
