"""Saturated detectors are warned about or refused; of two frames that disagree, the wrong one is left out."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.errors import InvalidInput
from pellucid.tomo.correction.beam import check_light, saturation_warnings
from pellucid.tomo.correction.frame_check import frame_warnings, rejected_darks, rejected_flats
from pellucid.tomo.scan import Frames, Scan
from pellucid.tomo.scan_files.registry import open_scan
from tests.shared_data import shared
from tests.tomo.analytic import ellipse_sinogram, even_angles

ROWS, COLUMNS, VIEWS = 8, 64, 40
ANGLES = even_angles(VIEWS, np.pi)


def scan_of(counts: float = 20_000.0, drift: float = 1.0) -> Scan:
    """Two flats and two darks; the second flat has another level."""
    random = np.random.default_rng(1)
    lengths = np.repeat(ellipse_sinogram(ANGLES, COLUMNS, 31.0, (20.0, 15.0))[:, None], ROWS, axis=1)
    beam = np.full((2, ROWS, COLUMNS), counts) * np.array([1.0, drift])[:, None, None]
    projections = random.poisson(counts * np.exp(-0.03 * lengths)) + 100
    parts = (projections, random.poisson(beam) + 100, random.poisson(np.full_like(beam, 100.0)))
    frames = [Frames.from_array(np.minimum(part, 65535).astype(np.uint16)) for part in parts]
    return Scan("pairs", "test", frames[0], ANGLES, frames[1].untimed(), frames[2].untimed())


def with_frame(frames: Frames | None, number: int, frame: Frames) -> Frames:
    assert frames is not None
    changed = np.array(frames.read())
    changed[number] = frame.read((0, 1))[0]
    return Frames.from_array(changed).untimed()


def test_saturated_pixels_are_warned_about_with_their_share() -> None:
    scan = scan_of()
    assert saturation_warnings(scan) == []
    projections = np.array(scan.projections.read())
    projections[:, :, :16] = 65535
    (warning,) = saturation_warnings(replace(scan, projections=Frames.from_array(projections)))
    assert warning.startswith("25 % of the pixels of the projections are saturated")


def clipped_at(level: int, beam: float, gain: int = 1) -> Scan:
    """A detector with fewer bits than its files: counts end at a level, in steps of the gain."""
    random, shape = np.random.default_rng(2), (3, ROWS, COLUMNS)
    lengths = np.repeat(ellipse_sinogram(ANGLES, COLUMNS, 31.0, (20.0, 15.0))[:, None], ROWS, axis=1)
    profile = beam * (1 - 0.1 * np.linspace(0, 1, COLUMNS) ** 2)
    parts = (
        random.poisson(profile * np.exp(-0.03 * lengths)),
        random.poisson(profile + np.zeros(shape)),
        0 * lengths[:2],
    )
    frames = [Frames.from_array(np.minimum(part * gain, level).astype(np.uint16)) for part in parts]
    return Scan("bits", "test", frames[0], ANGLES, frames[1].untimed(), frames[2].untimed())


@pytest.mark.parametrize(
    ("level", "beam", "gain"), [(4095, 4200.0, 1), (16383, 16500.0, 1), (3901, 4100.0, 1), (65520, 4200.0, 16)]
)
def test_detectors_with_fewer_bits_than_their_files_saturate_too(level: int, beam: float, gain: int) -> None:
    warnings = saturation_warnings(clipped_at(level, beam, gain))
    assert len(warnings) == 2
    for what, text in zip(("flats", "projections"), warnings, strict=True):
        assert f"of the pixels of the {what} are saturated (at {level})" in text


def test_hot_pixels_do_not_hide_a_plateau() -> None:
    scan = clipped_at(4095, 4200.0)
    assert scan.flats is not None
    flats = np.array(scan.flats.read())
    flats[0, 3, 7] = 65535
    assert "(at 4095)" in saturation_warnings(replace(scan, flats=Frames.from_array(flats)))[0]


@pytest.mark.parametrize("beam", [20.0, 300.0, 3000.0, 60_000.0])
def test_ordinary_light_is_no_plateau(beam: float) -> None:
    assert saturation_warnings(clipped_at(65535, beam)) == []
    assert saturation_warnings(clipped_at(65535, beam / 16, gain=16)) == []


def test_light_without_noise_is_no_plateau() -> None:
    """Simulated scans have one value in all air."""
    scan = clipped_at(65535, 3000.0)
    lengths = np.repeat(ellipse_sinogram(ANGLES, COLUMNS, 31.0, (20.0, 15.0))[:, None], ROWS, axis=1)
    clean = Frames.from_array((3000 * np.exp(-0.03 * lengths)).astype(np.uint16))
    flats = Frames.from_array(np.full((3, ROWS, COLUMNS), 3000, np.uint16))
    assert saturation_warnings(replace(scan, projections=clean, flats=flats)) == []


@pytest.mark.parametrize("name", ["ct/tooth.h5", "ct/savu_tiff", "ct/k11_diad/k11-18014.nxs"])
def test_real_scans_are_not_saturated(name: str) -> None:
    scan = open_scan(shared(name))
    assert saturation_warnings(scan) == []
    scan.close()


def test_flats_that_are_mostly_saturated_are_refused() -> None:
    with pytest.raises(InvalidInput, match="100 % of the pixels of the flats of pairs are saturated") as error:
        check_light(scan_of(counts=90_000.0))
    assert "--flats" in error.value.remedy


@pytest.mark.parametrize("number", [0, 1])
def test_of_two_flats_the_one_with_the_sample_is_left_out(number: int) -> None:
    scan = scan_of()
    scan = replace(scan, flats=with_frame(scan.flats, number, scan.projections))
    assert rejected_flats(scan).tolist() == [number]
    (warning,) = frame_warnings(scan)
    assert warning.startswith(
        f"The 2 flats (0 and 1) disagree by more than drift and noise, and {number} is not used. Probable cause: "
    )


@pytest.mark.parametrize("number", [0, 1])
def test_of_two_darks_the_one_with_light_is_left_out(number: int) -> None:
    scan = scan_of()
    assert scan.flats is not None
    scan = replace(scan, darks=with_frame(scan.darks, number, scan.flats))
    assert rejected_darks(scan).tolist() == [number]
    assert rejected_flats(scan).tolist() == []
    assert frame_warnings(scan)[0].startswith("The 2 darks (0 and 1) disagree")


@pytest.mark.parametrize("drift", [1.0, 0.8])
def test_two_flats_of_a_beam_that_drifts_are_both_used(drift: float) -> None:
    assert frame_warnings(scan_of(drift=drift)) == []
