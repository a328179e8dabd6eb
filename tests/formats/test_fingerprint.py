"""Fingerprints change when the content may have."""

import os
import shutil
from pathlib import Path

import h5py
import numpy as np
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
    with pytest.raises(NotFound, match="does not exist"):
        fingerprint(Location(str(tmp_path / "absent")))


def test_voxels_in_another_file_count(tmp_path: Path) -> None:
    voxels = np.zeros((2, 3, 4), np.uint16)
    with h5py.File(tmp_path / "source.h5", "w") as file:
        file["data"] = voxels
    layout = h5py.VirtualLayout(voxels.shape, voxels.dtype)
    layout[:] = h5py.VirtualSource("source.h5", "data", voxels.shape)
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        file.create_virtual_dataset("data", layout)
    with h5py.File(tmp_path / "linked.h5", "w") as file:
        file["data"] = h5py.ExternalLink("source.h5", "/data")
    (tmp_path / "source.raw").write_bytes(voxels.tobytes())
    head = "NRRD0004\ntype: uint16\ndimension: 3\nsizes: 4 3 2\nendian: little\nencoding: raw\n"
    (tmp_path / "detached.nhdr").write_text(f"{head}data file: source.raw\n")
    locations = [Location(str(tmp_path / name)) for name in ("virtual.h5", "linked.h5", "detached.nhdr")]
    before = [fingerprint(location) for location in locations]
    assert before == [fingerprint(location) for location in locations]
    for name in ("source.h5", "source.raw"):
        os.utime(tmp_path / name, ns=(0, 1000))
    assert not set(before) & {fingerprint(location) for location in locations}


def test_a_copy_of_equal_size_and_time_is_another_content(tmp_path: Path) -> None:
    path, other = tmp_path / "a.npy", tmp_path / "b.npy"
    for name, number in ((path, 1), (other, 2)):
        np.save(name, np.full((2, 3, 4), number))
        os.utime(name, ns=(0, 1000))
    before = fingerprint(Location(str(path)))
    shutil.copy2(other, path)
    assert path.stat().st_mtime_ns == 1000
    assert fingerprint(Location(str(path))) != before
    again = fingerprint(Location(str(path)))
    other.replace(path)
    assert fingerprint(Location(str(path))) != again


def test_reading_changes_nothing(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 3, 4)))
    location = Location(str(tmp_path / "a.npy"))
    before = fingerprint(location)
    np.load(tmp_path / "a.npy")
    os.utime(tmp_path, ns=(0, 5))
    assert fingerprint(location) == before
