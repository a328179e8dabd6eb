"""Fingerprints change when the content may have."""

import os
from pathlib import Path

import pytest

from pellucid.errors import NotFound
from pellucid.formats.fingerprint import fingerprint
from pellucid.formats.location import Location


def test_file(tmp_path: Path) -> None:
    path = tmp_path / "a.nrrd"
    path.write_bytes(b"12345")
    os.utime(path, ns=(0, 1000))
    first = fingerprint(Location(str(path)))
    assert first == fingerprint(Location(str(path)))
    assert len(first) == 32
    os.utime(path, ns=(0, 1001))
    assert fingerprint(Location(str(path))) != first
    path.write_bytes(b"123456")
    os.utime(path, ns=(0, 1000))
    assert fingerprint(Location(str(path))) != first
    assert fingerprint(Location(str(path), "/other")) != fingerprint(Location(str(path)))


def test_folder(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "chunk").write_bytes(b"1")
    first = fingerprint(Location(str(tmp_path / "a")))
    assert fingerprint(Location(f"{tmp_path / 'a'}/")) == first
    (tmp_path / "a" / "b" / "another").write_bytes(b"1")
    second = fingerprint(Location(str(tmp_path / "a")))
    assert second != first
    os.utime(tmp_path / "a" / "b" / "chunk", ns=(0, 5))
    assert fingerprint(Location(str(tmp_path / "a"))) != second


def test_link_is_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert fingerprint(Location(str(tmp_path / "link"))) == fingerprint(Location(str(tmp_path / "a")))


def test_nothing_has_none(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nothing at"):
        fingerprint(Location(str(tmp_path / "absent")))
