"""The light of a scan: the counts of the open beam, the smallest count that is used, and scans without light.

Here: beam_of, floor_of, dark_share; check_light, check_share, light_warnings and saturation_warnings.
Not here: correcting frames (correction).

Everything follows the scale of the values, so that a scan in other units (flats of 1.0, or of 60,000 counts) gives the
same volume.
"""

from math import sqrt
from weakref import WeakKeyDictionary

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.frame_check import good_darks, good_flats
from pellucid.tomo.scan import Floats, Frames, Scan

FLOOR_SHARE = 1e-4
"""Of the open beam: fewer counts carry no information and count as this many."""

FLOOR_STEP = 0.5
"""The same for whole numbers: half a step between two of them."""

FLOOR_TRANSMISSION = 1e-6
"""The same for a scan without flats, whose values are shares of the beam."""

BEAM_PERCENT = 90
"""Percentile of a flat that is the open beam: the beam may light a small part of the detector."""

MAX_DARK_SHARE = 0.5
"""Of all pixels, that may have no light."""

MAX_TRANSMISSION = 2.0
"""Projections without flats that exceed this are not transmissions."""

MAX_SATURATED_SHARE, MIN_SATURATED_SHARE = 0.5, 0.005
"""Of the pixels at the largest value of their type, or of a detector with fewer bits: with more at that of the type in
the flats a scan is refused, with less it is not mentioned."""

PLATEAU_PERCENT, PLATEAU_RATIO, PLATEAU_NEIGHBORS = 99.9, 10.0, 8
"""Where saturation begins, but for some hot pixels; it has so many times more pixels than any of so many values below,
while counts of light become fewer towards the largest."""

MIN_NOISE = 1.5
"""Counts by which neighbouring pixels of a flat differ at least: without noise, air has one value too."""

SAMPLED_FLATS, SAMPLED_VIEWS, SAMPLED_PIXELS = 3, 15, 2**18

_BEAMS: WeakKeyDictionary[Scan, float] = WeakKeyDictionary()


def floor_of(scan: Scan) -> float:
    """The least count above the dark that is used; the same for all rows of a scan."""
    if scan.flats is None:
        return FLOOR_TRANSMISSION
    floor = FLOOR_SHARE * beam_of(scan)
    return max(floor, FLOOR_STEP) if np.issubdtype(scan.projections.dtype, np.integer) else floor


def beam_of(scan: Scan) -> float:
    """Counts of the open beam above the dark, from a few flats; read once for every scan."""
    if scan not in _BEAMS:
        _BEAMS[scan] = _measured_beam(scan)
    return _BEAMS[scan]


def _measured_beam(scan: Scan) -> float:
    flats = good_flats(scan)
    if flats is None:
        return 1.0
    dark = _mean_dark(scan)
    levels = [_percentile(flat - dark) for flat in _sample(flats, SAMPLED_FLATS)]
    beam = float(np.median(levels))
    if not beam > 0:
        raise InvalidInput(
            f"The flats of {scan.name} are not brighter than its darks (by {beam:.4g}).",
            remedy="Check that flats and darks are not swapped; set them with --flats and --darks.",
        )
    return beam


def check_light(scan: Scan, rows: tuple[int, int] | None = None) -> None:
    """Refuse a scan that is mostly dark in some projections, before any time is spent on all of them."""
    if scan.flats is not None and (share := _saturated_share(scan.flats, SAMPLED_FLATS)) > MAX_SATURATED_SHARE:
        raise InvalidInput(
            f"{100 * share:.0f} % of the pixels of the flats of {scan.name} are saturated.",
            remedy="Use flats with a shorter exposure or less beam: pass them with --flats.",
        )
    check_share(scan, dark_share(scan, rows))


def saturation_warnings(scan: Scan) -> list[str]:
    """A sentence each where many pixels of the flats or of the projections are saturated, with their share."""
    found = (("flats", scan.flats, SAMPLED_FLATS), ("projections", scan.projections, SAMPLED_VIEWS))
    parts = [(what, _sample(frames, count)) for what, frames, count in found if frames is not None]
    if not np.issubdtype(scan.projections.dtype, np.integer) or not parts:
        return []
    is_noisy = _noise(parts[0][1]) >= MIN_NOISE
    sentences = []
    for what, sample in parts:
        level = np.iinfo(scan.projections.dtype).max
        share = _share_at(sample, level)
        if share <= MIN_SATURATED_SHARE and is_noisy:
            level = int(np.percentile(sample, PLATEAU_PERCENT, method="lower"))
            share = _share_at(sample, level) if _is_plateau(sample, level) else 0.0
        if share > MIN_SATURATED_SHARE:
            sentences.append(
                f"{100 * share:.2g} % of the pixels of the {what} are saturated (at {level}): attenuation is wrong "
                "there. Repeat the scan with a shorter exposure or less beam."
            )
    return sentences


def _share_at(sample: list[Floats], level: float) -> float:
    return float(np.mean([np.mean(frame >= level) for frame in sample]))


def _is_plateau(sample: list[Floats], level: int) -> bool:
    """Whether far more pixels have this value than any of those below it that occur."""
    values, counts = np.unique(np.stack(sample), return_counts=True)
    at = int(np.searchsorted(values, level))
    below = counts[max(0, at - PLATEAU_NEIGHBORS) : at]
    return len(below) == PLATEAU_NEIGHBORS and counts[at] >= PLATEAU_RATIO * below.max()


def _noise(sample: list[Floats]) -> float:
    """How much neighbouring pixels differ, in the median; pixels with the largest value left out."""
    frames = np.stack(sample)
    differences = np.abs(np.diff(frames, axis=2))[frames[:, :, 1:] < frames.max()]
    return float(np.median(differences)) if differences.size else 0.0


def _saturated_share(frames: Frames, count: int) -> float:
    """The share of pixels at the largest value of their type, in a few frames; 0 for numbers that are not whole."""
    if not np.issubdtype(frames.dtype, np.integer):
        return 0.0
    largest = np.iinfo(frames.dtype).max
    return float(np.mean([np.mean(frame >= largest) for frame in _sample(frames, count)]))


def check_share(scan: Scan, share: float) -> None:
    """Refuse a reconstruction where more than half of the pixels had no light."""
    if share <= MAX_DARK_SHARE:
        return
    if scan.flats is None:
        cause = "the projections are attenuations already (-ln), or counts that need flats and darks"
    else:
        cause = "the flats or darks belong to another scan, or the beam lights only some of the rows"
    raise InvalidInput(
        f"{100 * share:.0f} % of the pixels of {scan.name} have no light or no value.",
        remedy=f"Check --flats and --darks, or choose rows with --rows. Probable causes: {cause}.",
    )


def light_warnings(scan: Scan) -> list[str]:
    """A sentence where the projections of a scan without flats are not transmissions."""
    if scan.flats is not None:
        return []
    level = float(np.median([_percentile(view) for view in _sample(scan.projections, SAMPLED_FLATS)]))
    if level <= MAX_TRANSMISSION:
        return []
    return [f"Without flats, projections are assumed to be transmissions from 0 to 1, but these reach {level:.4g}."]


def dark_share(scan: Scan, rows: tuple[int, int] | None = None) -> float:
    """The share of pixels below the floor, in the flats or in the projections; an estimate from a few frames."""
    floor, dark = floor_of(scan), _mean_dark(scan)
    top, bottom = rows or (0, scan.rows)
    thin = _step(scan)
    some = slice(-(-top // thin), max(-(-top // thin) + 1, -(-bottom // thin)))
    has_beam: Voxels = np.ones((), np.bool_)
    if (flats := good_flats(scan)) is not None:
        has_beam = np.median([flat - dark for flat in _sample(flats, SAMPLED_FLATS)], axis=0)[some] >= floor
    # What is not a number is not above the floor.
    lit = [((view - dark)[some] >= floor) & has_beam for view in _sample(scan.projections, SAMPLED_VIEWS)]
    return 1 - float(np.mean(lit))


def _mean_dark(scan: Scan) -> Floats:
    darks = good_darks(scan)
    if darks is None:
        return np.zeros(())
    return np.asarray(np.mean(_sample(darks, SAMPLED_FLATS), axis=0))


def _sample(frames: Frames, count: int) -> list[Floats]:
    """A few frames spread over all, thinned."""
    step = _step(frames)
    chosen = np.unique(np.linspace(0, frames.count - 1, min(count, frames.count)).round().astype(int))
    return [frames.read((n, n + 1))[0, ::step, ::step].astype(np.float64) for n in chosen.tolist()]


def _step(frames: Frames | Scan) -> int:
    return max(1, round(sqrt(frames.rows * frames.columns / SAMPLED_PIXELS)))


def _percentile(values: Floats) -> float:
    finite = values[np.isfinite(values)]
    return float(np.percentile(finite, BEAM_PERCENT)) if finite.size else 0.0
