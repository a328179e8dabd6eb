"""Zarr v2 and v3: what only this format does."""

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorstore
import zarr

from pellucid.box import Box
from pellucid.errors import (
    Corrupted,
    DatasetAmbiguous,
    DatasetMissing,
    DiskFull,
    Incomplete,
    InvalidInput,
    NotFound,
    NotWritable,
    SelectionInvalid,
    UnknownCodec,
    UnsupportedType,
    WrongDimensions,
)
from pellucid.formats import registry
from pellucid.formats.chunked import zarr as zarr_format
from pellucid.formats.chunked.levels import level_shard
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level
from tests.formats.chunk_stores import HALF, SHAPE, layout, open_at, ramp, read, write

NAMES = ("scan.zarr", "scan.zarr2")
CODECS = ("none", "gzip", "zstd", "lz4", "blosc")


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("name", NAMES)
def test_zarr_python_and_tensorstore_read_what_we_write(name: str, codec: str, tmp_path: Path) -> None:
    voxels = write(tmp_path / name, layout(codec))
    group = zarr.open_group(tmp_path / name, mode="r")
    np.testing.assert_array_equal(group["0"][:], voxels)
    np.testing.assert_array_equal(group["1"][:], voxels[::2, ::2, ::2])
    driver = "zarr3" if name == "scan.zarr" else "zarr"
    store = tensorstore.open({"driver": driver, "kvstore": f"file://{tmp_path}/{name}/0/"}).result()
    np.testing.assert_array_equal(store.read().result(), voxels)


@pytest.mark.parametrize("compressor", ["gzip", "zstd", "blosc", None])
@pytest.mark.parametrize("shards", [None, (16, 32, 32)])
def test_reads_v3_of_zarr_python(compressor: str | None, shards: tuple[int, ...] | None, tmp_path: Path) -> None:
    codecs = {"gzip": zarr.codecs.GzipCodec(), "zstd": zarr.codecs.ZstdCodec(), "blosc": zarr.codecs.BloscCodec()}
    chosen: Any = codecs[compressor] if compressor else None
    array = zarr.create_array(
        tmp_path / "a.zarr", shape=SHAPE, chunks=(8, 16, 16), shards=shards, dtype="uint16", compressors=chosen
    )
    array[:] = ramp()
    reader = open_at(tmp_path / "a.zarr")
    assert reader.header.levels == (Level(SHAPE, (8, 16, 16)),)
    assert reader.header.codec == (compressor or "none")
    np.testing.assert_array_equal(read(reader), ramp())


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("compressor", [None, "gzip", "zlib", "zstd", "blosc", "lz4", "bz2"])
def test_reads_v2_of_zarr_python(compressor: str | None, order: str, tmp_path: Path) -> None:
    codec = import_module("numcodecs").get_codec({"id": compressor}) if compressor else None
    path = tmp_path / "a.zarr"
    array = zarr.create_array(
        path, shape=SHAPE, chunks=(8, 16, 16), dtype=f"{order}i4", zarr_format=2, compressors=codec
    )
    array[:] = ramp(dtype="int32")
    reader = open_at(path)
    assert reader.header.dtype == np.dtype("int32")
    np.testing.assert_array_equal(read(reader), ramp(dtype="int32"))


def test_fortran_order_and_a_transposing_codec_go_through_tensorstore(tmp_path: Path) -> None:
    old = zarr.create_array(
        tmp_path / "f.zarr", shape=SHAPE, chunks=(8, 16, 16), dtype="uint16", zarr_format=2, order="F"
    )
    old[:] = ramp()
    new = zarr.create_array(
        tmp_path / "t.zarr", shape=SHAPE, chunks=(8, 16, 16), dtype="uint16",
        filters=[zarr.codecs.TransposeCodec(order=(2, 1, 0))],
    )  # fmt: skip
    new[:] = ramp()
    np.testing.assert_array_equal(read(open_at(tmp_path / "f.zarr")), ramp())
    np.testing.assert_array_equal(read(open_at(tmp_path / "t.zarr")), ramp())


def test_sharded_v3_has_fewer_files_than_chunks(tmp_path: Path) -> None:
    write(tmp_path / "scan.zarr", layout(shard=(16, 32, 32)))
    shards = sorted(path.relative_to(tmp_path / "scan.zarr/0/c") for path in (tmp_path / "scan.zarr/0/c").rglob("?"))
    assert [str(path) for path in shards if path.name == "0" and len(path.parts) == 3] == ["0/0/0", "1/0/0"]


def test_grains_are_shards_in_v3_and_chunks_in_v2(tmp_path: Path) -> None:
    v3 = registry.open_writer(Location.parse(tmp_path / "a.zarr"), layout(shard=(16, 16, 16)))
    v2 = registry.open_writer(Location.parse(tmp_path / "a.zarr2"), layout())
    assert v3.grains == ((16, 16, 16), (16, 15, 13))
    assert v2.grains == ((8, 16, 16), (8, 15, 13))
    assert v3.is_shareable


@pytest.mark.parametrize(("dtype", "shard"), [("uint8", (256, 256, 256)), ("float64", (128, 256, 256))])
def test_default_shard_stays_below_64_mebibytes(dtype: str, shard: tuple[int, int, int]) -> None:
    level = Level((2048, 2048, 2048), (64, 64, 64))
    assert level_shard(level, Layout((level,), np.dtype(dtype))) == shard


def test_shard_that_cuts_chunks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"Shards of \(20, 32, 32\).*whole chunks of \(8, 16, 16\).*multiple"):
        write(tmp_path / "scan.zarr", layout(shard=(20, 32, 32)))
    assert not (tmp_path / "scan.zarr").exists()


@pytest.mark.parametrize("name", NAMES)
def test_a_part_of_a_chunk_can_be_replaced(name: str, tmp_path: Path) -> None:
    voxels = write(tmp_path / name, layout()).copy()
    writer = registry.open_writer(Location.parse(tmp_path / name), layout(), resume=True)
    patch = np.full((3, 4, 5), 999, np.uint16)
    writer.write(Box((3, 14, 9), (6, 18, 14)), patch)
    voxels[3:6, 14:18, 9:14] = patch
    np.testing.assert_array_equal(read(open_at(tmp_path / name)), voxels)


@pytest.mark.parametrize("name", NAMES)
def test_missing_chunks_are_zero_and_zero_chunks_are_missing(name: str, tmp_path: Path) -> None:
    writer = registry.open_writer(Location.parse(tmp_path / name), layout("zstd"))
    voxels = ramp()
    writer.write(Box.whole(SHAPE), voxels)
    writer.write(Box.whole(SHAPE), np.zeros(SHAPE, np.uint16))
    writer.finish()
    assert [path.name for path in (tmp_path / name / "0").rglob("*") if path.is_file()] in (["zarr.json"], [".zarray"])
    assert not read(open_at(tmp_path / name)).any()


def test_negative_zero_is_kept(tmp_path: Path) -> None:
    writer = registry.open_writer(Location.parse(tmp_path / "a.zarr"), layout(dtype="float32"))
    writer.write(Box.whole(SHAPE), np.full(SHAPE, -0.0, np.float32))
    writer.finish()
    assert np.signbit(read(open_at(tmp_path / "a.zarr"))).all()


def test_the_fill_value_of_the_file_is_kept(tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "a.zarr", shape=SHAPE, chunks=(8, 16, 16), dtype="float32", fill_value=np.nan)
    zarr.create_array(tmp_path / "b.zarr", shape=SHAPE, dtype="uint8", fill_value=7, zarr_format=2)
    assert np.isnan(read(open_at(tmp_path / "a.zarr"))).all()
    assert (read(open_at(tmp_path / "b.zarr")) == 7).all()


def test_axes_without_metadata(tmp_path: Path) -> None:
    four, five = ramp((2, 3, 4, 5)), ramp((2, 3, 4, 5, 6))
    zarr.create_array(tmp_path / "4.zarr", data=four)
    zarr.create_array(tmp_path / "5.zarr", data=five)
    zarr.create_array(tmp_path / "n.zarr", data=four, dimension_names=["t", "x", "y", "z"])
    moving, both, named = (open_at(tmp_path / f"{name}.zarr") for name in "45n")
    assert (moving.header.times, moving.header.channels) == (2, 1)
    assert (both.header.times, both.header.channels) == (2, 3)
    assert (named.header.times, named.header.channels) == (2, 1)
    assert named.header.levels[0].shape == (5, 4, 3)
    np.testing.assert_array_equal(read(moving, t=1), four[1])
    np.testing.assert_array_equal(read(both, t=1, c=2), five[1, 2])
    np.testing.assert_array_equal(read(named, t=1), four[1].transpose(2, 1, 0))


@pytest.mark.parametrize(
    ("requested", "text"),
    [({"t": 2}, "no time step 2.*0 to 1"), ({"c": 3}, "no channel 3"), ({"level": 1}, "no level 1")],
)
def test_selections_are_checked(requested: dict[str, int], text: str, tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "5.zarr", data=ramp((2, 3, 4, 5, 6)))
    with pytest.raises(SelectionInvalid, match=text):
        open_at(tmp_path / "5.zarr").read(Box((0, 0, 0), (1, 1, 1)), np.empty((1, 1, 1), np.uint16), **requested)


@pytest.mark.parametrize("shape", [(4, 5), (1, 1, 1, 2, 3, 4)])
def test_what_is_no_volume_is_refused(shape: tuple[int, ...], tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "a.zarr", data=ramp(shape))
    with pytest.raises(WrongDimensions, match=r"is not a volume.*three axes"):
        open_at(tmp_path / "a.zarr")


@pytest.mark.parametrize("version", [2, 3])
def test_the_only_volume_of_a_group_needs_no_name(version: Any, tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "g.zarr", mode="w", zarr_format=version)
    group.create_array("deep/down", data=ramp())
    group.create_array("flat", data=ramp((4, 5)))
    np.testing.assert_array_equal(read(open_at(tmp_path / "g.zarr")), ramp())
    np.testing.assert_array_equal(read(open_at(f"{tmp_path}/g.zarr:/deep/down")), ramp())
    np.testing.assert_array_equal(read(open_at(tmp_path / "g.zarr/deep/down")), ramp())


def test_several_volumes_of_a_group_are_listed(tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "g.zarr", mode="w")
    group.create_array("one", data=ramp())
    write(f"{tmp_path}/g.zarr:/two", layout())
    with pytest.raises(DatasetAmbiguous, match=r"contains 2 volumes.*:/NAME. Datasets: /one, /two\."):
        open_at(tmp_path / "g.zarr")
    with pytest.raises(DatasetMissing, match=r"no dataset '/three'.*Datasets: /one, /two\."):
        open_at(f"{tmp_path}/g.zarr:/three")
    np.testing.assert_array_equal(read(open_at(f"{tmp_path}/g.zarr:/two")), ramp())


def test_a_group_without_volumes_says_so(tmp_path: Path) -> None:
    zarr.open_group(tmp_path / "g.zarr", mode="w")
    with pytest.raises(DatasetAmbiguous, match="contains no dataset of three axes"):
        open_at(tmp_path / "g.zarr")


@pytest.mark.parametrize("name", NAMES)
def test_a_dataset_is_written_into_a_container_with_groups_above_it(name: str, tmp_path: Path) -> None:
    voxels = write(f"{tmp_path}/{name}:/a/b", layout())
    np.testing.assert_array_equal(zarr.open_group(tmp_path / name, mode="r")["a/b/0"][:], voxels)
    np.testing.assert_array_equal(read(open_at(tmp_path / name)), voxels)


@pytest.mark.parametrize("name", NAMES)
def test_unfinished_output_is_no_volume(name: str, tmp_path: Path) -> None:
    write(tmp_path / name, layout(), is_finished=False)
    with pytest.raises(Incomplete, match="is incomplete"):
        open_at(tmp_path / name)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"none\.zarr does not exist"):
        zarr_format.open_reader(Location.parse(tmp_path / "none.zarr"))


@pytest.mark.parametrize("name", NAMES)
def test_a_fresh_writer_removes_remains_and_only_them(name: str, tmp_path: Path) -> None:
    write(tmp_path / name, layout())
    (tmp_path / name / "notes.txt").write_text("mine")
    writer = registry.open_writer(Location.parse(tmp_path / name), layout("gzip"))
    out = np.ones(SHAPE, np.uint16)
    writer.read(Box.whole(SHAPE), out)
    assert not out.any()
    assert (tmp_path / name / "notes.txt").read_text() == "mine"
    assert not any((tmp_path / name / key).exists() for key in ("zarr.json", ".zattrs", ".zgroup"))


def test_resume_with_another_layout_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "scan.zarr", layout("gzip"))
    with pytest.raises(InvalidInput, match=r"started with another shape, type, chunk or codec.*--overwrite"):
        registry.open_writer(Location.parse(tmp_path / "scan.zarr"), layout("zstd"), resume=True)


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd", "blosc"])
@pytest.mark.parametrize("name", NAMES)
def test_a_chunk_cut_short_is_damaged(name: str, codec: str, tmp_path: Path) -> None:
    write(tmp_path / name, layout(codec))
    chunk = next(path for path in (tmp_path / name / "0").rglob("0") if path.is_file())
    os.truncate(chunk, chunk.stat().st_size - 5)
    with pytest.raises(Corrupted, match=r"is corrupted: .*Copy it again"):
        read(open_at(tmp_path / name))


def test_a_wrong_checksum_of_a_shard_is_damaged(tmp_path: Path) -> None:
    write(tmp_path / "scan.zarr", layout())
    shard = next(path for path in (tmp_path / "scan.zarr/0").rglob("0") if path.is_file())
    content = bytearray(shard.read_bytes())
    content[-10] ^= 1
    shard.write_bytes(content)
    with pytest.raises(Corrupted, match="checksum of its index is wrong"):
        read(open_at(tmp_path / "scan.zarr"))


@pytest.mark.parametrize(
    ("key", "text"),
    [("zarr.json", "{broken"), ("zarr.json", "[1]"), ("0/zarr.json", '{"zarr_format": 3, "node_type": "array"}')],
)
def test_broken_metadata_is_damaged(key: str, text: str, tmp_path: Path) -> None:
    write(tmp_path / "scan.zarr", layout())
    (tmp_path / "scan.zarr" / key).write_text(text)
    with pytest.raises(Corrupted, match="is corrupted: it"):
        open_at(tmp_path / "scan.zarr")


def test_a_level_that_is_missing_is_damaged(tmp_path: Path) -> None:
    write(tmp_path / "scan.zarr", layout())
    (tmp_path / "scan.zarr/1/zarr.json").unlink()
    with pytest.raises(Corrupted, match="lists the level '1', but that array does not exist"):
        open_at(tmp_path / "scan.zarr")


def test_unknown_codecs_are_named(tmp_path: Path) -> None:
    write(tmp_path / "scan.zarr2", layout())
    path = tmp_path / "scan.zarr2/0/.zarray"
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "compressor": {"id": "shrink"}}))
    with pytest.raises(UnknownCodec, match="uses the codec 'shrink'"):
        open_at(tmp_path / "scan.zarr2")
    path.write_text(json.dumps({**document, "filters": [{"id": "delta"}]}))
    with pytest.raises(UnknownCodec, match="uses the codec 'delta'"):
        open_at(tmp_path / "scan.zarr2")


def test_voxels_of_another_kind_are_refused(tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "a.zarr", shape=SHAPE, dtype="complex64")
    with pytest.raises(UnsupportedType, match=r"a\.zarr.*: the values are complex \(complex64\)"):
        open_at(tmp_path / "a.zarr")


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = registry.open_writer(Location.parse(tmp_path / "a.zarr"), layout())

    def refuse(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", refuse)
    with pytest.raises(DiskFull, match=r"The disk is full: .*The input is untouched"):
        writer.write(Box.whole(SHAPE), ramp())
    assert not list(tmp_path.rglob("*.part"))


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(NotWritable, match=r"Could not write .*: Not a directory"):
        write(tmp_path / "file" / "a.zarr", layout())


def test_half_level_has_its_own_spacing(tmp_path: Path) -> None:
    write(tmp_path / "scan.zarr", layout())
    header = open_at(tmp_path / "scan.zarr").header
    assert header.levels[1] == Level(HALF, (8, 15, 13), (4.0, 2.0, 1.0))
    assert (header.unit, header.codec) == ("um", "blosc")
