"""Volumes that are the frames of a scan are recognised as such."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from pellucid.rendering.first_view.volumes import stack_scene
from pellucid.tomo.scan_files.projection_guess import resembles_projections
from pellucid.volume.volume import Volume, open_volume
from pellucid.workers.queries.describe import facts_of


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    """Data Exchange without angles and flats, and a volume beside the frames."""
    with h5py.File(tmp_path / "scan.h5", "w") as file:
        file["exchange/data"] = np.arange(6 * 4 * 5, dtype=np.uint16).reshape(6, 4, 5)
        file["exchange/theta"] = np.arange(6) * 30.0
        file["exchange/data_white"], file["exchange/data_dark"] = np.ones((1, 4, 5)), np.zeros((1, 4, 5))
        file["result"] = np.arange(4 * 5 * 5, dtype=np.float32).reshape(4, 5, 5)
    np.save(tmp_path / "volume.npy", np.arange(6 * 4 * 5, dtype=np.uint16).reshape(6, 4, 5))
    return tmp_path / "scan.h5"


@pytest.mark.parametrize(
    ("name", "is_projections"),
    [("scan.h5:/exchange/data", True), ("scan.h5:/result", False), ("volume.npy", False)],
)
def test_frames_are_told_from_volumes(scan: Path, name: str, is_projections: bool) -> None:
    with open_volume(str(scan.parent / name)) as volume:
        assert facts_of(volume).is_projections is is_projections


def test_a_stack_that_looks_like_projections_is_recognised_and_slices_are_not(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    _, rows, columns = np.indices((40, 24, 64), float)
    angles = np.linspace(0, np.pi, 40)[:, None, None]
    path = sum(
        2 * np.sqrt(np.maximum(size**2 - (columns - 31.5 - away * np.cos(angles + turn)) ** 2, 0)) / 60
        for size, away, turn in ((6, 15, 0.0), (9, 10, 2.0), (4, 20, 4.0))
    ) * (rows > 5)
    frames = (40000 * np.exp(-path) + random.normal(0, 100, path.shape)).astype(np.uint16)
    z, y, x = np.indices((40, 24, 64), float)
    ball = (np.hypot(np.hypot(z - 20, y - 12), x - 32) < 11) * 1000.0
    assert resembles_projections(Volume.from_array(frames))
    for other in (ball, 2000 - ball, random.normal(1000, 5, z.shape), np.full(z.shape, 7.0)):
        assert not resembles_projections(Volume.from_array(other.astype(np.float32)))
    camera = stack_scene(Volume.from_array(frames)).camera
    assert np.subtract(camera.position, camera.target)[:2] == pytest.approx([0, 0], abs=1e-9)
