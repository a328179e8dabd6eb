"""Names of volumes."""

from pathlib import Path

import pytest

from pellucid.errors import InvalidInput
from pellucid.formats.location import Location


@pytest.mark.parametrize(
    ("text", "path", "dataset", "options"),
    [
        ("scan.h5", "scan.h5", "", ()),
        ("scan.h5:/entry/data", "scan.h5", "/entry/data", ()),
        ("scan.h5:t=3", "scan.h5", "", (("t", "3"),)),
        ("scan.h5:/entry/data:t=3,c=0", "scan.h5", "/entry/data", (("t", "3"), ("c", "0"))),
        ("a.raw:shape=3,4,5,dtype=uint8", "a.raw", "", (("shape", "3,4,5"), ("dtype", "uint8"))),
        ("s3://bucket/scan.zarr", "s3://bucket/scan.zarr", "", ()),
        ("s3://bucket/scan.h5:/data:t=1", "s3://bucket/scan.h5", "/data", (("t", "1"),)),
        ("odd:name.h5", "odd:name.h5", "", ()),
        ("odd:colour=red.h5", "odd:colour=red.h5", "", ()),
        ("slices/", "slices/", "", ()),
        ("slices:/raw_*", "slices", "/raw_*", ()),
    ],
)
def test_parts(text: str, path: str, dataset: str, options: tuple[tuple[str, str], ...]) -> None:
    location = Location.parse(text)
    assert location == Location(path, dataset, options)
    assert str(location) == text
    assert Location.parse(str(location)) == location


def test_options() -> None:
    location = Location.parse("a.h5:t=3,format=hdf5")
    assert location.number("t") == 3
    assert location.number("c") is None
    assert location.option("format") == "hdf5"
    assert str(location.with_options(t=None, c=2)) == "a.h5:format=hdf5,c=2"
    with pytest.raises(InvalidInput, match=r"Invalid t=-1: it must be a whole number. Write t=0"):
        Location.parse("a.h5:t=-1").number("t")
    with pytest.raises(InvalidInput, match="is not a valid path"):
        Location.parse(":t=1")


def test_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Location.parse("a.h5:t=1").absolute == Location(f"{tmp_path}/a.h5", "", (("t", "1"),))
    assert Location("slices/").absolute.path == f"{tmp_path}/slices/", "the slash asks for a folder of slices"
    assert Location("s3://bucket/a").is_remote
    assert Location("s3://bucket/a").absolute.path == "s3://bucket/a"
    assert not Location("s3/a").is_remote
    assert Location("~/a").local == Path("~/a").expanduser()
    assert Location.parse(tmp_path / "a.h5").local == tmp_path / "a.h5"


def test_a_file_that_exists_wins_over_options_and_datasets(tmp_path: Path) -> None:
    for name in ("a:t=3.nii.gz", "b:shape=2"):
        (tmp_path / name).touch()
        location = Location.parse(str(tmp_path / name))
        assert location == Location(str(tmp_path / name))
        assert Location.parse(f"{location}:t=1") == Location(str(tmp_path / name), "", (("t", "1"),))
    (tmp_path / "c:").mkdir()
    (tmp_path / "c:" / "d.nii").touch()
    assert Location.parse(f"{tmp_path}/c:/d.nii:t=2") == Location(f"{tmp_path}/c:/d.nii", "", (("t", "2"),))
