"""TIFF, against tifffile."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

from pellucid.box import Box
from pellucid.errors import (
    ChunkConflict,
    Corrupted,
    DatasetAmbiguous,
    DatasetMissing,
    EmptyFile,
    Incomplete,
    InvalidInput,
    Truncated,
    UnsupportedType,
    WrongDimensions,
)
from pellucid.formats import registry
from pellucid.formats.flat.reader_writer import FlatReader
from pellucid.formats.location import Location
from pellucid.formats.protocol import VOXEL_TYPES, Layout, Level
from pellucid.formats.tiff import header as tiff_header
from pellucid.formats.tiff.format import open_reader, open_writer
from tests.contracts.formats import SPACING, Case, layout_of, numbers, random_boxes, read, read_all, same_bits, write
from tests.shared_data import shared

SHAPE = (3, 50, 70)


def save(folder: Path, voxels: Any, name: str = "a.tif", **options: Any) -> Location:
    tifffile.imwrite(folder / name, voxels, **options)
    return Location(str(folder / name))


@pytest.mark.parametrize("dtype", VOXEL_TYPES)
@pytest.mark.parametrize("is_big", [False, True])
def test_tifffile_reads_what_is_written(
    dtype: str, is_big: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_big:
        monkeypatch.setattr(tiff_header, "_MAX_CLASSIC", 0)
    voxels = numbers((3, 5, 7), dtype)
    location = write(Case("a.tif"), tmp_path, voxels)
    with tifffile.TiffFile(location.path) as tif:
        assert tif.is_bigtiff == is_big
        assert len(tif.pages) == 3
        assert same_bits(tif.asarray(), voxels)
        assert same_bits(tif.pages[2].asarray(), voxels[2])
        assert tif.is_imagej == (dtype in tiff_header.IMAGEJ_TYPES)
    assert same_bits(read_all(location), voxels)


def test_imagej_finds_spacing_and_unit(tmp_path: Path) -> None:
    location = write(Case("a.tif"), tmp_path, numbers((3, 5, 7), "uint16"))
    with tifffile.TiffFile(location.path) as tif:
        fields = tif.imagej_metadata or {}
        assert (fields["images"], fields["slices"], fields["spacing"], fields["unit"]) == (3, 3, 2.5, "um")
        tags = tif.pages.first.tags
        assert [tags[name].value for name in ("XResolution", "YResolution")] == [(10, 1), (10, 3)]


def test_more_than_4_gib_becomes_bigtiff() -> None:
    layout = Layout((Level((1024, 2048, 2049), (1, 1, 1)),), np.dtype(np.uint8))
    assert tiff_header.print_head(layout.levels[0], layout)[:4] == b"II+\0"
    half = Level((512, 2048, 2049), (1, 1, 1))
    assert tiff_header.print_head(half, layout)[:4] == b"II*\0"


@pytest.mark.parametrize("byteorder", ["<", ">"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bigtiff": True},
        {"metadata": None},
        {"contiguous": False, "rowsperstrip": 7},
        {"tile": (16, 32)},
        {"compression": "zlib"},
        {"compression": "zstd", "predictor": True, "tile": (32, 16)},
        {"compression": "lzw", "rowsperstrip": 8},
        {"compression": "packbits"},
    ],
    ids=str,
)
def test_pages_of_every_kind(options: dict[str, Any], byteorder: Any, tmp_path: Path) -> None:
    voxels = numbers(SHAPE, "uint16")
    location = save(tmp_path, voxels, byteorder=byteorder, photometric="minisblack", **options)
    reader = open_reader(location)
    assert isinstance(reader, FlatReader) == (not {"compression", "tile"} & set(options))
    for box in random_boxes(SHAPE, 8):
        assert same_bits(read(reader, box), voxels[box.slices])
    reader.close()


def test_chunk_is_what_is_decoded_at_once(tmp_path: Path) -> None:
    location = save(tmp_path, numbers(SHAPE, "uint16"), compression="zlib", tile=(16, 32), photometric="minisblack")
    header = open_reader(location).header
    assert header.levels[0].chunk == (1, 16, 32)
    assert header.codec == "adobe_deflate"


def test_imagej_hyperstack(tmp_path: Path) -> None:
    voxels = np.random.default_rng(0).integers(0, 999, (2, 4, 3, 5, 7)).astype(np.uint16)  # t, z, c, y, x
    fields = {"axes": "TZCYX", "spacing": 2.0, "unit": "micron"}
    location = save(tmp_path, voxels, imagej=True, metadata=fields, resolution=(4.0, 2.0))
    reader = open_reader(location)
    assert (reader.header.times, reader.header.channels) == (2, 3)
    assert reader.header.levels[0] == Level((4, 5, 7), (1, 5, 7), (2.0, 0.5, 0.25))
    assert reader.header.unit == "um"
    out = np.empty((4, 5, 7), np.uint16)
    reader.read(Box.whole((4, 5, 7)), out, t=1, c=2)
    np.testing.assert_array_equal(out, voxels[1, :, 2])
    reader.close()


@pytest.mark.parametrize("compression", [None, "zlib"])
@pytest.mark.parametrize("axes", ["TCZYX", "CTZYX", "TZCYX", "ZYX"])
def test_ome(axes: str, compression: Any, tmp_path: Path) -> None:
    lengths = {"T": 2, "C": 3, "Z": 4, "Y": 5, "X": 7}
    voxels = np.random.default_rng(0).integers(0, 999, [lengths[axis] for axis in axes]).astype(np.int16)
    sizes = {f"PhysicalSize{axis}": size for axis, size in (("X", 0.25), ("Y", 0.5), ("Z", 2.0))}
    units = {f"PhysicalSize{axis}Unit": "nm" for axis in "XYZ"}
    location = save(tmp_path, voxels, "a.ome.tif", metadata={"axes": axes, **sizes, **units}, compression=compression)
    reader = open_reader(location)
    t, c = reader.header.times - 1, reader.header.channels - 1
    assert (t, c) == ((1, 2) if "T" in axes else (0, 0))
    assert (reader.header.levels[0].spacing, reader.header.unit) == ((2.0, 0.5, 0.25), "nm")
    out = np.empty((4, 5, 7), np.int16)
    reader.read(Box.whole((4, 5, 7)), out, t=t, c=c)
    index = tuple({"T": t, "C": c}.get(axis, slice(None)) for axis in axes)
    np.testing.assert_array_equal(out, voxels[index])
    reader.close()


def test_ome_levels(tmp_path: Path) -> None:
    full = numbers((3, 64, 96), "uint16")
    half = full[:, ::2, ::2].copy()
    with tifffile.TiffWriter(tmp_path / "a.ome.tif") as tif:
        options: dict[str, Any] = {"tile": (16, 16), "compression": "zlib", "photometric": "minisblack"}
        tif.write(full, subifds=1, metadata={"axes": "ZYX"}, **options)
        tif.write(half, subfiletype=1, **options)
    reader = open_reader(Location(str(tmp_path / "a.ome.tif")))
    assert [level.shape for level in reader.header.levels] == [(3, 64, 96), (3, 32, 48)]
    assert reader.header.levels[1].spacing == (1.0, 2.0, 2.0)
    assert same_bits(read(reader, level=0), full)
    assert same_bits(read(reader, level=1), half)
    reader.close()


@pytest.mark.parametrize("planarconfig", ["contig", "separate"])
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_colours_are_channels(planarconfig: Any, compression: Any, tmp_path: Path) -> None:
    voxels = np.random.default_rng(0).integers(0, 255, (4, 3, 20, 30)).astype(np.uint8)  # z, c, y, x
    stored = voxels if planarconfig == "separate" else np.moveaxis(voxels, 1, -1).copy()
    location = save(
        tmp_path, stored, photometric="rgb", planarconfig=planarconfig, compression=compression, rowsperstrip=6
    )
    reader = open_reader(location)
    assert (reader.header.channels, reader.header.levels[0].shape) == (3, (4, 20, 30))
    for c in range(3):
        out = np.empty((2, 10, 10), np.uint8)
        reader.read(Box((1, 5, 6), (3, 15, 16)), out, c=c)
        np.testing.assert_array_equal(out, voxels[1:3, c, 5:15, 6:16])
    reader.close()


def test_single_page_is_one_plane(tmp_path: Path) -> None:
    voxels = numbers((1, 5, 7), "float32")
    assert same_bits(read_all(save(tmp_path, voxels[0])), voxels)


def test_several_series_are_chosen_by_number(tmp_path: Path) -> None:
    with tifffile.TiffWriter(tmp_path / "a.tif") as tif:
        tif.write(numbers((3, 5, 7), "uint8"), photometric="minisblack")
        tif.write(numbers((2, 9, 9), "uint8"), photometric="minisblack")
    location = Location(str(tmp_path / "a.tif"))
    with pytest.raises(DatasetAmbiguous, match=r"contains 2 volumes.*/0, /1"):
        open_reader(location)
    with pytest.raises(DatasetMissing, match=r"no dataset '/2'"):
        open_reader(Location(location.path, "/2"))
    assert same_bits(read_all(Location(location.path, "/1")), numbers((2, 9, 9), "uint8"))


@pytest.mark.parametrize("options", [{}, {"compression": "zlib"}, {"metadata": None, "contiguous": False}], ids=str)
def test_file_cut_short(options: dict[str, Any], tmp_path: Path) -> None:
    location = save(tmp_path, numbers(SHAPE, "uint8"), photometric="minisblack", **options)
    content = location.local.read_bytes()
    for part in (0.95, 0.6, 0.3):
        location.local.write_bytes(content[: int(len(content) * part)])
        with pytest.raises((Truncated, Corrupted), match=r"truncated|corrupted"):
            open_reader(location)


def test_damaged_piece_and_damaged_file(tmp_path: Path) -> None:
    location = save(tmp_path, numbers(SHAPE, "uint8"), compression="zlib", photometric="minisblack")
    with tifffile.TiffFile(location.path) as tif:
        offset = tif.pages[1].dataoffsets[0]
    content = bytearray(location.local.read_bytes())
    content[offset : offset + 40] = bytes(40)
    location.local.write_bytes(content)
    with pytest.raises(Corrupted, match="could not be decoded"):
        read_all(location)
    location.local.write_bytes(b"II*\0\x08\0\0\0\xff\xff" + bytes(100))
    with pytest.raises(Corrupted, match="corrupted"):
        open_reader(location)


@pytest.mark.parametrize("back_to", [0, 1])
def test_pages_that_form_a_circle(back_to: int, tmp_path: Path) -> None:
    location = save(tmp_path, numbers(SHAPE, "uint8"), photometric="minisblack", metadata=None, contiguous=False)
    with tifffile.TiffFile(location.path) as tif:
        offsets = [page.offset for page in tif.pages]
    content = bytearray(location.local.read_bytes())
    (count,) = struct.unpack_from("<H", content, offsets[-1])
    struct.pack_into("<I", content, offsets[-1] + 2 + 12 * count, offsets[back_to])
    location.local.write_bytes(content)
    with pytest.raises(Corrupted, match="page directories form a circle"):
        open_reader(location)


def test_a_directory_with_more_entries_than_any_file_has(tmp_path: Path) -> None:
    location = save(tmp_path, numbers(SHAPE, "uint8"), photometric="minisblack", bigtiff=True)
    content = bytearray(location.local.read_bytes())
    content[16:24] = b"\xff" * 7 + b"\x7f"
    location.local.write_bytes(content)
    with pytest.raises(Corrupted, match="a page directory is truncated"):
        registry.open_reader(location)


def test_what_is_no_volume_of_numbers(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedType, match="the values are complex"):
        open_reader(save(tmp_path, np.zeros((2, 5, 7), np.complex64), photometric="minisblack"))
    with pytest.raises(WrongDimensions, match="not a volume"):
        open_reader(save(tmp_path, np.zeros((2, 3, 4, 5, 6, 7), np.uint8), photometric="minisblack"))


def test_one_file_is_not_written_compressed(tmp_path: Path) -> None:
    layout = layout_of(Case("a.tif", codec="gzip"), numbers(SHAPE, "uint8"))
    with pytest.raises(InvalidInput, match=r"does not support compression.*folder of slices \(.*/a/\)"):
        open_writer(Location(str(tmp_path / "a.tif")), layout)


# Folders


def slices(folder: Path, voxels: Any, pattern: str = "slice_{}.tif", **options: Any) -> Location:
    folder.mkdir(exist_ok=True)
    for index, plane in enumerate(voxels):
        tifffile.imwrite(folder / pattern.format(index), plane, **options)
    return Location(str(folder))


@pytest.mark.parametrize("options", [{}, {"compression": "zlib", "tile": (16, 16)}], ids=str)
def test_folder_in_natural_order(options: dict[str, Any], tmp_path: Path) -> None:
    voxels = numbers((12, 20, 30), "int16")
    location = slices(tmp_path / "scan", voxels, **options)
    (tmp_path / "scan" / "notes.txt").write_text("not a slice")
    (tmp_path / "scan" / "._slice_0.tif").write_bytes(b"not a slice either")
    reader = registry.open_reader(location)
    for box in random_boxes((12, 20, 30), 8):
        assert same_bits(read(reader, box), voxels[box.slices])
    reader.close()


def test_folder_of_colours(tmp_path: Path) -> None:
    voxels = np.random.default_rng(0).integers(0, 255, (4, 20, 30, 3)).astype(np.uint8)
    reader = open_reader(slices(tmp_path / "scan", voxels, photometric="rgb"))
    out = np.empty((4, 20, 30), np.uint8)
    reader.read(Box.whole((4, 20, 30)), out, c=2)
    assert reader.header.channels == 3
    np.testing.assert_array_equal(out, voxels[..., 2])


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (
            np.zeros((20, 31), np.uint8),
            r"slice_2\.tif is a slice of 31 x 20 uint8.*slice_0\.tif, is one of 30 x 20 uint8",
        ),
        (np.zeros((20, 30), np.uint16), r"slice_2\.tif is a slice of 30 x 20 uint16"),
        (np.zeros((20, 30, 3), np.uint8), r"30 x 20 x 3 colours uint8"),
        (np.zeros((2, 20, 30), np.uint8), r"slice_2\.tif has 2 pages"),
    ],
)
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_slice_that_differs_is_named(other: Any, text: str, compression: Any, tmp_path: Path) -> None:
    location = slices(tmp_path / "scan", np.zeros((3, 20, 30), np.uint8), compression=compression)
    kind: Any = "rgb" if other.shape[-1] == 3 else "minisblack"
    tifffile.imwrite(tmp_path / "scan" / "slice_2.tif", other, compression=compression, photometric=kind)
    with pytest.raises(InvalidInput, match=text):
        open_reader(location)


def test_slice_of_the_same_length_and_another_shape_is_found_when_it_is_read(tmp_path: Path) -> None:
    location = slices(tmp_path / "scan", np.zeros((3, 20, 30), np.uint8), metadata=None)
    tifffile.imwrite(tmp_path / "scan" / "slice_2.tif", np.zeros((30, 20), np.uint8), metadata=None)
    with pytest.raises(InvalidInput, match=r"slice_2\.tif is a slice of 20 x 30"):
        read_all(location)


def test_folder_of_one_stack_is_that_stack(tmp_path: Path) -> None:
    (tmp_path / "scan").mkdir()
    voxels = numbers((3, 5, 7), "uint8")
    save(tmp_path / "scan", voxels, photometric="minisblack")
    assert same_bits(read_all(Location(str(tmp_path / "scan"))), voxels)


def test_several_kinds_of_names_are_chosen_by_pattern(tmp_path: Path) -> None:
    voxels = numbers((3, 5, 7), "uint8")
    location = slices(tmp_path / "scan", voxels, "raw_{:03}.tif")
    slices(tmp_path / "scan", voxels[:1], "dark_{:03}.tif")
    with pytest.raises(DatasetAmbiguous, match=r"contains 2 volumes.*/dark_\*.tif, /raw_\*.tif"):
        open_reader(location)
    assert same_bits(read_all(Location(location.path, "/raw_*.tif")), voxels)
    with pytest.raises(DatasetMissing, match=r"/dark_\*.tif"):
        open_reader(Location(location.path, "/flat_*"))


def test_names_without_numbers_are_slices_too(tmp_path: Path) -> None:
    folder = tmp_path / "scan"
    folder.mkdir()
    voxels = numbers((2, 5, 7), "uint8")
    for name, plane in zip(("alpha", "beta"), voxels, strict=True):
        tifffile.imwrite(folder / f"{name}.tif", plane)
    assert same_bits(read_all(Location(str(folder))), voxels)


def test_folder_without_slices(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(EmptyFile, match="contains no TIFF files"):
        open_reader(Location(str(tmp_path)))


@pytest.mark.parametrize("codec", [None, "gzip", "zstd"])
def test_tifffile_reads_the_slices_that_are_written(codec: str | None, tmp_path: Path) -> None:
    voxels = numbers((3, 5, 7), "int32")
    location = write(Case("scan/", codec=codec), tmp_path, voxels)
    names = sorted(path.name for path in location.local.iterdir())
    assert names == ["slice_00000.tif", "slice_00001.tif", "slice_00002.tif"]
    assert same_bits(tifffile.imread(location.local / names[1]), voxels[1])
    assert open_reader(location).header.levels[0].spacing == SPACING


def test_folder_wants_whole_slices_and_all_of_them(tmp_path: Path) -> None:
    voxels = numbers((3, 5, 7), "uint8")
    location = Location.parse(f"{tmp_path}/scan:format=tiff")
    writer = registry.open_writer(location, layout_of(Case("scan/"), voxels))
    with pytest.raises(ChunkConflict, match="would share chunks"):
        writer.write(Box((0, 0, 0), (1, 2, 7)), voxels[:1, :2])
    writer.write(Box((0, 0, 0), (2, 5, 7)), voxels[:2])
    with pytest.raises(Incomplete, match="is incomplete"):
        writer.finish()
    writer.close()


def test_real_folder() -> None:
    location = Location(str(shared("ct/savu_tiff")))
    with pytest.raises(DatasetAmbiguous, match=r"/dark_\*.tiff, /flat_\*.tiff, /raw_\*.tiff"):
        open_reader(location)
    reader = open_reader(Location(location.path, "/raw_*"))
    assert reader.header.levels[0].shape == (91, 135, 160)
    assert reader.header.dtype == np.uint16
    expected = tifffile.imread(location.local / "raw_00090.tiff")
    np.testing.assert_array_equal(read(reader, Box((90, 0, 0), (91, 135, 160)))[0], expected)
