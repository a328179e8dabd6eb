"""A slice of the real tooth, corrected in the plainest way."""

import h5py
import numpy as np

from pellucid.tomo.scan import Floats
from tests.shared_data import shared


def tooth_sinogram(row: int) -> tuple[Floats, Floats]:
    """The sinogram (view, column) and its angles; the test is skipped where the scan is absent."""
    with h5py.File(shared("ct/tooth.h5")) as file:
        group = file["exchange"]
        frames, flats, darks = (group[name][:, row].astype(float) for name in ("data", "data_white", "data_dark"))
        angles = np.radians(np.asarray(group["theta"], float))
    dark = darks.mean(axis=0)
    transmission = np.maximum(frames - dark, 2) / np.maximum(flats.mean(axis=0) - dark, 2)
    return -np.log(transmission), angles
