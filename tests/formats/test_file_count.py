"""Outputs that are made of at most so many files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pellucid.cli.main import main
from pellucid.conversion.convert import convert
from pellucid.errors import InvalidInput
from pellucid.formats.chunked.file_count import count_files, with_max_files
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level, Voxels
from pellucid.infer.apply import apply_network
from pellucid.infer.job import InferenceOptions
from pellucid.volume.volume import open_volume
from tests.infer.small_networks import convolution

SHAPE = (40, 70, 50)


@pytest.fixture
def voxels() -> Voxels:
    return np.random.default_rng(0).integers(0, 255, SHAPE).astype(np.uint8)


def files_of(path: Path) -> int:
    return sum(one.is_file() for one in path.rglob("*"))


@pytest.mark.parametrize("name", ["a.zarr", "a.zarr2", "a.n5"])
@pytest.mark.parametrize("levels", [1, 3])
@pytest.mark.parametrize("most", [20, 60, 10_000])
def test_no_more_files_than_allowed(name: str, levels: int, most: int, voxels: Voxels, tmp_path: Path) -> None:
    plain, bounded = tmp_path / "plain" / name, tmp_path / name
    small: dict[str, Any] = {"chunk": (8, 8, 8), "shard": (8, 16, 16) if name == "a.zarr" else None, "levels": levels}
    convert(voxels, plain, **small).close()
    with convert(voxels, bounded, **small, max_files=most) as volume:
        np.testing.assert_array_equal(volume.read(), voxels)
        assert len(volume.levels) == levels
    assert files_of(bounded) <= most
    if most < 100:
        assert files_of(plain) > most


def test_formats_of_one_file_are_as_they_are(voxels: Voxels, tmp_path: Path) -> None:
    convert(voxels, tmp_path / "a.h5", max_files=1).close()
    assert files_of(tmp_path) == 1


def test_shards_grow_across_slices_first_and_chunks_evenly() -> None:
    layout = Layout((Level((64, 256, 256), (16, 64, 64)),), np.dtype(np.uint8), shard=(16, 64, 64))
    assert with_max_files(Location("a.zarr"), layout, 6 + 4).shard == (16, 256, 256)
    assert with_max_files(Location("a.zarr"), layout, 6 + 2).shard == (32, 256, 256)
    (level,) = with_max_files(Location("a.n5"), layout, 6 + 4).levels
    assert level.chunk == (64, 128, 128)
    assert count_files(layout, is_sharded=True) == count_files(layout, is_sharded=False) == 6 + 64
    usual = replace(layout, shard=None)  # As large as the format makes them.
    assert with_max_files(Location("a.zarr"), usual, 6 + 64) is usual
    assert with_max_files(Location("a.zarr"), layout, None) is layout


def test_what_cannot_be_reached_is_refused(voxels: Voxels, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"needs at least 7 files, which is more than 3") as error:
        convert(voxels, tmp_path / "a.zarr", max_files=3)
    assert "HDF5" in error.value.remedy
    with pytest.raises(InvalidInput, match="Invalid value for max_files: 0"):
        convert(voxels, tmp_path / "a.zarr", max_files=0)


def test_commands_and_networks_keep_to_it(voxels: Voxels, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", voxels)
    command = ["convert", str(tmp_path / "a.npy"), str(tmp_path / "b.zarr"), "--chunk", "8,8,8", "--max-files", "20"]
    assert main([*command, "--quiet"]) == 0
    assert files_of(tmp_path / "b.zarr") <= 20
    network = convolution(tmp_path / "net.onnx", np.ones((1, 1, 1, 1)))
    options = InferenceOptions(chunk=(8, 8, 8), max_files=20)
    apply_network(tmp_path / "a.npy", tmp_path / "c.n5", network, options)[0].close()
    assert files_of(tmp_path / "c.n5") <= 20
    with open_volume(tmp_path / "c.n5") as volume:
        np.testing.assert_array_equal(volume.read(), voxels)
