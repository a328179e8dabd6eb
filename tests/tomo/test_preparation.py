"""Steps that need whole projections, done once: what is written is a scan like any other."""

from pathlib import Path

import numpy as np
import pytest

from pellucid.device import Device, choose, primitives
from pellucid.errors import InvalidInput
from pellucid.tomo.correction import Calibration, attenuate, mend
from pellucid.tomo.offset_scans import OffsetAxis, find_offset_axis
from pellucid.tomo.phantoms import disc, foam
from pellucid.tomo.phase import Paganin
from pellucid.tomo.preparation import Preparation, prepare
from pellucid.tomo.reference import steps as reference
from pellucid.tomo.scan import Scan
from pellucid.tomo.simulation import Detector, Faults, integrals, simulate

ANGLES = np.arange(40) * np.pi / 40
SAMPLE = foam(25, 10)


def attenuation(scan: Scan) -> np.ndarray[tuple[int, int, int], np.dtype[np.float32]]:
    """As (view, row, column)."""
    found = attenuate(scan.projections.read(), scan.projections.times, Calibration.of(scan))
    mend(found.sinograms, found.bad, scan.angles_rad)
    return primitives(choose()).to_host(found.sinograms).transpose(1, 0, 2)


@pytest.mark.parametrize("name", ["prepared.npy", "prepared.zarr", "prepared.h5"])
def test_without_steps_it_is_the_same_scan(name: str, device: Device, tmp_path: Path) -> None:
    detector = Detector(6, 64, axis_column=30.0)
    scan = simulate(SAMPLE, detector, ANGLES, Faults(beam_loss=0.2))
    found = prepare(scan, Preparation(), tmp_path / name, device)
    np.testing.assert_allclose(attenuation(found), integrals(SAMPLE, detector, ANGLES), atol=5e-5)
    assert found.assumptions == ("Prepared from a simulation: flats and darks corrected.",)
    assert found.pixel_size_um == 1.0


def test_an_offset_scan_is_joined_and_binned(device: Device, tmp_path: Path) -> None:
    sample, turn = foam(50, 20), np.arange(80) * np.pi / 40
    scan = simulate(sample, Detector(4, 64, axis_column=52.5), turn)
    axis = find_offset_axis(attenuation(scan)[:, 1])
    assert axis.column == 52.5
    found = prepare(scan, Preparation(offset=axis, binning=2), tmp_path / "wide.npy", device)
    assert found.projections.shape == (40, 2, axis.joined_columns // 2)
    assert found.axis_column == pytest.approx((52.5 - 0.5) / 2) and found.pixel_size_um == 2.0
    wide = np.exp(-integrals(sample, Detector(4, axis.joined_columns, axis_column=52.5), turn[:40]))
    wanted = wide[:, :, : axis.joined_columns // 2 * 2].reshape(40, 2, 2, -1, 2).mean(axis=(2, 4))
    np.testing.assert_allclose(found.projections.read(), wanted, atol=1e-5)


def test_phase_is_retrieved_and_black_views_stay_black(device: Device, tmp_path: Path) -> None:
    phase = Paganin(energy_kev=20, distance_mm=20, pixel_size_um=3.0, delta_over_beta=200)
    detector = Detector(12, 64)
    scan = simulate(disc(20), detector, ANGLES, Faults(black=(5,)))
    found = prepare(scan, Preparation(phase=phase), tmp_path / "phase.npy", device)
    frames = found.projections.read()
    assert (frames[5] == 0).all()
    transmission = np.exp(-integrals(disc(20), detector, ANGLES))
    wanted = reference.paganin(transmission, phase.strength, phase.pad_px)
    np.testing.assert_allclose(-np.log(frames[6:]), wanted[6:], atol=5e-5)
    np.testing.assert_allclose(attenuation(found)[5], wanted[5], atol=5e-3)  # from its neighbours
    assert "phase retrieved with a radius of" in found.assumptions[0]


def test_a_turned_detector_is_put_upright_before_the_slices(tmp_path: Path) -> None:
    scan = simulate(disc(10), Detector(33, 65, tilt=0.1), ANGLES[:4])
    found = prepare(scan, Preparation(roll_rad=float(np.arctan(0.1))), tmp_path / "upright.npy")
    rows = attenuation(found)[0]
    centres = (rows * np.arange(65)).sum(axis=1) / rows.sum(axis=1)
    assert np.ptp(centres[4:-4]) < 0.1
    with pytest.raises(InvalidInput, match="cannot be put upright"):
        Preparation(offset=OffsetAxis(80, 64), roll_rad=0.1)
