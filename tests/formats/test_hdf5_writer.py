"""Writing HDF5: levels, codecs that others can read, and outputs that survive a kill."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  so that h5py can read what was written
import numpy as np
import pytest

from pellucid.box import Box
from pellucid.errors import (
    ChunkConflict,
    DiskFull,
    Incomplete,
    InvalidInput,
    OutputExists,
    UnknownCodec,
    UnsupportedType,
)
from pellucid.formats.hdf5.filters import WRITTEN_CODECS
from pellucid.formats.hdf5.format import Hdf5Reader, open_reader, open_writer
from pellucid.formats.hdf5.opening import staging_folder
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level, Voxels

SHAPE = (13, 20, 33)
CHUNK = (4, 8, 16)


def voxels_of(shape: tuple[int, ...] = SHAPE, dtype: str = "uint16") -> Voxels:
    return np.random.default_rng(3).integers(0, 200, shape).astype(dtype)


def layout_of(codec: str | None, dtype: str = "uint16") -> Layout:
    return Layout((Level(SHAPE, CHUNK, (3.0, 2.0, 1.0)),), np.dtype(dtype), "um", codec=codec)


def write_all(path: Path, layout: Layout, voxels: Voxels) -> None:
    writer = open_writer(Location.parse(path), layout)
    for part in Box.whole(SHAPE).tiles((8, 16, 48)):
        writer.write(part, voxels[part.slices])
    back: Voxels = np.zeros_like(voxels)
    writer.read(Box.whole(SHAPE), back)
    np.testing.assert_array_equal(back, voxels)
    writer.finish()
    writer.close()


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16", "float32", "int64"])
@pytest.mark.parametrize("codec", [*WRITTEN_CODECS, None])
def test_what_is_written_is_read_by_us_and_by_h5py(tmp_path: Path, codec: str | None, dtype: str) -> None:
    path, voxels = tmp_path / "out.h5", voxels_of(dtype=dtype)
    write_all(path, layout_of(codec, dtype), voxels)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["data"][()], voxels)
        assert file["data"].chunks == CHUNK
    reader = open_reader(Location.parse(path))
    assert reader.header.levels == (Level(SHAPE, CHUNK, (3.0, 2.0, 1.0)),)
    assert (reader.header.unit, reader.header.codec) == ("um", codec or "gzip")
    found: Voxels = np.zeros_like(voxels)
    reader.read(Box.whole(SHAPE), found)
    reader.close()
    np.testing.assert_array_equal(found, voxels)
    assert [found.name for found in tmp_path.iterdir()] == ["out.h5"]


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_levels_open_as_one_volume(tmp_path: Path, codec: str) -> None:
    halves = (7, 10, 17)
    layout = Layout((Level(SHAPE, CHUNK), Level(halves, CHUNK, (2.0, 2.0, 2.0))), np.dtype("u2"), codec=codec)
    writer = open_writer(Location.parse(f"{tmp_path}/out.h5:/entry/scan"), layout)
    assert writer.grains == (CHUNK, CHUNK)
    writer.write(Box.whole(SHAPE), voxels_of())
    writer.write(Box.whole(halves), voxels_of(halves), level=1)
    writer.finish()
    writer.close()
    reader = open_reader(Location.parse(tmp_path / "out.h5"))
    assert isinstance(reader, Hdf5Reader)
    assert reader.dataset_name == "/entry/scan"
    assert [level.shape for level in reader.header.levels] == [SHAPE, halves]
    assert reader.header.levels[1].spacing == (2.0, 2.0, 2.0)
    out: Voxels = np.zeros(halves, "u2")
    reader.read(Box.whole(halves), out, level=1)
    reader.close()
    np.testing.assert_array_equal(out, voxels_of(halves))


KILLED = """
import os, signal, sys
import numpy as np
from pathlib import Path
from pellucid.box import Box
from pellucid.formats.hdf5.format import open_writer
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level
path, codec, shape, chunk = sys.argv[1], sys.argv[2], (13, 20, 33), (4, 8, 16)
voxels = np.random.default_rng(3).integers(0, 200, shape).astype("uint16")
layout = Layout((Level(shape, chunk, (3.0, 2.0, 1.0)),), np.dtype("u2"), "um", codec=codec)
writer = open_writer(Location.parse(path), layout, resume=True)
for part in list(Box.whole(shape).tiles((4, 20, 33)))[int(sys.argv[3])::2]:
    writer.write(part, voxels[part.slices])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("codec", ["none", "gzip", "blosc"])
def test_killed_writers_lose_nothing_and_several_share_an_output(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "out.h5"
    open_writer(Location.parse(path), layout_of(codec)).close()
    commands = [[sys.executable, "-c", KILLED, str(path), codec, str(half)] for half in (0, 1)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    writers = [subprocess.Popen(command, env=environment) for command in commands]
    assert [writer.wait() for writer in writers] == [-signal.SIGKILL] * 2
    assert not path.exists()
    with pytest.raises(Incomplete, match="is incomplete"):
        open_reader(Location.parse(path))
    resumed = open_writer(Location.parse(path), layout_of(codec), resume=True)
    resumed.finish()
    resumed.close()
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["data"][()], voxels_of())


def test_a_record_cut_short_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "out.h5"
    writer = open_writer(Location.parse(path), layout_of("gzip"))
    first, second = list(Box.whole(SHAPE).tiles(CHUNK))[:2]
    for part in (first, second):
        writer.write(part, voxels_of()[part.slices])
    writer.close()
    (segment,) = staging_folder(path).glob("*.segment")
    os.truncate(segment, segment.stat().st_size - 1)
    resumed = open_writer(Location.parse(path), layout_of("gzip"), resume=True)
    out: Voxels = np.ones(SHAPE, "u2")
    resumed.read(Box.whole(SHAPE), out)
    resumed.close()
    expected = np.zeros(SHAPE, "u2")
    expected[first.slices] = voxels_of()[first.slices]
    np.testing.assert_array_equal(out, expected)


def test_resuming_needs_the_same_layout_and_a_finished_output_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "out.h5"
    open_writer(Location.parse(path), layout_of("gzip")).close()
    with pytest.raises(InvalidInput, match="started with another"):
        open_writer(Location.parse(path), layout_of("zstd"), resume=True)
    write_all(path, layout_of("gzip"), voxels_of())
    with pytest.raises(OutputExists):
        open_writer(Location.parse(path), layout_of("gzip"))
    finished = open_writer(Location.parse(path), layout_of("gzip"), resume=True)
    out: Voxels = np.zeros(SHAPE, "u2")
    finished.read(Box.whole(SHAPE), out)
    np.testing.assert_array_equal(out, voxels_of())
    with pytest.raises(OutputExists):
        finished.write(Box.whole(SHAPE), out)
    finished.finish()
    finished.close()


def test_refusals(tmp_path: Path) -> None:
    location = Location.parse(tmp_path / "out.h5")
    with pytest.raises(UnknownCodec, match=r"'lzma'.*Use one of: blosc, gzip, lz4, none, zstd"):
        open_writer(location, layout_of("lzma"))
    with pytest.raises(UnsupportedType, match="complex64"):
        open_writer(location, layout_of("gzip", "complex64"))
    writer = open_writer(location, layout_of("gzip"))
    with pytest.raises(ChunkConflict, match="would share chunks"):
        writer.write(Box((0, 0, 0), (2, 20, 33)), voxels_of((2, 20, 33)))
    writer.close()


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_a_full_disk_says_so_and_what_was_written_stays(
    tmp_path: Path, codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.h5"
    writer = open_writer(Location.parse(path), layout_of(codec))
    first, second = list(Box.whole(SHAPE).tiles(CHUNK))[:2]
    writer.write(first, voxels_of()[first.slices])

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(DiskFull, match=r"out.h5 could not be completed"):
            writer.write(second, voxels_of()[second.slices])
    out: Voxels = np.zeros(first.shape, "u2")
    writer.read(first, out)
    writer.close()
    np.testing.assert_array_equal(out, voxels_of()[first.slices])


def test_the_plan_is_readable(tmp_path: Path) -> None:
    path = tmp_path / "out.h5"
    open_writer(Location.parse(path), layout_of("zstd")).close()
    plan = json.loads(json.loads((staging_folder(path) / "plan.json").read_text())["plan"])
    assert (plan["codec"], plan["levels"][0]["chunk"]) == ("zstd", list(CHUNK))


def test_blosc_shuffles_by_voxel(tmp_path: Path) -> None:
    voxels = voxels_of()
    write_all(tmp_path / "out.h5", layout_of("blosc"), voxels)
    with h5py.File(tmp_path / "out.h5") as file:
        _, stored = file["data"].id.read_direct_chunk((0, 0, 0))
        assert stored[3] == 2  # the size of an item, in Blosc's own header


def test_blosc_is_written_beside_netcdf4(tmp_path: Path) -> None:
    """netCDF4 points the library at plugins of its own, whose Blosc does not work in h5py's copy of it."""
    program = (
        "import sys, netCDF4, numpy, pellucid\n"
        "voxels = numpy.arange(4096, dtype='uint16').reshape(16, 16, 16)\n"
        "written = pellucid.convert(voxels, sys.argv[1], codec='blosc')\n"
        "assert (written.read() == voxels).all()"
    )
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program, tmp_path / "a.h5"], env={**os.environ, **path}, check=True)
