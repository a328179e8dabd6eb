"""Line integrals are exact; simulated scans reconstruct to the sample they were made of; faults are what they say."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from pellucid.tomo.correction.flat_field import Calibration, attenuate, replace_bad_views
from pellucid.tomo.correction.zingers import remove_zingers
from pellucid.tomo.geometry.view_weights import view_weights
from pellucid.tomo.methods.direct import ParallelGeometry, back_project
from pellucid.tomo.methods.filters import filter_sinograms
from pellucid.tomo.scan_files.registry import open_scan
from pellucid.tomo.simulation.detector import Detector, Faults, integrals, simulate, write_nxtomo
from pellucid.tomo.simulation.phantoms import Ellipsoid, Phantom, beads, disc, foam, shepp_logan

ANGLES = np.arange(180) * np.pi / 180


def test_a_disc_is_a_half_ellipse_at_every_angle() -> None:
    s = np.arange(-40, 41.0)
    found = disc(30, 0.01).line_integrals(ANGLES, np.array([0.0, 5.0]), s)
    wanted = 0.02 * np.sqrt(np.clip(30**2 - s**2, 0, None))
    np.testing.assert_allclose(found, np.broadcast_to(wanted, found.shape), atol=1e-7)


def test_line_integrals_are_sums_along_rays() -> None:
    """A turned, moved ellipsoid, by adding up the points of a ray."""
    phantom = Phantom(
        (Ellipsoid(0.03, (4.0, -6.0, 2.0), (12.0, 7.0, 9.0), 0.6), Ellipsoid(-0.01, (5, -5, 1), (3, 3, 3)))
    )
    angles, z, s = np.array([0.3, 1.1, 2.9]), np.array([-1.0, 3.0]), np.array([-8.0, -1.0, 4.0])
    t = np.arange(-30, 30, 0.002)
    found = phantom.line_integrals(angles, z, s)
    for i, angle in enumerate(angles):
        for j, height in enumerate(z):
            for k, distance in enumerate(s):
                x = distance * np.cos(angle) - t * np.sin(angle)
                y = distance * np.sin(angle) + t * np.cos(angle)
                inside = sum(part.attenuation * part.covers(height + 0 * t, y, x) for part in phantom.parts)
                assert found[i, j, k] == pytest.approx(0.002 * np.sum(inside), abs=2e-4)


def test_the_kernel_is_its_definition() -> None:
    phantom = beads(30, 12)
    z, s = np.arange(-20, 21.0), np.arange(-32, 32.0) + 0.3
    wanted = sum(part.attenuation * part.lengths(ANGLES[::9], z, s) for part in phantom.parts)
    np.testing.assert_allclose(phantom.line_integrals(ANGLES[::9], z, s), wanted, atol=1e-7)


def test_a_simulated_scan_as_a_file(tmp_path: Path) -> None:
    scan = simulate(foam(20, 5), Detector(5, 48, axis_column=22.0, pixel_size_um=2.5), ANGLES, Faults(beam_loss=0.2))
    write_nxtomo(scan, tmp_path / "scan.nxs")
    with closing(open_scan(tmp_path / "scan.nxs")) as found:
        assert (found.kind, found.pixel_size_um) == ("NXtomo", 2.5)
        np.testing.assert_allclose(found.angles_rad, scan.angles_rad)
        np.testing.assert_array_equal(found.projections.read(), scan.projections.read())
        calibrations = [Calibration.of(one) for one in (found, scan)]
    for name in ("flats", "darks", "times"):
        np.testing.assert_allclose(*(getattr(one, name) for one in calibrations))


@pytest.mark.parametrize("phantom", [disc(25, 0.02, 10, -5), shepp_logan(45), foam(45, 40)])
def test_a_scan_reconstructs_to_its_sample(phantom: Phantom) -> None:
    detector = Detector(9, 128, axis_column=61.0)
    scan = simulate(phantom, detector, ANGLES, Faults(beam_loss=0.3))
    corrected = attenuate(scan.projections.read(), scan.projections.times, Calibration.of(scan))
    exact = integrals(phantom, detector, ANGLES).transpose(1, 0, 2)
    np.testing.assert_allclose(corrected.sinograms, exact, atol=2e-5)
    geometry = ParallelGeometry.shared(scan.angles_rad, 61.0, 9)
    slices = back_project(filter_sinograms(corrected.sinograms, "hann"), geometry)
    wanted = phantom.voxels((9, 128, 128))
    assert view_weights(scan.angles_rad).sum() == pytest.approx(np.pi)
    assert np.corrcoef(slices.ravel(), wanted.ravel())[0, 1] > 0.88  # the skull is a pixel thick


def test_a_disc_comes_back_within_a_ten_thousandth() -> None:
    detector, angles = Detector(1, 256), np.arange(720) * np.pi / 720
    sinogram = integrals(disc(80, 0.01), detector, angles).transpose(1, 0, 2).astype(np.float32)
    image = back_project(
        filter_sinograms(sinogram, "chesler", padding="none"), ParallelGeometry.shared(angles, 127.5, 1)
    )[0]
    middle = image[108:148, 108:148].mean()
    assert middle == pytest.approx(0.01, rel=1e-4)


def test_faults_are_what_they_say() -> None:
    faults = Faults(is_noisy=True, rings=5, zingers=50, black=(3, 4), seed=2)
    detector = Detector(4, 64, counts=40_000)
    scan = simulate(disc(20), detector, ANGLES, faults)
    raw = scan.projections.read()
    assert raw.dtype == np.uint16 and (raw == 65535).sum() == pytest.approx(50, abs=2)
    corrected = attenuate(raw, scan.projections.times, Calibration.of(scan))
    assert np.flatnonzero(corrected.bad.any(axis=0)).tolist() == [3, 4]
    replace_bad_views(corrected.sinograms, corrected.bad, scan.angles_rad)
    cleaned, count = remove_zingers(corrected.sinograms)
    assert count == pytest.approx(50, abs=5)
    error = cleaned.mean(axis=(0, 1)) - integrals(disc(20), detector, ANGLES).mean(axis=(0, 1))
    assert (np.abs(error) > 0.03).sum() == 5
    again = simulate(disc(20), detector, ANGLES, faults)
    np.testing.assert_array_equal(again.projections.read(), raw)


def test_a_tilted_axis_moves_from_row_to_row() -> None:
    detector = Detector(5, 64, axis_column=30, tilt=0.5)
    rows = integrals(disc(10), detector, ANGLES[:1])[0]
    centres = (rows * np.arange(64)).sum(axis=1) / rows.sum(axis=1)
    np.testing.assert_allclose(centres, 30 + 0.5 * (np.arange(5) - 2), atol=1e-2)
