"""NIfTI, against nibabel."""

import gzip
from pathlib import Path

import nibabel
import numpy as np
import pytest

from pellucid.box import Box
from pellucid.errors import Corrupted, InvalidInput, Truncated, UnsupportedType, WrongDimensions
from pellucid.formats import registry
from pellucid.formats.flat.nifti import open_reader
from pellucid.formats.flat.nifti_header import CODES, parse_header
from pellucid.formats.location import Location
from tests.contracts.formats import SPACING, Case, numbers, read, read_all, same_bits, write
from tests.shared_data import shared

SHAPE = (3, 5, 7)


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
@pytest.mark.parametrize("dtype", CODES)
def test_nibabel_reads_what_is_written(name: str, dtype: str, tmp_path: Path) -> None:
    voxels = numbers(SHAPE, dtype)
    image = nibabel.load(write(Case(name), tmp_path, voxels).path)
    assert same_bits(np.ascontiguousarray(np.asarray(image.dataobj).T), voxels)
    assert image.header.get_zooms() == tuple(np.float32(step) for step in SPACING[::-1])
    assert image.header.get_xyzt_units()[0] == "micron"
    assert (image.header["sform_code"], image.header["qform_code"]) == (0, 0), "an orientation that is not known"


def test_long_axis_makes_version_two(tmp_path: Path) -> None:
    voxels = numbers((1, 2, 40000), "uint8")
    location = write(Case("a.nii"), tmp_path, voxels)
    image = nibabel.load(location.path)
    assert isinstance(image, nibabel.Nifti2Image)
    assert same_bits(np.ascontiguousarray(np.asarray(image.dataobj).T), voxels)
    assert same_bits(read_all(location), voxels)


@pytest.mark.parametrize("kind", [nibabel.Nifti1Image, nibabel.Nifti2Image, nibabel.Nifti1Pair])
@pytest.mark.parametrize("order", ["<", ">"])
def test_what_nibabel_writes_is_read(kind: type, order: str, tmp_path: Path) -> None:
    voxels = numbers(SHAPE, "int16")
    header = kind.header_class(endianness=order)  # type: ignore[attr-defined]
    header.set_data_dtype(np.dtype(f"{order}i2"))
    image = kind(voxels.T, np.diag([0.5, 1.5, 2.5, 1]), header)
    image.header.set_xyzt_units("mm", "sec")
    name = tmp_path / ("a.hdr" if kind is nibabel.Nifti1Pair else "a.nii")
    nibabel.save(image, name)
    reader = registry.open_reader(Location(str(name)))
    assert same_bits(read(reader), voxels)
    assert reader.header.levels[0].spacing == (2.5, 1.5, 0.5)
    assert reader.header.unit == "mm"
    reader.close()


def test_either_file_of_a_pair_opens_it(tmp_path: Path) -> None:
    voxels = numbers(SHAPE, "int16")
    nibabel.save(nibabel.Nifti1Pair(voxels.T, np.eye(4)), tmp_path / "a.hdr")
    assert same_bits(read_all(Location(str(tmp_path / "a.img"))), voxels)
    (tmp_path / "a.img").write_bytes(
        b"IM" + (tmp_path / "a.img").read_bytes()[2:]
    )  # As frames of another format begin.
    assert registry.recognise(Location(str(tmp_path / "a.img"))) == "nifti"
    (tmp_path / "a.hdr").write_bytes(b"ENVI")
    (tmp_path / "a.img").write_bytes(voxels.tobytes())
    with pytest.raises(InvalidInput, match=r"The header of .*, a\.hdr, is not a NIfTI header"):
        registry.open_reader(Location(str(tmp_path / "a.img")))
    options = {"format": "raw", "shape": "3,5,7", "dtype": "int16"}
    assert same_bits(read_all(Location(str(tmp_path / "a.img")).with_options(**options)), voxels)


def test_scaled_numbers_are_given_as_values(tmp_path: Path) -> None:
    stored = numbers(SHAPE, "int16")
    image = nibabel.Nifti1Image(stored.T, np.eye(4))
    image.header.set_slope_inter(0.25, 10)
    nibabel.save(image, tmp_path / "a.nii")
    # nibabel scales on saving: put the slope in afterwards, over unscaled numbers
    content = bytearray((tmp_path / "a.nii").read_bytes())
    content[112:120] = np.array([0.25, 10], "<f4").tobytes()
    (tmp_path / "a.nii").write_bytes(content[:352] + stored.tobytes())
    reader = open_reader(Location(str(tmp_path / "a.nii")))
    assert reader.header.dtype == np.float32
    box = Box((1, 1, 2), (3, 4, 6))
    np.testing.assert_array_equal(read(reader, box), stored[box.slices] * np.float32(0.25) + 10)
    np.testing.assert_array_equal(read(reader), np.asarray(nibabel.load(tmp_path / "a.nii").dataobj).T)
    reader.close()


def test_time_and_channel(tmp_path: Path) -> None:
    voxels = np.random.default_rng(0).integers(0, 99, (2, 4, *SHAPE)).astype(np.uint8)  # c, t, z, y, x
    nibabel.save(nibabel.Nifti1Image(voxels.T, np.eye(4)), tmp_path / "a.nii.gz")
    reader = open_reader(Location(str(tmp_path / "a.nii.gz")))
    assert (reader.header.times, reader.header.channels) == (4, 2)
    out = np.empty(SHAPE, np.uint8)
    for t, c in ((0, 0), (3, 1)):
        reader.read(Box.whole(SHAPE), out, t=t, c=c)
        np.testing.assert_array_equal(out, voxels[c, t])
    reader.close()


def test_colours_are_channels(tmp_path: Path) -> None:
    voxels = np.random.default_rng(0).integers(0, 99, (*SHAPE, 3)).astype(np.uint8)
    colours = voxels.view([("R", "u1"), ("G", "u1"), ("B", "u1")])[..., 0]
    nibabel.save(nibabel.Nifti1Image(colours.T, np.eye(4)), tmp_path / "a.nii")
    reader = open_reader(Location(str(tmp_path / "a.nii")))
    out = np.empty(SHAPE, np.uint8)
    reader.read(Box.whole(SHAPE), out, c=1)
    assert reader.header.channels == 3
    np.testing.assert_array_equal(out, voxels[..., 1])
    reader.close()


@pytest.mark.parametrize(("unit", "factor"), [("nm", 1e-3), ("cm", 1e4)])
def test_units_that_nifti_lacks_become_micrometres(unit: str, factor: float, tmp_path: Path) -> None:
    header = open_reader(write(Case("a.nii"), tmp_path, numbers(SHAPE, "uint8"), unit=unit)).header
    assert header.unit == "um"
    assert header.levels[0].spacing == pytest.approx([step * factor for step in SPACING])


@pytest.mark.parametrize(
    ("position", "stored", "error", "text"),
    [
        (0, b"\0\0\0\0", Corrupted, "does not begin with the size of a NIfTI header"),
        (344, b"xxxx", Corrupted, "lacks the magic"),
        (70, b"\x20\0", UnsupportedType, r"the values are complex \(complex64, NIfTI code 32\)"),
        (70, b"\x80\x06", UnsupportedType, "NIfTI code 1664"),
        (40, b"\2\0", WrongDimensions, r"shape \(5, 7\)"),
        (46, b"\4\0", Truncated, "is truncated"),
    ],
)
def test_each_fault_has_its_error(
    position: int, stored: bytes, error: type[Exception], text: str, tmp_path: Path
) -> None:
    location = write(Case("a.nii"), tmp_path, numbers(SHAPE, "uint8"))
    content = bytearray(location.local.read_bytes())
    content[position : position + len(stored)] = stored
    location.local.write_bytes(content)
    with pytest.raises(error, match=text):
        open_reader(location)


def test_header_alone_is_cut_short(tmp_path: Path) -> None:
    content = write(Case("a.nii"), tmp_path, numbers(SHAPE, "uint8")).local.read_bytes()
    with pytest.raises(Truncated, match="expected 348 bytes, found 100"):
        parse_header(tmp_path / "a.nii", content[:100])


def test_same_voxels_give_the_same_compressed_bytes(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    first, second = (write(Case("a.nii.gz"), at, numbers(SHAPE, "uint8")).local for at in (tmp_path, tmp_path / "b"))
    assert first.read_bytes() == second.read_bytes()
    assert gzip.decompress(first.read_bytes())[352:] == numbers(SHAPE, "uint8").tobytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.nii.gz", "b"]


@pytest.mark.parametrize(
    ("name", "codec", "other"), [("a.nii", "gzip", r"a\.nii\.gz"), ("a.nii.gz", "none", r"a\.nii")]
)
def test_codec_and_name_must_agree(name: str, codec: str, other: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=rf"does not match .*\. Name it {other}, or leave out the codec"):
        write(Case(name, codec=codec), tmp_path, numbers(SHAPE, "uint8"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "dtype"), [("engine", "uint8"), ("spm152", "float32")])
def test_real_scan(name: str, dtype: str) -> None:
    location = Location(str(shared(f"volumes/{name}.nii.gz")))
    reader = open_reader(location)
    expected = np.asarray(nibabel.load(location.path).dataobj).T
    assert reader.header.levels[0].shape == expected.shape
    assert reader.header.dtype.name == dtype
    box = Box((30, 20, 30), (70, 200, 120))
    assert same_bits(read(reader, box), np.ascontiguousarray(expected[box.slices], dtype))
    reader.close()
