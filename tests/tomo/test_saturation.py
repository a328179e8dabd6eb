"""Saturated detectors are warned about or refused; of two frames that disagree, the wrong one is left out."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.errors import InvalidInput
from pellucid.tomo.correction.beam import check_light, saturation_warnings
from pellucid.tomo.correction.frame_check import frame_warnings, rejected_darks, rejected_flats
from pellucid.tomo.scan import Frames, Scan
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
