"""Choosing the format."""

import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from types import SimpleNamespace

import pytest

from pellucid.errors import EmptyFile, InvalidInput, NotFound, NotWritable, UnknownFormat, Unreadable
from pellucid.formats import registry
from pellucid.formats.location import Location


@pytest.mark.parametrize(
    ("name", "head", "expected"),
    [
        ("a.dat", b"\x89HDF\r\n\x1a\n", "hdf5"),
        ("a.nc", b"\x89HDF\r\n\x1a\n", "hdf5"),
        ("a", b"CDF\x01", "netcdf"),
        ("a", b"CDF\x02", "netcdf"),
        ("a", b"CDF\x05", "netcdf"),
        ("a.png", b"II*\0", "tiff"),
        ("a", b"MM\0+", "tiff"),
        ("a", b"NRRD0005", "nrrd"),
        ("a", bytes(344) + b"n+1\0", "nifti"),
        ("a", bytes(344) + b"ni1\0", "nifti"),
        ("a", bytes(4) + b"n+2\0", "nifti"),
        ("a", b"ObjectType = Image", "metaimage"),
        ("a", b"NDims = 3", "metaimage"),
        ("a", b"\x93NUMPY", "npy"),
        ("a.NII.GZ", b"\x1f\x8b", "nifti"),
        ("a.raw", b"anything", "raw"),
        ("a.VOL", b"anything", "raw"),
    ],
)
def test_file_by_content_and_then_by_name(name: str, head: bytes, expected: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(head)
    assert registry.recognise(Location(str(tmp_path / name))) == expected


@pytest.mark.parametrize(
    ("inside", "expected"),
    [("zarr.json", "zarr"), (".zarray", "zarr"), ("attributes.json", "n5"), ("info", "precomputed"), ("a.TIF", "tiff")],
)
def test_folder_by_what_is_in_it(inside: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / inside).touch()
    assert registry.recognise(Location(str(tmp_path))) == expected


def test_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"anything")
    assert registry.recognise(Location.parse(f"{tmp_path / 'a'}:format=npy")) == "npy"
    assert registry.recognise(Location.parse(f"{tmp_path / 'a'}:shape=1,2,4")) == "raw"
    with pytest.raises(InvalidInput, match=r"no format 'jpg'. Known: .*zarr"):
        registry.recognise(Location.parse(f"{tmp_path / 'a'}:format=jpg"))


def test_each_fault_has_its_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"anything")
    (tmp_path / "empty.h5").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(UnknownFormat, match=r"no format known here.*hdf5.*--shape and --dtype"):
        registry.recognise(Location(str(tmp_path / "a")))
    with pytest.raises(NotFound, match="nothing at"):
        registry.recognise(Location(str(tmp_path / "absent.h5")))
    for name in ("empty.h5", "folder"):
        with pytest.raises(EmptyFile, match="is empty"):
            registry.recognise(Location(str(tmp_path / name)))


def test_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.h5").write_bytes(b"1")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(Unreadable, match=r"Permission denied\. Check its permissions"):
        registry.recognise(Location(str(tmp_path / "a.h5")))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.ome.zarr", "zarr"), ("a.zarr/", "zarr"), ("a.n5", "n5"), ("a.h5", "hdf5"), ("a.tif", "tiff"),
        ("slices/", "tiff"), ("a.nii.gz", "nifti"), ("a.mhd", "metaimage"), ("s3://bucket/a.zarr", "zarr"),
        ("a:format=n5", "n5"),
    ],
)  # fmt: skip
def test_output_by_its_name(name: str, expected: str) -> None:
    assert registry.format_for_writing(Location.parse(name)) == expected


def test_output_that_cannot_be_written() -> None:
    with pytest.raises(NotWritable, match=r"asks for no format.*a folder/ of TIFF, hdf5"):
        registry.format_for_writing(Location("a.jpg"))
    with pytest.raises(NotWritable, match=r"precomputed is only read.*Writable formats: hdf5"):
        registry.format_for_writing(Location("a.precomputed"))


def test_third_party_is_asked_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = object()
    plugged = SimpleNamespace(recognises=lambda path, head: head == b"HIPIC", open_reader=lambda location: reader)
    monkeypatch.setitem(sys.modules, "somebody", plugged)
    point = EntryPoint("hipic", "somebody", "pellucid.formats")
    monkeypatch.setattr(registry, "entry_points", lambda **wanted: EntryPoints([point]).select(**wanted))
    registry._plugin.cache_clear()
    (tmp_path / "a.raw").write_bytes(b"HIPIC")
    location = Location(str(tmp_path / "a.raw"))
    assert registry.recognise(location) == "hipic"
    assert registry.open_reader(location) is reader
    registry._plugin.cache_clear()
