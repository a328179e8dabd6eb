"""NRRD, against pynrrd."""

from pathlib import Path
from typing import Any

import nrrd
import numpy as np
import pytest

from pellucid.box import Box
from pellucid.errors import Corrupted, InvalidInput, NotFound, Truncated, UnknownCodec, UnsupportedType, WrongDimensions
from pellucid.formats.flat.nrrd import open_reader
from pellucid.formats.location import Location
from tests.contracts.formats import SPACING, Case, numbers, read, read_all, same_bits, write
from tests.shared_data import shared

SHAPE = (3, 5, 7)


@pytest.mark.parametrize("case", [Case("a.nrrd"), Case("a.nrrd", codec="gzip"), Case("a.nhdr")], ids=str)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint64", "float32", "float64"])
def test_pynrrd_reads_what_is_written(case: Case, dtype: str, tmp_path: Path) -> None:
    voxels = numbers(SHAPE, dtype)
    found, header = nrrd.read(write(case, tmp_path, voxels).path, index_order="C")
    assert same_bits(np.ascontiguousarray(found), voxels)
    assert tuple(header["spacings"]) == SPACING[::-1]
    assert header["units"] == ["um"] * 3


@pytest.mark.parametrize("encoding", ["raw", "gzip", "bzip2", "ascii"])
@pytest.mark.parametrize("name", ["a.nrrd", "a.nhdr"])
@pytest.mark.parametrize("dtype", ["<i2", ">i2", "<f8"])
def test_what_pynrrd_writes_is_read(encoding: str, name: str, dtype: str, tmp_path: Path) -> None:
    voxels = np.round(np.random.default_rng(0).normal(0, 1000, SHAPE)).astype(dtype)
    header = {"encoding": encoding, "spacings": [0.1, 0.2, 0.3], "units": ["mm", "mm", "mm"]}
    nrrd.write(str(tmp_path / name), voxels, header, index_order="C")
    reader = open_reader(Location(str(tmp_path / name)))
    assert same_bits(read(reader), voxels.astype(voxels.dtype.newbyteorder("=")))
    assert reader.header.levels[0].spacing == (0.3, 0.2, 0.1)
    assert reader.header.unit == "mm"
    reader.close()


def test_directions_give_the_spacing(tmp_path: Path) -> None:
    header = {"space": "left-posterior-superior", "space directions": [[0, 3, 4], [-2, 0, 0], [0, 0, 0.5]],
              "space units": ["microns"] * 3}  # fmt: skip
    nrrd.write(str(tmp_path / "a.nrrd"), numbers(SHAPE, "uint8"), header, index_order="C")
    read_header = open_reader(Location(str(tmp_path / "a.nrrd"))).header
    assert read_header.levels[0].spacing == (0.5, 2.0, 5.0)
    assert read_header.unit == "um"


@pytest.mark.parametrize(
    ("fields", "axis", "times", "channels"),
    [
        ({}, 0, 4, 1),
        ({"kinds": ["domain"] * 4}, 0, 4, 1),
        ({"kinds": ["RGBA-color", "???", "???", "???"]}, 3, 1, 4),
        ({"kinds": ["???", "domain", "domain", "domain"]}, 3, 4, 1),
        ({"kinds": ["domain", "domain", "domain", "vector"]}, 0, 1, 4),
        ({"kinds": ["vector", "domain", "domain", "domain"]}, 3, 1, 4),
        ({"kinds": ["domain", "domain", "domain", "time"]}, 0, 4, 1),
        ({"kinds": ["space", "space", "space", "list"], "labels": ["x", "y", "z", "t"]}, 0, 4, 1),
    ],
)
def test_fourth_axis(fields: dict[str, Any], axis: int, times: int, channels: int, tmp_path: Path) -> None:
    voxels = numbers((4, *SHAPE), "int16")  # type: ignore[arg-type]
    stored = np.ascontiguousarray(np.moveaxis(voxels, 0, axis))
    nrrd.write(str(tmp_path / "a.nrrd"), stored, fields, index_order="C")
    reader = open_reader(Location(str(tmp_path / "a.nrrd")))
    assert (reader.header.times, reader.header.channels) == (times, channels)
    out = np.empty(SHAPE, np.int16)
    reader.read(Box.whole(SHAPE), out, t=min(2, times - 1), c=min(2, channels - 1))
    assert same_bits(out, voxels[2])
    reader.close()


def detached(tmp_path: Path, lines: str, planes: int = 3) -> tuple[Location, Any]:
    voxels = numbers(SHAPE, "int16")
    for plane in range(planes):
        (tmp_path / f"plane{plane:02}.raw").write_bytes(b"skip" + voxels[plane].astype(">i2").tobytes())
    head = "NRRD0004\ntype: short\ndimension: 3\nsizes: 7 5 3\nendian: big\nencoding: raw\nbyte skip: 4\n"
    (tmp_path / "a.nhdr").write_text(head + lines)
    return Location(str(tmp_path / "a.nhdr")), voxels


@pytest.mark.parametrize(
    "lines", ["data file: LIST 2\nplane00.raw\nplane01.raw\nplane02.raw\n", "data file: plane%02d.raw 0 2 1 2\n"]
)
def test_one_file_for_each_plane(lines: str, tmp_path: Path) -> None:
    location, voxels = detached(tmp_path, lines)
    assert same_bits(read_all(location), voxels)


def test_missing_plane_is_named(tmp_path: Path) -> None:
    location, _ = detached(tmp_path, "data file: plane%02d.raw 0 2 1 2\n", planes=2)
    with pytest.raises(NotFound, match=r"plane02\.raw"):
        open_reader(location)


def test_list_that_does_not_divide_is_refused(tmp_path: Path) -> None:
    location, _ = detached(tmp_path, "data file: LIST\n" + "plane00.raw\n" * 4)
    with pytest.raises(InvalidInput, match="lists 4 files"):
        open_reader(location)


@pytest.mark.parametrize(("byte_skip", "line_skip"), [(3, 0), (-1, 0), (0, 2), (2, 1)])
def test_skipped_bytes_and_lines(byte_skip: int, line_skip: int, tmp_path: Path) -> None:
    voxels = numbers(SHAPE, "uint8")
    lead = b"" if byte_skip < 0 else b"a line\n" * line_skip + b"z" * byte_skip
    (tmp_path / "a.img").write_bytes((b"anything" if byte_skip < 0 else lead) + voxels.tobytes())
    (tmp_path / "a.nhdr").write_text(
        f"NRRD0001\ntype: uchar\ndimension: 3\nsizes: 7 5 3\nencoding: raw\n"
        f"byte skip: {byte_skip}\nline skip: {line_skip}\ndata file: a.img\n"
    )
    assert same_bits(read_all(Location(str(tmp_path / "a.nhdr"))), voxels)


@pytest.mark.parametrize(
    ("old", "new", "error", "text"),
    [
        ("encoding: raw", "encoding: hex", UnknownCodec, "uses the codec 'hex'.*Use one of: .*gzip"),
        ("type: uint8", "type: block", UnsupportedType, "does not support voxels of type block"),
        ("sizes: 7 5 3", "sizes: 105", WrongDimensions, r"shape \(105,\)"),
        ("sizes: 7 5 3", "sizes: 7 5 4", Truncated, "is truncated"),
        ("sizes: 7 5 3", "sizes: 7 x 3", Corrupted, "lacks the type or the sizes"),
        ("NRRD", "NERD", Corrupted, "does not begin with NRRD"),
    ],
)
def test_each_fault_has_its_error(old: str, new: str, error: type[Exception], text: str, tmp_path: Path) -> None:
    location = write(Case("a.nrrd"), tmp_path, numbers(SHAPE, "uint8"))
    location.local.write_bytes(location.local.read_bytes().replace(old.encode(), new.encode()))
    with pytest.raises(error, match=text):
        open_reader(location)


def test_real_scan() -> None:
    location = Location(str(shared("volumes/bonsai.nrrd")))
    reader = open_reader(location)
    assert (reader.header.levels[0].shape, reader.header.dtype.name) == ((256, 256, 256), "uint8")
    expected, _ = nrrd.read(location.path, index_order="C")
    box = Box((100, 20, 30), (140, 200, 220))
    assert same_bits(read(reader, box), np.ascontiguousarray(expected[box.slices]))
    reader.close()
