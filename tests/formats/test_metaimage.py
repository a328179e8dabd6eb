"""MetaImage: headers as other programs write them."""

import zlib
from pathlib import Path

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.errors import Corrupted, InvalidInput, NotFound, Truncated, UnsupportedType, WrongDimensions
from pellucid.formats.flat.metaimage import open_reader
from pellucid.formats.location import Location
from tests.contracts.formats import Case, numbers, read, read_all, same_bits, write

SHAPE = (3, 5, 7)
VOXELS = numbers(SHAPE, "int16")
HEAD = """ObjectType = Image
NDims = 3
BinaryData = True
BinaryDataByteOrderMSB = False
CompressedData = False
TransformMatrix = 1 0 0 0 1 0 0 0 1
Offset = 0 0 0
ElementSpacing = 0.5 1.5 2.5
DimSize = 7 5 3
ElementType = MET_SHORT
"""


def save(folder: Path, content: bytes, head: str = HEAD, name: str = "a.mha", voxels: str = "LOCAL") -> Location:
    (folder / name).write_bytes(f"{head}ElementDataFile = {voxels}\n".encode() + content)
    return Location(str(folder / name))


def test_one_file(tmp_path: Path) -> None:
    reader = open_reader(save(tmp_path, VOXELS.tobytes()))
    assert same_bits(read(reader), VOXELS)
    assert reader.header.levels[0].spacing == (2.5, 1.5, 0.5)
    reader.close()


@pytest.mark.parametrize("word", ["BinaryDataByteOrderMSB", "ElementByteOrderMSB"])
def test_big_endian(word: str, tmp_path: Path) -> None:
    head = HEAD.replace("BinaryDataByteOrderMSB = False", f"{word} = True")
    assert same_bits(read_all(save(tmp_path, VOXELS.astype(">i2").tobytes(), head)), VOXELS)


@pytest.mark.parametrize("is_beside", [False, True])
def test_compressed(is_beside: bool, tmp_path: Path) -> None:
    head = HEAD.replace("CompressedData = False", "CompressedData = True")
    stream = zlib.compress(VOXELS.tobytes())
    if is_beside:
        (tmp_path / "a.zraw").write_bytes(stream)
        location = save(tmp_path, b"", head, "a.mhd", "a.zraw")
    else:
        location = save(tmp_path, stream, head)
    assert open_reader(location).header.codec == "zlib"
    assert same_bits(read_all(location), VOXELS)


def test_text(tmp_path: Path) -> None:
    text = " ".join(str(number) for number in VOXELS.ravel()).encode()
    assert same_bits(read_all(save(tmp_path, text, HEAD.replace("BinaryData = True", "BinaryData = False"))), VOXELS)


@pytest.mark.parametrize("header_size", [8, -1])
def test_head_of_the_raw_file_is_skipped(header_size: int, tmp_path: Path) -> None:
    (tmp_path / "a.raw").write_bytes(b"8 bytes." + VOXELS.tobytes())
    location = save(tmp_path, b"", f"{HEAD}HeaderSize = {header_size}\n", "a.mhd", "a.raw")
    assert same_bits(read_all(location), VOXELS)


@pytest.mark.parametrize("voxels", ["LIST", "plane%02d.raw 0 2 1"])
def test_one_file_for_each_plane(voxels: str, tmp_path: Path) -> None:
    names = [f"plane{plane:02}.raw" for plane in range(3)]
    for plane, name in enumerate(names):
        (tmp_path / name).write_bytes(VOXELS[plane].tobytes())
    content = "\n".join(names).encode() if voxels == "LIST" else b""
    assert same_bits(read_all(save(tmp_path, content, name="a.mhd", voxels=voxels)), VOXELS)
    with pytest.raises(InvalidInput, match="lists 4 voxel files"):
        open_reader(save(tmp_path, b"a b c d", name="a.mhd", voxels="LIST"))


def test_channels_alternate(tmp_path: Path) -> None:
    colours = np.stack([VOXELS, VOXELS + 1], axis=-1)
    reader = open_reader(save(tmp_path, colours.tobytes(), f"{HEAD}ElementNumberOfChannels = 2\n"))
    out = np.empty((2, 3, 4), np.int16)
    reader.read(Box((1, 1, 1), (3, 4, 5)), out, c=1)
    assert reader.header.channels == 2
    np.testing.assert_array_equal(out, VOXELS[1:3, 1:4, 1:5] + 1)
    reader.close()


def test_fourth_axis_is_time(tmp_path: Path) -> None:
    series = np.stack([VOXELS, VOXELS + 1])
    reader = open_reader(save(tmp_path, series.tobytes(), HEAD.replace("7 5 3", "7 5 3 2")))
    out = np.empty(SHAPE, np.int16)
    reader.read(Box.whole(SHAPE), out, t=1)
    assert reader.header.times == 2
    np.testing.assert_array_equal(out, VOXELS + 1)
    reader.close()


def test_written_header_names_its_voxels(tmp_path: Path) -> None:
    location = write(Case("a.mhd"), tmp_path, VOXELS, unit="mm")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mhd", "a.mhd.raw"]
    assert (tmp_path / "a.mhd.raw").read_bytes() == VOXELS.tobytes()
    fields = dict(line.split(" = ") for line in location.local.read_text().splitlines())
    assert fields["DimSize"] == "7 5 3"
    assert fields["ElementSpacing"] == "0.1 0.3 2.5"
    assert fields["ElementType"] == "MET_SHORT"
    assert list(fields)[-1] == "ElementDataFile", "other programs stop reading there"
    assert fields["ElementDataFile"] == "a.mhd.raw"


@pytest.mark.parametrize(
    ("old", "new", "error", "text"),
    [
        ("DimSize = 7 5 3", "DimSize = 7 5 4", Truncated, "is truncated"),
        ("DimSize = 7 5 3", "DimSize = 7 15", WrongDimensions, r"shape \(15, 7\)"),
        ("DimSize = 7 5 3", "DimSize = many", Corrupted, "line DimSize has no numbers"),
        ("MET_SHORT", "MET_STRING", UnsupportedType, "MET_STRING"),
        ("ElementDataFile", "ElementFile", Corrupted, "no ElementDataFile line"),
        ("LOCAL", "gone.raw", NotFound, r"gone\.raw"),
    ],
)
def test_each_fault_has_its_error(old: str, new: str, error: type[Exception], text: str, tmp_path: Path) -> None:
    location = save(tmp_path, VOXELS.tobytes())
    location.local.write_bytes(location.local.read_bytes().replace(old.encode(), new.encode()))
    with pytest.raises(error, match=text):
        open_reader(location)
