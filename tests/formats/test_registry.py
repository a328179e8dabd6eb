"""Choosing the format."""

import logging
import sys
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pellucid.errors import EmptyFile, InvalidInput, NotFound, NotWritable, UnknownFormat, Unreadable
from pellucid.formats import plugins, registry
from pellucid.formats.in_memory import ArrayReader
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level


def plug(monkeypatch: pytest.MonkeyPatch, **formats: object) -> None:
    """Let third parties bring these formats; None is a module that is missing."""
    for name, plugged in formats.items():
        if plugged is not None:
            monkeypatch.setitem(sys.modules, f"somebody_{name}", plugged)
    points = EntryPoints(EntryPoint(name, f"somebody_{name}", plugins.GROUP) for name in formats)
    monkeypatch.setattr(plugins, "entry_points", points.select)
    monkeypatch.setattr(plugins, "_loaded", cache(plugins._loaded.__wrapped__))


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
    with pytest.raises(InvalidInput, match=r"Unknown format 'jpg'. Use one of: .*zarr") as error:
        registry.recognise(Location.parse(f"{tmp_path / 'a'}:format=jpg"))
    assert "memory" not in str(error.value)


def test_each_fault_has_its_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"anything")
    (tmp_path / "empty.h5").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(UnknownFormat, match=r"was not recognised.*hdf5.*--shape and --(source-)?dtype"):
        registry.recognise(Location(str(tmp_path / "a")))
    with pytest.raises(NotFound, match="does not exist"):
        registry.recognise(Location(str(tmp_path / "absent.h5")))
    for name in ("empty.h5", "folder"):
        with pytest.raises(EmptyFile, match="is empty"):
            registry.recognise(Location(str(tmp_path / name)))


def test_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.h5").write_bytes(b"1")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pellucid.formats.local_files.os.open", refuse)
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
    with pytest.raises(NotWritable, match=r"does not match a known format.*a folder/ of TIFF, hdf5"):
        registry.format_for_writing(Location("a.jpg"))
    with pytest.raises(NotWritable, match=r"precomputed is read-only.*Use a writable format: hdf5"):
        registry.format_for_writing(Location("a.precomputed"))


def test_third_party_is_asked_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = ArrayReader(np.zeros((2, 2, 2), np.uint8))
    plug(
        monkeypatch, acme=SimpleNamespace(recognises=lambda path, head: head == b"ACME!", open_reader=lambda _: reader)
    )
    (tmp_path / "a.raw").write_bytes(b"ACME!")
    location = Location(str(tmp_path / "a.raw"))
    assert registry.recognise(location) == "acme"
    assert registry.open_reader(location) is reader


def test_broken_third_parties_do_not_spoil_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def stumble(path: str, head: bytes) -> bool:
        raise KeyError("lens")

    plug(monkeypatch, absent=None, clumsy=SimpleNamespace(recognises=stumble))
    (tmp_path / "a.raw").write_bytes(b"anything")
    with caplog.at_level(logging.WARNING):
        assert registry.recognise(Location(str(tmp_path / "a.raw"))) == "raw"
    first, second = caplog.messages
    assert first.startswith("Could not load the format plugin absent; it is skipped: ModuleNotFoundError")
    assert (
        second == f"The format plugin clumsy failed to inspect {tmp_path / 'a.raw'} and was skipped: KeyError('lens')."
    )
    with pytest.raises(InvalidInput, match=r"Could not load the plugin for the format 'absent'. Repair or remove"):
        registry.open_reader(Location.parse(f"{tmp_path / 'a.raw'}:format=absent"))


def test_third_party_is_found_by_its_suffix(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = object()
    plugged = SimpleNamespace(suffixes=(".HIP",), open_writer=lambda location, layout, resume: writer)
    plug(monkeypatch, acme=plugged)
    layout = Layout((Level((1, 1, 1), (1, 1, 1)),), np.dtype(np.uint8))
    assert registry.open_writer(Location("a.hip"), layout) is writer
    assert registry.format_for_writing(Location("a.tif")) == "tiff"


@pytest.mark.parametrize("path", ["http://host:80/a.zarr", "gs://bucket/a.zarr", "ftp://host/a.h5"])
def test_other_addresses_are_refused(path: str) -> None:
    for choose in (registry.recognise, registry.format_for_writing):
        with pytest.raises(InvalidInput, match=f"Addresses with {path.partition(':')[0]}:// are not supported"):
            choose(Location.parse(path))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("a.zarr", "is named like zarr, but it has another format"),
        ("a.n5", "is named like n5, but it has another format"),
        ("a.tif", "is named like tiff, but its content does not match"),
        ("a.nrrd", "is named like nrrd, but its content does not match"),
        ("a.npy", "is named like npy, but its content does not match"),
        ("a.nc", "is named like netcdf, but its content does not match"),
    ],
)
def test_a_name_that_is_not_true(name: str, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("Some notes about the scan.")
    with pytest.raises(InvalidInput, match=rf"{name} {says}\. Check the program"):
        registry.recognise(Location(str(tmp_path / name)))
    assert registry.recognise(Location.parse(f"{tmp_path / name}:shape=1,2,13,dtype=uint8")) == "raw"


def test_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a.h5").symlink_to("gone.h5")
    for location in (Location(str(tmp_path / "a.h5")), Location.parse(f"{tmp_path / 'a.h5'}:format=npy")):
        with pytest.raises(InvalidInput, match=r"a\.h5 is a link to gone\.h5, which does not exist\. Mount the disk"):
            registry.open_reader(location)


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        ("entry/data", r"a\.h5 does\. Write \S*a\.h5:/entry/data for a dataset in it\."),
        ("", r"Write \S*a\.h5:/NAME for a dataset in it, or leave out the colon"),
        ("time=3", r"Valid options: t, c, level.*written \S*a\.h5:t=0,c=1"),
    ],
)
def test_a_colon_without_a_slash(rest: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "a.h5").write_bytes(b"1")
    with pytest.raises(InvalidInput, match=says):
        registry.recognise(Location.parse(f"{tmp_path / 'a.h5'}:{rest}"))


@pytest.mark.parametrize("name", registry.KINDS)
def test_every_format_has_its_module(name: str) -> None:
    assert callable(registry._load(name).open_reader)
