"""N5: axis order, the conventions for levels and spacing, and files of other programs."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorstore
import z5py

from pellucid.box import Box
from pellucid.errors import (
    Corrupted,
    DatasetAmbiguous,
    DatasetMissing,
    Incomplete,
    InvalidInput,
    NotFound,
    UnknownCodec,
    UnsupportedType,
    WrongDimensions,
)
from pellucid.formats import registry
from pellucid.formats.chunked import n5
from pellucid.formats.location import Location
from pellucid.formats.protocol import Level
from tests.formats.chunk_stores import HALF, SHAPE, layout, open_at, ramp, read, write

CODECS = ("none", "gzip", "zstd", "lz4", "blosc")


def put(path: Path, attributes: dict[str, Any]) -> None:
    path.mkdir(parents=True, exist_ok=True)
    (path / "attributes.json").write_text(json.dumps(attributes))


def put_dataset(path: Path, shape: tuple[int, ...] = SHAPE, **attributes: Any) -> None:
    """A dataset without blocks."""
    form = {"dimensions": shape[::-1], "blockSize": [8] * len(shape), "dataType": "uint8"}
    put(path, {**form, "compression": {"type": "raw"}, **attributes})


@pytest.mark.parametrize("codec", CODECS)
def test_z5py_and_tensorstore_read_what_we_write(codec: str, tmp_path: Path) -> None:
    voxels = write(tmp_path / "scan.n5", layout(codec))
    file = z5py.File(str(tmp_path / "scan.n5"), mode="r")
    np.testing.assert_array_equal(file["s0"][:], voxels)
    np.testing.assert_array_equal(file["s1"][:], voxels[::2, ::2, ::2])
    store = tensorstore.open({"driver": "n5", "kvstore": f"file://{tmp_path}/scan.n5/s0/"}).result()
    np.testing.assert_array_equal(store.T.read().result(), voxels)


@pytest.mark.parametrize("codec", ["raw", "gzip", "zstd", "blosc", "bzip2", "xz"])
def test_reads_what_z5py_writes(codec: str, tmp_path: Path) -> None:
    file = z5py.File(str(tmp_path / "a.n5"), mode="w")
    file.create_dataset("volume", data=ramp(), chunks=(8, 16, 16), compression=codec)
    reader = open_at(tmp_path / "a.n5")
    assert reader.header.levels == (Level(SHAPE, (8, 16, 16)),)
    np.testing.assert_array_equal(read(reader), ramp())


@pytest.mark.parametrize("codec", [{"type": "gzip", "useZlib": True}, {"type": "gzip", "level": -1}, {"type": "raw"}])
def test_reads_what_tensorstore_writes(codec: dict[str, Any], tmp_path: Path) -> None:
    metadata = {"dimensions": SHAPE[::-1], "blockSize": [16, 16, 8], "dataType": "int32", "compression": codec}
    spec = {"driver": "n5", "kvstore": f"file://{tmp_path}/a.n5/", "metadata": metadata}
    tensorstore.open(spec, create=True).result().T.write(ramp(dtype="int32")).result()
    np.testing.assert_array_equal(read(open_at(tmp_path / "a.n5")), ramp(dtype="int32"))


def test_x_is_the_first_axis_of_the_metadata(tmp_path: Path) -> None:
    write(tmp_path / "scan.n5", layout())
    document = json.loads((tmp_path / "scan.n5/s0/attributes.json").read_text())
    assert document["dimensions"] == [26, 30, 20]
    assert document["blockSize"] == [16, 16, 8]
    assert (tmp_path / "scan.n5/s0/1/0/2").is_file()
    assert not (tmp_path / "scan.n5/s0/2").exists()


def test_blocks_at_the_border_are_cut(tmp_path: Path) -> None:
    write(tmp_path / "scan.n5", layout("none"))
    block = (tmp_path / "scan.n5/s0/1/1/2").read_bytes()
    assert block[:16] == bytes.fromhex("0000 0003 0000000a 0000000e 00000004")
    assert len(block) == 16 + 10 * 14 * 4 * 2
    assert block[16:18] == int(ramp()[16, 16, 16]).to_bytes(2, "big")


def test_metadata_that_n5_viewer_reads(tmp_path: Path) -> None:
    write(tmp_path / "scan.n5", layout())
    group = json.loads((tmp_path / "scan.n5/attributes.json").read_text())
    resolution = {"dimensions": [0.5, 1.0, 2.0], "unit": "um"}
    assert group == {
        "n5": "2.5.1",
        "multiScale": True,
        "scales": [[1, 1, 1], [2, 2, 2]],
        "resolution": [0.5, 1.0, 2.0],
        "units": ["um", "um", "um"],
        "pixelResolution": resolution,
    }
    level = json.loads((tmp_path / "scan.n5/s1/attributes.json").read_text())
    assert level["downsamplingFactors"] == [2, 2, 2]
    assert level["pixelResolution"] == resolution
    header = open_at(tmp_path / "scan.n5").header
    assert header.levels == (
        Level(SHAPE, (8, 16, 16), (2.0, 1.0, 0.5)),
        Level(HALF, (8, 15, 13), (4.0, 2.0, 1.0)),
    )
    assert (header.unit, header.codec) == ("um", "blosc")


VIEWER = {"pixelResolution": {"dimensions": [0.5, 1.0, 2.0], "unit": "um"}}
COSEM = [
    {"transform": {"axes": ["z", "y", "x"], "scale": [2.0, 1.0, 0.5], "units": ["um"] * 3}},
    {"transform": {"axes": ["z", "y", "x"], "scale": [4.0, 2.0, 1.0], "units": ["um"] * 3}},
]


@pytest.mark.parametrize(
    ("group", "levels"),
    [
        ({}, [VIEWER, {**VIEWER, "downsamplingFactors": [2, 2, 2]}]),
        ({"scales": [[1, 1, 1], [2, 2, 2]], **VIEWER}, [{}, {}]),
        ({"downsamplingFactors": [[1, 1, 1], [2, 2, 2]], "pixelResolution": [0.5, 1, 2], "units": "um"}, [{}, {}]),
        ({"resolution": [0.5, 1.0, 2.0], "units": ["um", "um", "um"], "multiScale": True}, [{}, {}]),
        ({}, [VIEWER, {"pixelResolution": {"dimensions": [1.0, 2.0, 4.0], "unit": "um"}}]),
        ({}, COSEM),
    ],
    ids=["n5-viewer", "old n5-viewer", "bdv", "paintera", "own resolution", "cosem"],
)
def test_conventions_for_spacing(group: dict[str, Any], levels: list[dict[str, Any]], tmp_path: Path) -> None:
    put(tmp_path / "a.n5", {"n5": "2.5.1"})
    put(tmp_path / "a.n5/volume", group)
    for level, attributes in enumerate(levels):
        put_dataset(tmp_path / f"a.n5/volume/s{level}", (SHAPE, HALF)[level], **attributes)
    header = open_at(f"{tmp_path}/a.n5:/volume").header
    assert [level.spacing for level in header.levels] == [(2.0, 1.0, 0.5), (4.0, 2.0, 1.0)]
    assert header.unit == "um"


def test_groups_without_attributes(tmp_path: Path) -> None:
    put(tmp_path / "a.n5", {"n5": "2.5.1"})
    put_dataset(tmp_path / "a.n5/x/y/s0")
    put_dataset(tmp_path / "a.n5/x/y/s1", HALF)
    for where in ("a.n5", "a.n5:/x", "a.n5:/x/y", "a.n5/x/y", "a.n5/x"):
        assert [level.shape for level in open_at(f"{tmp_path}/{where}").header.levels] == [SHAPE, HALF]
    assert len(open_at(tmp_path / "a.n5/x/y/s1").header.levels) == 1


def test_several_volumes_are_listed(tmp_path: Path) -> None:
    put(tmp_path / "a.n5", {"n5": "2.5.1"})
    put_dataset(tmp_path / "a.n5/raw/s0")
    put_dataset(tmp_path / "a.n5/labels")
    with pytest.raises(DatasetAmbiguous, match=r"contains 2 volumes.*Datasets: /labels, /raw\."):
        open_at(tmp_path / "a.n5")
    with pytest.raises(DatasetMissing, match=r"no dataset '/mask'.*Datasets: /labels, /raw\."):
        open_at(f"{tmp_path}/a.n5:/mask")


def test_channels_and_times_are_the_last_axes(tmp_path: Path) -> None:
    voxels = ramp((2, 3, 4, 5, 6))
    file = z5py.File(str(tmp_path / "a.n5"), mode="w")
    file.create_dataset("v", data=voxels, chunks=(1, 2, 2, 2, 2), compression="gzip")
    reader = open_at(tmp_path / "a.n5")
    assert (reader.header.times, reader.header.channels) == (2, 3)
    np.testing.assert_array_equal(read(reader, t=1, c=2), voxels[1, 2])


def test_what_is_no_volume_is_refused(tmp_path: Path) -> None:
    put_dataset(tmp_path / "a.n5", (4, 5))
    with pytest.raises(WrongDimensions, match=r"shape \(4, 5\)"):
        open_at(tmp_path / "a.n5")


def test_unfinished_output_is_no_volume(tmp_path: Path) -> None:
    write(tmp_path / "scan.n5", layout(), is_finished=False)
    with pytest.raises(Incomplete, match="is incomplete"):
        open_at(tmp_path / "scan.n5")
    write(f"{tmp_path}/other.n5:/a", layout())
    write(f"{tmp_path}/other.n5:/b", layout(), is_finished=False)
    with pytest.raises(Incomplete, match="is incomplete"):
        open_at(f"{tmp_path}/other.n5:/b")


def test_a_dataset_is_written_into_a_container(tmp_path: Path) -> None:
    voxels = write(f"{tmp_path}/scan.n5:/a/b", layout())
    assert json.loads((tmp_path / "scan.n5/attributes.json").read_text()) == {"n5": "2.5.1"}
    np.testing.assert_array_equal(read(open_at(tmp_path / "scan.n5")), voxels)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="does not exist"):
        n5.open_reader(Location.parse(tmp_path / "none.n5"))


def test_a_fresh_writer_removes_remains(tmp_path: Path) -> None:
    write(tmp_path / "scan.n5", layout())
    writer = registry.open_writer(Location.parse(tmp_path / "scan.n5"), layout("gzip"))
    out = np.ones(SHAPE, np.uint16)
    writer.read(Box.whole(SHAPE), out)
    assert not out.any()


def test_resume_with_another_layout_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "scan.n5", layout("gzip"))
    with pytest.raises(InvalidInput, match="started with another shape"):
        registry.open_writer(Location.parse(tmp_path / "scan.n5"), layout("zstd"), resume=True)


def test_a_part_of_a_block_can_be_replaced(tmp_path: Path) -> None:
    voxels = write(tmp_path / "scan.n5", layout("gzip")).copy()
    writer = registry.open_writer(Location.parse(tmp_path / "scan.n5"), layout("gzip"), resume=True)
    writer.write(Box((17, 14, 9), (20, 18, 26)), np.full((3, 4, 17), 999, np.uint16))
    voxels[17:20, 14:18, 9:26] = 999
    np.testing.assert_array_equal(read(open_at(tmp_path / "scan.n5")), voxels)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("left", [-5, 3])
def test_a_block_cut_short_is_damaged(codec: str, left: int, tmp_path: Path) -> None:
    write(tmp_path / "scan.n5", layout(codec))
    block = tmp_path / "scan.n5/s0/0/0/0"
    os.truncate(block, block.stat().st_size + left if left < 0 else left)
    with pytest.raises(Corrupted, match=r"s0/0/0/0 is corrupted: .*Copy it again"):
        read(open_at(tmp_path / "scan.n5"))


def test_a_block_header_that_lies_is_damaged(tmp_path: Path) -> None:
    write(tmp_path / "scan.n5", layout("none"))
    block = tmp_path / "scan.n5/s0/0/0/0"
    block.write_bytes(b"\0\0\0\3" + b"\0\0\1\0" * 3)
    with pytest.raises(Corrupted, match=r"states \(256, 256, 256\) voxels, but the maximum is \(8, 16, 16\)"):
        read(open_at(tmp_path / "scan.n5"))


@pytest.mark.parametrize(("text", "why"), [("{broken", "it is not JSON"), ('{"dimensions": [3,3,3]}', "is missing")])
def test_broken_metadata_is_damaged(text: str, why: str, tmp_path: Path) -> None:
    write(tmp_path / "scan.n5", layout())
    (tmp_path / "scan.n5/s0/attributes.json").write_text(text)
    with pytest.raises(Corrupted, match=why):
        open_at(tmp_path / "scan.n5")


def test_unknown_codec_and_type_are_named(tmp_path: Path) -> None:
    put_dataset(tmp_path / "a.n5", compression={"type": "shrink"})
    with pytest.raises(UnknownCodec, match=r"uses the codec 'shrink'.*Use one of: .*gzip"):
        open_at(tmp_path / "a.n5")
    with pytest.raises(UnsupportedType, match="N5 does not support voxels of type float16"):
        write(tmp_path / "b.n5", layout(dtype="float16"))
    assert not (tmp_path / "b.n5").exists()
