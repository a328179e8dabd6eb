"""Volumes that are the frames of a scan are recognised as such."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from pellucid.volume.volume import open_volume
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
