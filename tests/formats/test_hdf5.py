"""Reading HDF5: every storage, every filter, every way to name a dataset, every way to be broken."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import pytest

from pellucid.box import Box
from pellucid.errors import (
    Corrupted,
    DatasetAmbiguous,
    DatasetMissing,
    EmptyFile,
    LinkBroken,
    NotFound,
    PellucidError,
    SelectionInvalid,
    Truncated,
    UnknownCodec,
    UnsupportedType,
    WrongDimensions,
)
from pellucid.formats.hdf5.format import open_reader
from pellucid.formats.location import Location
from pellucid.formats.protocol import Level, Voxels

SHAPE = (21, 34, 45)
CHUNK = (8, 16, 20)
BOXES = [
    Box((0, 0, 0), SHAPE),
    Box((3, 5, 7), (19, 33, 44)),
    Box((20, 0, 44), (21, 34, 45)),
    Box((8, 16, 20), (16, 32, 40)),
]
STORAGES: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "chunked": {"chunks": CHUNK},
    "planes": {"chunks": (1, *SHAPE[1:])},
    "gzip": {"chunks": CHUNK, "compression": "gzip"},
    "gzip+shuffle": {"chunks": CHUNK, "compression": "gzip", "shuffle": True},
    "shuffle+gzip+fletcher32": {"chunks": CHUNK, "compression": "gzip", "shuffle": True, "fletcher32": True},
    "fletcher32": {"chunks": CHUNK, "fletcher32": True},
    "lzf": {"chunks": CHUNK, "compression": "lzf", "shuffle": True},
    "szip": {"chunks": CHUNK, "compression": "szip"},
    "scaleoffset": {"chunks": CHUNK, "scaleoffset": 0},
    "zstd": {"chunks": CHUNK, "compression": hdf5plugin.Zstd(), "shuffle": True},
    "lz4": {"chunks": CHUNK, "compression": hdf5plugin.LZ4()},
    "lz4 blocks": {"chunks": CHUNK, "compression": hdf5plugin.LZ4(nbytes=1024)},
    "blosc": {"chunks": CHUNK, "compression": hdf5plugin.Blosc()},
    "blosc zstd bits": {"chunks": CHUNK, "compression": hdf5plugin.Blosc(cname="zstd", shuffle=2)},
    "blosc2": {"chunks": CHUNK, "compression": hdf5plugin.Blosc2()},
    "bitshuffle": {"chunks": CHUNK, "compression": hdf5plugin.Bitshuffle(cname="none")},
    "bitshuffle lz4": {"chunks": CHUNK, "compression": hdf5plugin.Bitshuffle()},
}


def voxels_of(dtype: str = "uint16", shape: tuple[int, ...] = SHAPE) -> Voxels:
    return np.random.default_rng(7).integers(0, 100, shape).astype(dtype)


def read(name: str | Path, box: Box | None = None, **selection: int) -> Voxels:
    reader = open_reader(Location.parse(name))
    try:
        box = box or Box.whole(reader.header.levels[selection.get("level", 0)].shape)
        out: Voxels = np.full(box.shape, 77, reader.header.dtype)
        reader.read(box, out, **selection)
        return out
    finally:
        reader.close()


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dtype", ["uint16", ">u2", "uint8", "<f8"])
def test_every_storage_gives_the_same_voxels(tmp_path: Path, storage: str, dtype: str) -> None:
    voxels = voxels_of("uint32" if (storage, dtype) == ("scaleoffset", "<f8") else dtype)  # lossy for floats
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("data", data=voxels, **STORAGES[storage])
    for box in BOXES:
        found = read(tmp_path / "a.h5", box)
        assert found.dtype.isnative
        np.testing.assert_array_equal(found, voxels[box.slices])


@pytest.mark.parametrize("storage", ["contiguous", "chunked", "gzip", "bitshuffle lz4"])
def test_any_strides_and_many_threads(tmp_path: Path, storage: str) -> None:
    voxels = voxels_of()
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("data", data=voxels, **STORAGES[storage])
    reader = open_reader(Location.parse(tmp_path / "a.h5"))

    def strided(box: Box) -> bool:
        out = np.zeros([2 * n for n in reversed(box.shape)], np.uint16)[::2, ::-2, ::2].transpose()
        reader.read(box, out)
        return bool((out == voxels[box.slices]).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(strided, BOXES * 5))
    reader.close()


@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "uint32", "int32", "uint64", "int64", "float16", ">f2", ">f4", ">i8"]
)
@pytest.mark.parametrize("options", [{}, {"chunks": CHUNK, "compression": "gzip", "shuffle": True}])
def test_every_voxel_type(tmp_path: Path, dtype: str, options: dict[str, Any]) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("data", data=voxels_of(dtype), **options)
    found = read(tmp_path / "a.h5")
    assert found.dtype == np.dtype(dtype).newbyteorder("=")
    np.testing.assert_array_equal(found, voxels_of(dtype))


@pytest.mark.parametrize("options", [{}, {"chunks": CHUNK}, {"chunks": CHUNK, "compression": hdf5plugin.Bitshuffle()}])
def test_truth_values_are_bytes(tmp_path: Path, options: dict[str, Any]) -> None:
    truth = voxels_of() > 50
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("data", data=truth, **options)
    np.testing.assert_array_equal(read(tmp_path / "a.h5"), truth.astype(np.uint8))


def test_compact_enum_and_odd_integers(tmp_path: Path) -> None:
    voxels = voxels_of("uint8", (2, 3, 4))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((2, 3, 4))
        compact = h5py.h5d.create(file.id, b"compact", h5py.h5t.STD_U8LE, space, dcpl=properties)
        compact.write(h5py.h5s.ALL, h5py.h5s.ALL, voxels)
        file.create_dataset("labels", data=voxels, dtype=h5py.enum_dtype({"air": 0, "bone": 1}, "u1"))
        twelve = h5py.h5t.STD_U16LE.copy()
        twelve.set_precision(12)
        twelve.set_offset(4)
        h5py.h5d.create(file.id, b"twelve", twelve, space).write(h5py.h5s.ALL, h5py.h5s.ALL, voxels.astype(np.uint16))
    for name in ("compact", "labels", "twelve"):
        np.testing.assert_array_equal(read(f"{tmp_path}/a.h5:/{name}"), voxels)


def test_absent_chunks_hold_the_fill_value(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, options in (("plain", {}), ("gzip", {"compression": "gzip"})):
            dataset = file.create_dataset(name, SHAPE, "i2", chunks=CHUNK, fillvalue=-5, **options)
            dataset[8:16, 16:32, 20:40] = 3
        file.create_dataset("nothing", SHAPE, "i2", fillvalue=9)
    expected = np.full(SHAPE, -5)
    expected[8:16, 16:32, 20:40] = 3
    np.testing.assert_array_equal(read(f"{tmp_path}/a.h5:/plain"), expected)
    np.testing.assert_array_equal(read(f"{tmp_path}/a.h5:/gzip"), expected)
    assert (read(f"{tmp_path}/a.h5:/nothing") == 9).all()


def test_a_filter_left_out_for_one_chunk(tmp_path: Path) -> None:
    voxels = voxels_of("uint16", (4, 4, 4))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        dataset = file.create_dataset("data", (4, 4, 4), "u2", chunks=(4, 4, 4), compression="gzip", shuffle=True)
        dataset.id.write_direct_chunk((0, 0, 0), voxels.tobytes(), filter_mask=0b11)
    np.testing.assert_array_equal(read(tmp_path / "a.h5"), voxels)


@pytest.mark.parametrize("storage", ["contiguous", "chunked", "gzip"])
def test_a_user_block_before_the_file(tmp_path: Path, storage: str) -> None:
    with h5py.File(tmp_path / "a.h5", "w", userblock_size=1024) as file:
        file.create_dataset("data", data=voxels_of(), **STORAGES[storage])
    np.testing.assert_array_equal(read(tmp_path / "a.h5"), voxels_of())


@pytest.mark.parametrize(
    "options", [{}, {"chunks": (2, 2, 4, 8, 5)}, {"chunks": (2, 2, 4, 8, 5), "compression": "gzip"}]
)
def test_time_and_channel(tmp_path: Path, options: dict[str, Any]) -> None:
    voxels = voxels_of("uint16", (3, 4, 7, 9, 11))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("data", data=voxels, **options)
    reader = open_reader(Location.parse(tmp_path / "a.h5"))
    assert (reader.header.times, reader.header.channels, reader.header.levels[0].shape) == (3, 4, (7, 9, 11))
    reader.close()
    np.testing.assert_array_equal(read(tmp_path / "a.h5", t=2, c=3), voxels[2, 3])
    with pytest.raises(SelectionInvalid, match="no time step 3"):
        read(tmp_path / "a.h5", t=3)


@pytest.mark.parametrize("options", [{}, {"chunks": (2, 3, 4, 5)}, {"chunks": (2, 3, 4, 5), "compression": "gzip"}])
def test_four_axes_are_time_unless_labelled(tmp_path: Path, options: dict[str, Any]) -> None:
    voxels = voxels_of("uint16", (3, 4, 5, 6))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("plain", data=voxels, **options)
        labelled = file.create_dataset("labelled", data=voxels, **options)
        for axis, label in enumerate(("x", "channel", "z", "y")):
            labelled.dims[axis].label = label
    np.testing.assert_array_equal(read(f"{tmp_path}/a.h5:/plain", t=1), voxels[1])
    np.testing.assert_array_equal(read(f"{tmp_path}/a.h5:/labelled", c=2), voxels[:, 2].transpose(1, 2, 0))


@pytest.mark.parametrize(
    ("attributes", "spacing", "unit"),
    [
        ({"spacing": (3.0, 2.0, 1.0), "unit": "micrometer"}, (3.0, 2.0, 1.0), "um"),
        ({"element_size_um": np.array([4, 2, 1], np.float32)}, (4.0, 2.0, 1.0), "um"),
        ({"spacing_nm": [10, 10, 5]}, (10.0, 10.0, 5.0), "nm"),
        ({"resolution": [40.0, 4.0, 4.0]}, (40.0, 4.0, 4.0), ""),
        ({"spacing": 0.5, "unit": b"mm"}, (0.5, 0.5, 0.5), "mm"),
        ({"spacing": "wide", "units": "counts"}, (1.0, 1.0, 1.0), ""),
    ],
)
def test_spacing(tmp_path: Path, attributes: dict[str, Any], spacing: tuple[float, ...], unit: str) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("data", data=voxels_of(), chunks=CHUNK).attrs.update(attributes)
    header = open_reader(Location.parse(tmp_path / "a.h5")).header
    assert (header.levels, header.unit) == ((Level(SHAPE, CHUNK, spacing),), unit)  # type: ignore[arg-type]
    assert header.codec == "none"


def test_the_only_volume_is_found_and_several_are_listed(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["entry/scan"] = voxels_of()
        file["entry/angles"] = np.zeros(5)
        file["entry/again"] = h5py.SoftLink("/entry/scan")
        file["entry/circle"] = h5py.SoftLink("/entry")
        file["movie"] = voxels_of("uint8", (2, 3, 4, 5))
    np.testing.assert_array_equal(read(tmp_path / "a.h5"), voxels_of())
    np.testing.assert_array_equal(read(f"{tmp_path}/a.h5:/entry"), voxels_of())
    np.testing.assert_array_equal(read(f"{tmp_path}/a.h5:/entry/again"), voxels_of())
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["mask"] = voxels_of("uint8")
    with pytest.raises(DatasetAmbiguous, match=r"/mask \(21, 34, 45\) uint8, /movie"):
        read(tmp_path / "a.h5")
    with pytest.raises(DatasetMissing, match=r"no dataset '/entry/none'.*/mask \(21, 34, 45\) uint8"):
        read(f"{tmp_path}/a.h5:/entry/none")


def test_links_and_virtual_datasets_into_other_files(tmp_path: Path) -> None:
    voxels = voxels_of()
    layout = h5py.VirtualLayout(SHAPE, "u2")
    for part, (start, stop) in enumerate(((0, 10), (10, 21))):
        with h5py.File(tmp_path / f"part{part}.h5", "w") as file:
            file.create_dataset("data", data=voxels[start:stop], chunks=(5, 34, 45), compression="gzip")
        layout[start:stop] = h5py.VirtualSource(f"part{part}.h5", "data", (stop - start, *SHAPE[1:]))
    with h5py.File(tmp_path / "all.h5", "w") as file:
        file.create_virtual_dataset("virtual", layout)
        file["outside"] = h5py.ExternalLink("part0.h5", "/data")
    np.testing.assert_array_equal(read(f"{tmp_path}/all.h5:/virtual"), voxels)
    np.testing.assert_array_equal(read(f"{tmp_path}/all.h5:/outside"), voxels[:10])
    (tmp_path / "part0.h5").unlink()
    with pytest.raises(LinkBroken, match=r"/outside in .*all.h5 points to part0.h5:/data"):
        read(f"{tmp_path}/all.h5:/outside")
    with pytest.raises(LinkBroken, match=r"/virtual in .*part0.h5, which is missing"):
        read(f"{tmp_path}/all.h5:/virtual")


def test_a_file_with_nothing_but_a_broken_link(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["entry/data"] = h5py.ExternalLink("gone.h5", "/data")
    with pytest.raises(LinkBroken, match=r"/entry/data in .*gone.h5"):
        read(tmp_path / "a.h5")


def test_raw_files_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    voxels = voxels_of()
    half = voxels.nbytes // 2
    with h5py.File("a.h5", "w") as file:
        file.create_dataset("data", data=voxels, external=[("one.raw", 16, half), ("two.raw", 0, h5py.h5f.UNLIMITED)])
    monkeypatch.chdir("/")
    np.testing.assert_array_equal(read(tmp_path / "a.h5"), voxels)
    (tmp_path / "two.raw").unlink()
    with pytest.raises(LinkBroken, match=r"two.raw"):
        read(tmp_path / "a.h5")


def _without_tail(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _with_a_bad_chunk(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file["data"].id.write_direct_chunk((0, 0, 0), b"nonsense")


def _with_a_bad_checksum(path: Path) -> None:
    with h5py.File(path, "a") as file:
        del file["data"]
        dataset = file.create_dataset("data", (4, 4, 4), "u1", chunks=(4, 4, 4), fletcher32=True)
        dataset.id.write_direct_chunk((0, 0, 0), bytes(68 - 1) + b"\1")


def _with_an_unknown_filter(path: Path) -> None:
    with h5py.File(path, "a") as file:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((4, 4, 4))
        properties.set_filter(31999, h5py.h5z.FLAG_OPTIONAL, (1,))
        del file["data"]
        h5py.h5d.create(file.id, b"data", h5py.h5t.STD_U8LE, h5py.h5s.create_simple((8, 8, 8)), dcpl=properties)


def _with(name: str, content: Any) -> Any:
    def replace(path: Path) -> None:
        with h5py.File(path, "a") as file:
            del file["data"]
            file["data"] = content

    replace.__name__ = name
    return replace


@pytest.mark.parametrize(
    ("damage", "error", "words"),
    [
        (Path.unlink, NotFound, "does not exist"),
        (lambda path: path.write_bytes(b""), EmptyFile, "is empty"),
        (_without_tail, Truncated, "is truncated"),
        (lambda path: path.write_bytes(b"hello" * 50), Corrupted, "file signature not found"),
        (_with_a_bad_chunk, Corrupted, "a chunk could not be decoded"),
        (_with_a_bad_checksum, Corrupted, "checksum"),
        (_with_an_unknown_filter, UnknownCodec, r"HDF5 filter 31999"),
        (_with("flat", np.zeros((3, 4))), WrongDimensions, r"has shape \(3, 4\)"),
        (_with("six", np.zeros((1,) * 6)), WrongDimensions, "not a volume"),
        (_with("complex", np.zeros((2, 2, 2), complex)), UnsupportedType, "complex128"),
    ],
)
def test_what_is_broken_says_how(tmp_path: Path, damage: Any, error: type[PellucidError], words: str) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("data", data=voxels_of(), chunks=CHUNK, compression="gzip")
    damage(path)
    with pytest.raises(error, match=words):
        read(f"{path}:/data")


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(PellucidError, match="it is a folder"):
        read(tmp_path)


@pytest.mark.parametrize("mode", ["r", "r+"])
def test_h5py_opens_a_file_that_is_open_here(tmp_path: Path, mode: str) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["d"] = np.arange(27).reshape(3, 3, 3)
    reader = open_reader(Location(str(tmp_path / "a.h5")))
    with h5py.File(tmp_path / "a.h5", mode) as file:
        assert file["d"][0, 0, 1] == 1
        if mode == "r+":
            file["e"] = 1
    out = np.empty((3, 3, 3), reader.header.dtype)
    reader.read(Box.whole((3, 3, 3)), out)
    assert out[2, 2, 2] == 26
    reader.close()
