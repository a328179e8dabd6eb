"""Flats and darks that differ from the others: a closed shutter, a lost beam, a sample in the beam, light in a dark.

Here: good_flats and good_darks, which leave such frames out, and frame_warnings, which names them.
Not here: averaging frames (correction), pixels that are bad in all frames (bad_pixel_search).

A frame is reduced to medians of tiles, which noise, zingers and bad pixels hardly change, and compared with the median
frame. A beam that drifts is no fault: levels are compared with a line through time, and frames with those that were
taken together.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from math import pi, sqrt
from weakref import WeakKeyDictionary

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.tomo.scan import FRAMES_AT_ONCE, Floats, Frames, Indices, Scan, frame_groups
from pellucid.volume.volume import Volume

TILE_ROWS, TILES_ACROSS, MIN_TILE_COLUMNS = 16, 32, 8
MIN_BEAM_SHARE = 0.1
"""Of the brightest flat: a flat with less was taken without beam."""

MIN_BEAM_DEVIATIONS = 4.0
"""Standard deviations of the noise of a tile of a dark, above it: a flat with less was taken without beam."""

LIT_SHARE = 0.3
"""Of the brightest tiles: only tiles with more are compared, because a beam moves at its edges."""

LEVEL_TOLERANCE, SHAPE_TOLERANCE, DARK_TOLERANCE = 0.05, 0.05, 0.02
"""Relative to the beam. Below these, a difference between frames is always ordinary."""

LONE_TOLERANCE = 0.5
"""The same of levels, for a flat that was taken with one other or alone."""

LEVEL_DEVIATIONS, SHAPE_RATIO, NOISE_DEVIATIONS = 8.0, 5.0, 8.0
"""A level is ordinary within so many median deviations of the others, a shape within so many times their difference,
and both within so many standard deviations of the noise of a tile."""

NOISE_OF_DIFFERENCES = 1.25 * sqrt(pi) / 2
"""The noise of a median of one pixel, from the mean difference of two pixels: both normal."""

PAIR_TOLERANCE = 0.15
"""By how much a part of one of two flats may be darker than in the other, relatively."""

MAX_LISTED = 10

Judge = Callable[[], Indices]
_REJECTED: WeakKeyDictionary[Volume, dict[tuple[object, ...], Indices]] = WeakKeyDictionary()


def good_flats(scan: Scan) -> Frames | None:
    """The flats less those that differ from the others; an error where none is left."""
    if scan.flats is None:
        return None
    rejected = rejected_flats(scan)
    if len(rejected) == scan.flats.count:
        raise InvalidInput(
            f"All {scan.flats.count} flats of {scan.name} are unusable: they have no beam, or all differ.",
            remedy="Choose good flats with --flats, for example --flats frames:0:10, or use --flats none.",
        )
    return _without(scan.flats, rejected)


def good_darks(scan: Scan) -> Frames | None:
    """The darks less those that differ from the others."""
    return None if scan.darks is None else _without(scan.darks, rejected_darks(scan))


def frame_warnings(scan: Scan) -> list[str]:
    """A sentence each about the flats and the darks that are left out, with their numbers from 0."""
    found = (
        ("flats", scan.flats, rejected_flats, "no beam, an unsteady beam, or a sample in it"),
        ("darks", scan.darks, rejected_darks, "light, or another exposure"),
    )
    return [
        (
            f"The 2 {what} (0 and 1) disagree by more than drift and noise, and {_listed(rejected)} is not used. "
            if frames.count == 2
            else f"These of the {frames.count} {what} (counted from 0) differ from the others and are not used: "
            f"{_listed(rejected)}. "
        )
        + f"Probable cause: {cause}."
        for what, frames, judge, cause in found
        if frames is not None and len(rejected := judge(scan))
    ]


def rejected_flats(scan: Scan) -> Indices:
    """The numbers of the flats that are not used."""
    flats = scan.flats
    if flats is None or flats.count < 2:
        return np.empty(0, np.int64)

    def judge() -> Indices:
        darks = good_darks(scan)
        dark = _Tiles(np.zeros((1, 1)), 0.0) if darks is None else _tiles(darks)
        tiles, groups = _tiles(flats), frame_groups(flats.times, scan.projections.times)
        above = replace(tiles, medians=tiles.medians - np.median(dark.medians, axis=0))
        return _judged_flats(above, MIN_BEAM_DEVIATIONS * dark.noise, flats.times, groups)

    return _remembered(flats, scan, "flats", judge)


def rejected_darks(scan: Scan) -> Indices:
    """The numbers of the darks that are not used; without flats the scale of the counts is not known, and all are."""
    darks, flats = scan.darks, scan.flats
    if darks is None or flats is None or darks.count < 2:
        return np.empty(0, np.int64)

    def judge() -> Indices:
        tiles = _tiles(darks)
        beam = float(np.median(_tiles(flats).medians.max(axis=1)) - np.median(tiles.medians))
        return _judged_darks(tiles, beam)

    return _remembered(darks, scan, "darks", judge)


def _remembered(frames: Frames, scan: Scan, what: str, judge: Judge) -> Indices:
    """The verdict on frames of a volume, made once: slabs, light and pixel repair all ask for it."""
    known = _REJECTED.setdefault(frames.volume, {})
    others = scan.darks if what == "flats" else scan.flats
    key = (what, frames.indices.tobytes(), b"" if others is None else others.indices.tobytes())
    if key not in known:
        known[key] = judge()
    return known[key]


def _without(frames: Frames, rejected: Indices) -> Frames:
    if not len(rejected):
        return frames
    return frames.choose(np.setdiff1d(np.arange(frames.count), rejected))


def _listed(numbers: Indices) -> str:
    more = " and more" if len(numbers) > MAX_LISTED else ""
    return ", ".join(str(number) for number in numbers[:MAX_LISTED].tolist()) + more


@dataclass(frozen=True, eq=False)
class _Tiles:
    """medians: (frame, tile), of parts of some rows. noise: of a median, the largest of all frames."""

    medians: Floats
    noise: float


def _tiles(frames: Frames) -> _Tiles:
    """Of frames as they are stored."""
    stored = Frames(frames.volume, frames.indices, frames.times)
    rows = np.unique(((np.arange(TILE_ROWS) + 0.5) * frames.rows / TILE_ROWS).astype(int)).tolist()
    count = max(1, min(TILES_ACROSS, frames.columns // MIN_TILE_COLUMNS))
    edges = np.linspace(0, frames.columns, count + 1).astype(int)
    parts, noise = [], 0.0
    for first in range(0, frames.count, FRAMES_AT_ONCE):
        some = stored.choose(slice(first, first + FRAMES_AT_ONCE)).read_rows(rows).astype(np.float64)
        some[~np.isfinite(some)] = 0.0
        across = [np.median(some[:, :, low:high], axis=2) for low, high in pairwise(edges)]
        parts.append(np.concatenate(across, axis=1))
        # Neighbouring pixels differ by their noise, and by a beam that is not even: that only makes it larger.
        noise = max(noise, float(np.abs(np.diff(some, axis=2)).mean(axis=(1, 2)).max()))
    return _Tiles(np.concatenate(parts), NOISE_OF_DIFFERENCES * noise / sqrt(frames.columns / count))


def _judged_flats(tiles: _Tiles, least: float, times: Floats, groups: list[Indices]) -> Indices:
    """tiles: above the dark. least: counts that are a beam, and not the noise of darks.

    The worst flat is left out first, and the rest is judged without it.
    """
    brightest = tiles.medians.max(axis=0)
    if brightest.max() <= 0:
        return np.empty(0, np.int64)  # Flats and darks are exchanged, which is an error of its own.
    levels = np.median(tiles.medians[:, brightest > LIT_SHARE * brightest.max()], axis=1)
    is_lit = (levels > MIN_BEAM_SHARE * levels.max()) & (levels > least)
    kept = np.flatnonzero(is_lit)
    while len(kept) > 2:
        shared = [np.flatnonzero(np.isin(kept, group)) for group in groups]
        scores = _flat_scores(replace(tiles, medians=tiles.medians[kept]), times[kept], shared)
        if scores.max() <= 1:
            break
        kept = np.delete(kept, np.argmax(scores))
    if len(kept) == 2:  # Of two that disagree in a part of the field, a sample makes that part darker.
        kept = kept[levels[kept] > levels[kept].max() / 2]
    if len(kept) == len(levels) == 2:
        kept = np.delete(kept, _darker_flats(tiles))
    return np.setdiff1d(np.arange(len(levels)), kept)


def _darker_flats(tiles: _Tiles) -> list[int]:
    """The one of two flats that is much darker in a part of the field, while the rest of both is alike or drifts."""
    brightest = tiles.medians.max(axis=0)
    is_lit = brightest > LIT_SHARE * brightest.max()
    ratios = np.maximum(tiles.medians[1, is_lit], 1e-6) / np.maximum(tiles.medians[0, is_lit], 1e-6)
    noise = NOISE_DEVIATIONS * tiles.noise / (LIT_SHARE * float(brightest.max()))
    if ratios.min() >= (1 - max(PAIR_TOLERANCE, noise)) * ratios.max():
        return []
    return [1 if ratios.min() * ratios.max() < 1 else 0]


def _judged_darks(tiles: _Tiles, beam: float) -> Indices:
    kept = np.arange(len(tiles.medians))
    while beam > 0 and len(kept) > 2:
        some = tiles.medians[kept]
        differences = np.abs(some - np.median(some, axis=0)).max(axis=1) / beam
        scores = _shape_scores(differences, max(DARK_TOLERANCE, NOISE_DEVIATIONS * tiles.noise / beam))
        if scores.max() <= 1:
            break
        kept = np.delete(kept, np.argmax(scores))
    if beam > 0 and len(kept) == len(tiles.medians) == 2:
        brighter = tiles.medians[1] - tiles.medians[0]
        if np.abs(brighter).max() > DARK_TOLERANCE * beam + NOISE_DEVIATIONS * tiles.noise:
            kept = np.delete(kept, 1 if brighter.sum() > 0 else 0)
    return np.setdiff1d(np.arange(len(tiles.medians)), kept)


def _flat_scores(tiles: _Tiles, times: Floats, groups: list[Indices]) -> Floats:
    """How much every flat differs from the others, in units of what is ordinary.

    A beam may change between groups of flats: what is like the frames that were taken with it is ordinary.
    """
    levels, differences = _compared(tiles.medians)
    noise = NOISE_DEVIATIONS * tiles.noise / (LIT_SHARE * float(np.median(tiles.medians.max(axis=1))))
    steadiness = max(LEVEL_TOLERANCE, noise / sqrt(tiles.medians.shape[1]))
    likeness = max(SHAPE_TOLERANCE, noise)
    level_scores = _level_scores(_detrended(levels, times), steadiness)
    shape_scores = _shape_scores(differences, likeness)
    alone = np.abs(levels - 1) / LONE_TOLERANCE
    for group in groups:
        if len(group) > 2:
            own_levels, own_differences = _compared(tiles.medians[group])
            level_scores[group] = np.minimum(level_scores[group], _level_scores(own_levels, steadiness))
            shape_scores[group] = np.minimum(shape_scores[group], _shape_scores(own_differences, likeness))
        else:  # One or two may follow a beam that has really changed.
            level_scores[group] = np.minimum(level_scores[group], alone[group])
    return np.maximum(level_scores, shape_scores)


def _compared(medians: Floats) -> tuple[Floats, Floats]:
    """Of every frame against the median of all: its level, and by how much its shape differs at most."""
    middle = np.median(medians, axis=0)
    is_lit = middle > LIT_SHARE * middle.max()
    ratios = medians[:, is_lit] / middle[is_lit]
    levels = np.median(ratios, axis=1)
    return levels, np.abs(ratios / np.maximum(levels, 1e-6)[:, None] - 1).max(axis=1)


def _detrended(levels: Floats, times: Floats) -> Floats:
    """Levels less a line through time that outliers do not move: the median of the slopes between all pairs."""
    first, second = np.triu_indices(len(times), 1)
    apart = times[second] - times[first]
    slopes = (levels[second] - levels[first])[apart != 0] / apart[apart != 0]
    return np.asarray(levels - (np.median(slopes) if slopes.size else 0.0) * times)


def _level_scores(levels: Floats, tolerance: float) -> Floats:
    """How far every level is from the median of the others."""
    scores = np.empty(len(levels))
    for number, level in enumerate(levels):
        others = np.delete(levels, number)
        middle = np.median(others)
        spread = np.median(np.abs(others - middle))
        scores[number] = abs(level - middle) / max(tolerance, LEVEL_DEVIATIONS * spread)
    return scores


def _shape_scores(differences: Floats, tolerance: float) -> Floats:
    """How much more than the others every frame differs from the median of the others."""
    usual = np.array([np.median(np.delete(differences, number)) for number in range(len(differences))])
    return np.asarray(differences / np.maximum(tolerance, SHAPE_RATIO * usual))
