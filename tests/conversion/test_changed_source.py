"""Interrupted work and cached statistics belong to the voxels as they are now, in whatever file they are."""

import os
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

import pellucid
from pellucid.formats.protocol import Voxels
from tests.conversion.interrupted import StopsAfter, small_pieces

MEMORY_BYTES = 2**18


def write_source(path: Path, voxels: Voxels) -> None:
    """Always of the same size and with the same time of change."""
    with h5py.File(path, "w") as file:
        file["data"] = voxels
    os.utime(path, ns=(0, 10**18))


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    """A virtual dataset, whose own file never changes."""
    voxels = np.arange(64 * 16 * 16, dtype=np.uint16).reshape(64, 16, 16)
    write_source(tmp_path / "source.h5", voxels)
    layout = h5py.VirtualLayout(voxels.shape, voxels.dtype)
    layout[:] = h5py.VirtualSource("source.h5", "data", voxels.shape)
    with h5py.File(tmp_path / "scan.h5", "w") as file:
        file.create_virtual_dataset("data", layout)
    return tmp_path / "scan.h5"


def interrupt(source: Path, target: Path) -> int:
    """How many blocks were finished before it stopped."""
    engine = StopsAfter(2, memory_bytes=MEMORY_BYTES)
    with pytest.raises(KeyboardInterrupt):
        pellucid.convert(source, target, engine=engine, **small_pieces(target))
    return engine.finished


def resume(source: Path, target: Path) -> tuple[Voxels, int]:
    engine = StopsAfter(-1, memory_bytes=MEMORY_BYTES)
    with pellucid.convert(source, target, engine=engine, **small_pieces(target)) as volume:
        voxels: Voxels = volume.read()
        return voxels, engine.finished


def test_a_source_that_did_not_change_is_resumed(scan: Path, tmp_path: Path) -> None:
    done = interrupt(scan, tmp_path / "a.zarr")
    whole = resume(scan, tmp_path / "b.zarr")[1]
    voxels, finished = resume(scan, tmp_path / "a.zarr")
    assert 0 < done < whole
    assert finished == whole - done
    np.testing.assert_array_equal(voxels.ravel(), np.arange(64 * 16 * 16))


def test_voxels_changed_in_another_file_start_again(scan: Path, tmp_path: Path) -> None:
    interrupt(scan, tmp_path / "a.zarr")
    changed = np.arange(64 * 16 * 16, dtype=np.uint16)[::-1].reshape(64, 16, 16)
    write_source(tmp_path / "new.h5", changed)
    shutil.copy2(tmp_path / "new.h5", tmp_path / "source.h5")
    voxels, _ = resume(scan, tmp_path / "a.zarr")
    np.testing.assert_array_equal(voxels, changed)


def test_statistics_are_of_the_voxels_now(scan: Path, tmp_path: Path) -> None:
    with pellucid.open(scan) as volume:
        assert volume.value_range == (0, 64 * 16 * 16 - 1)
    write_source(tmp_path / "new.h5", np.full((64, 16, 16), 7, np.uint16))
    shutil.copy2(tmp_path / "new.h5", tmp_path / "source.h5")
    with pellucid.open(scan) as volume:
        assert volume.value_range == (7, 7)
