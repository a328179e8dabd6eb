"""Finding the rotation axis, from two opposite views or from a whole sinogram.

Here: correlation and phase correlation of opposite views, Vo's double wedge, the best of the three and of quick slices;
AxisChoice, AxisLine.
Not here: the score of a column (axis_score), views in even steps (half_turn), rows of the sample (sample_rows), a
tilted axis (tilt), one at the border (offset), using it (direct).

The axis is a column, counted from the centre of column 0, and may lie between two. A view from behind is mirrored in
it: what is at column j from the front is at column 2 axis - j from behind. Mirrored in the middle of the detector
instead, it has to be moved by a shift of 2 axis - (columns - 1): whole shifts are tried, which are half columns.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # Its parts load when they are used, and a viewer that only names them starts sooner.

from pellucid import settings
from pellucid.choices import check_choice
from pellucid.device import choose
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.flat_field import Calibration, attenuate
from pellucid.tomo.geometry.axis_score import QuickSlices, valleys
from pellucid.tomo.geometry.half_turn import HalfTurn, views_at
from pellucid.tomo.geometry.sample_rows import SampleRows
from pellucid.tomo.scan import Floats, Scan

MIN_OVERLAP = 0.4
"""Of the columns, that two opposite views share at least while one is moved over the other."""

MAX_VIEWS, MAX_COLUMNS = 720, 1024
"""Of the sinogram that is searched coarsely: a larger one is thinned."""

MAX_BYTES = 2**29
"""Of rows that are read together."""

DROPPED_FREQUENCIES = 20

BEST = "best"
"""The method that compares what the others find."""

COARSE_COLUMNS, COARSE_VIEWS, COARSE_STEPS = 64, 60, 49
"""Of the slices about columns across the detector, and how many columns are tried."""
FINE_COLUMNS, FINE_VIEWS = 256, 180
"""Of the slices about columns that may be the axis."""
AGREEING_PX = 1.0
"""Columns that are nearer than that are the same axis."""
TOGETHER_PX = 3.0
"""Columns within which all three ways agree with each other, also with noise."""
CLEAR_SHARE = 0.7
"""A column is clearly better than another one where its score is at most this share of the other's."""

BORDER_SHARE, WIDE_SHARE = 0.02, 0.2
"""Of the columns, that are the border on either side; and of the strongest attenuation in a view, that a sample has
there which is wider than the detector."""


def by_correlation(front: Voxels, behind: Voxels) -> float:
    """From a view at 0 and one at 180 degrees (rows, column): where they differ least when one is mirrored.

    Whole columns are tried (half columns of the axis); a parabola through the best three gives the place between them.
    nan where they differ less and less towards the end of the search.
    """
    mirrored = np.atleast_2d(behind)[:, ::-1].astype(np.float64)
    front = np.atleast_2d(front).astype(np.float64)
    columns = front.shape[1]
    most = int(columns * (1 - MIN_OVERLAP))
    shifts = np.arange(-most, most + 1)
    differences = np.array([_difference(front, mirrored, shift) for shift in shifts.tolist()])
    return float(columns - 1 + lowest_inside(shifts.astype(np.float64), differences)) / 2


def _difference(front: Floats, mirrored: Floats, shift: int) -> float:
    """Between what both show, one moved to the right by so many columns; as a share of how much they vary there, so
    that an overlap without the sample does not win."""
    columns = front.shape[1]
    a, b = front[:, max(0, shift) : columns + min(0, shift)], mirrored[:, max(0, -shift) : columns - max(0, shift)]
    varied = float(a.var() + b.var())
    return float(((a - b) ** 2).mean()) / varied if varied > 0 else np.inf


def by_phase_correlation(front: Voxels, behind: Voxels) -> float:
    """The same by the phases of a transform: fast, and indifferent to brightness, for views that show the whole sample.

    The peak is made finer by a transform that is eight times as long.
    """
    mirrored, front = np.atleast_2d(behind)[:, ::-1].astype(np.float64), np.atleast_2d(front).astype(np.float64)
    columns = front.shape[1]
    length = scipy.fft.next_fast_len(2 * columns, real=True)
    window = np.hanning(columns + 2)[1:-1]
    spectra = [scipy.fft.rfft((view - view.mean()) * window, length) for view in (front, mirrored)]
    cross = (spectra[0] * np.conj(spectra[1])).sum(axis=0)
    cross /= np.maximum(np.abs(cross), 1e-12 * np.abs(cross).max() + 1e-300)
    # High frequencies are mostly noise.
    cross *= np.exp(-((np.arange(len(cross)) / len(cross) / 0.3) ** 2))
    peaks = scipy.fft.irfft(cross, 8 * length)
    best = int(np.argmax(peaks))
    shift = (best if best < 4 * length else best - 8 * length) / 8
    return float((columns - 1 + shift) / 2)


def by_double_wedge(
    sinogram: Voxels, angles_rad: Floats, around: float | None = None, reach: float | None = None
) -> float:
    """From a half turn (view, column): where the sinogram of the full turn has least outside its double wedge.

    around: a first guess; by default from quick slices or opposite views. reach: columns searched on both sides of it,
    by default a tenth of the detector. nan where there is less and less outside towards the end of the search.
    """
    views, columns = sinogram.shape
    if views < 8 or columns < 16:
        raise InvalidInput(
            f"A sinogram of {views} x {columns} is too small to find the axis.", remedy="Set the center."
        )
    around = _guess(sinogram, angles_rad) if around is None else around
    reach = default_reach(columns) if reach is None else reach
    half = np.asarray(HalfTurn.of(sinogram, angles_rad).views, np.float32)
    coarse, factor = _thinned(scipy.ndimage.gaussian_filter(half, (3, 1)))
    # Binned by a factor, column j is at (j - (factor - 1) / 2) / factor.
    best = _best(coarse, (around - (factor - 1) / 2) / factor, reach / factor) * factor + (factor - 1) / 2
    if np.isnan(best):
        return best
    fine = scipy.ndimage.gaussian_filter(half, (2, 2))[:: max(1, len(half) // MAX_VIEWS)]
    return _best(fine, best, factor + 1.5)


def default_reach(columns: int) -> float:
    """Columns on both sides of a first guess, that the axis is looked for in."""
    return min(50.0, max(4.0, columns / 10))


def _guess(sinogram: Voxels, angles_rad: Floats) -> float:
    """The column with the best quick slice, or where opposite views agree if the sample is wider than the detector."""
    half, middle = HalfTurn.of(sinogram, angles_rad), (sinogram.shape[1] - 1) / 2
    if is_wider_than_detector(half.views):
        found = METHODS["correlation"](sinogram, angles_rad)
        return found if np.isfinite(found) else middle
    return next(iter(best_columns(half)), middle)


def best_columns(half: HalfTurn) -> list[float]:
    """Columns across the detector whose quick slices are better than those of their neighbours, best first."""
    slices = QuickSlices.of(half, COARSE_COLUMNS, COARSE_VIEWS)
    last = half.views.shape[1] - 1
    border = MIN_OVERLAP / 2
    columns = np.linspace(border * last, (1 - border) * last, COARSE_STEPS)
    found = list(valleys(columns, slices.scores(columns)))
    return sorted(found, key=slices.score)


def _thinned(half: Voxels) -> tuple[Voxels, int]:
    factor = max(1, half.shape[1] // MAX_COLUMNS)
    some = half[:: max(1, len(half) // MAX_VIEWS)]
    width = some.shape[1] // factor * factor
    return some[:, :width].reshape(len(some), -1, factor).mean(axis=2), factor


def _best(half: Voxels, around: float, reach: float) -> float:
    """The axis with the least outside the wedge, within so many columns of a guess."""
    columns = half.shape[1]
    mask = wedge_mask(2 * len(half), columns)
    shift = round(2 * around) - (columns - 1)
    shifts = np.arange(shift - int(2 * reach), shift + int(2 * reach) + 1)
    shifts = shifts[np.abs(shifts) <= columns * (1 - MIN_OVERLAP)]
    if len(shifts) < 3:
        return around
    values = np.array([_outside(half, mask, int(one)) for one in shifts])
    return float(columns - 1 + lowest_inside(shifts.astype(np.float64), values)) / 2


def wedge_mask(views: int, columns: int, ratio: float = 0.5) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Where the transform of a full turn (views, columns // 2 + 1) is all but zero, for a sample within the detector.

    A point at radius r adds no more than 2π r u cycles per turn at the frequency u: above that is nothing. Low
    frequencies along the views are left out, for there the border of the detector shows.
    """
    cycles = np.abs(np.fft.fftfreq(views, 1 / views))[:, None]
    frequencies = np.fft.rfftfreq(columns)[None]
    dropped = min(DROPPED_FREQUENCIES, int(np.ceil(0.05 * views)))
    return np.asarray((cycles > 2 * np.pi * ratio * columns * frequencies) & (cycles > dropped))


def _outside(half: Voxels, mask: Voxels, shift: int) -> float:
    """What a full turn has where nothing should be, when the view from behind is moved by a shift."""
    columns = half.shape[1]
    # Where the view from behind does not reach, the same columns of the views in opposite order stand in.
    behind = half[::-1].copy()
    kept = slice(max(0, shift), columns + min(0, shift))
    behind[:, kept] = half[:, ::-1][:, max(0, -shift) : columns - max(0, shift)]
    full = np.concatenate([half, behind])
    return float(np.abs(scipy.fft.rfft2(full, workers=settings.current().threads)[mask]).mean())


def lowest(places: Floats, values: Floats) -> float:
    """The place of the lowest value, between places by a parabola through it and its neighbours.

    >>> lowest(np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.0, 0.5]))
    1.1666666666666667
    """
    best = int(np.argmin(values))
    if not 0 < best < len(values) - 1:
        return float(places[best])
    left, middle, right = values[best - 1 : best + 2]
    curve = left - 2 * middle + right
    offset = 0.5 * (left - right) / curve if curve > 0 else 0.0
    return float(places[best] + offset * (places[best + 1] - places[best]))


def lowest_inside(places: Floats, values: Floats) -> float:
    """The same among places that are lower than both neighbours, for an end of a search is no answer; nan without any.

    >>> lowest_inside(np.arange(5.0), np.array([2.0, 1.0, 2.0, 1.5, 0.0]))
    1.0
    >>> lowest_inside(np.arange(3.0), np.arange(3.0))
    nan
    """
    inside = [int(place) for place in valleys(np.arange(len(values), dtype=np.float64), values)]
    if not inside:
        return float("nan")
    best = min(inside, key=values.__getitem__)
    return lowest(places[best - 1 : best + 2], values[best - 1 : best + 2])


@dataclass(frozen=True)
class AxisLine:
    """The column of the axis in row 0, and by how many columns it moves from one row to the next.

    >>> AxisLine(100.0, 0.5).at(np.array([0.0, 4.0])).tolist()
    [100.0, 102.0]
    """

    column: float
    slope: float = 0.0

    def at(self, rows: Floats) -> Floats:
        return self.column + self.slope * np.asarray(rows, np.float64)

    @property
    def roll_rad(self) -> float:
        """How far the detector is turned against the axis."""
        return float(np.arctan(self.slope))


def _opposite(method: Callable[[Voxels, Voxels], float]) -> Callable[[Voxels, Floats], float]:
    """A method of two views on a sinogram: the first view, and the one half a turn later, which may lie between two.

    Where the scan ends a step before that, the results of pairs that are one and two steps short are extrapolated to a
    pair that is exactly opposite.
    """

    def of_sinogram(sinogram: Voxels, angles_rad: Floats) -> float:
        turned = np.abs(angles_rad - angles_rad[0])
        if turned[-1] > np.pi and (np.diff(turned) > 0).all():
            return method(sinogram[:1], views_at(sinogram, turned, np.array([np.pi])))
        last = int(np.argmin(np.abs(turned - np.pi)))
        near = method(sinogram[:1], sinogram[last : last + 1])
        missing, step = np.pi - turned[last], turned[last] - turned[last - 1]
        if last < 3 or not 0.1 * step < missing < 1.5 * step:
            return near
        pairs = ((0, last - 1), (1, last))
        far = np.mean([method(sinogram[i : i + 1], sinogram[j : j + 1]) for i, j in pairs])
        return float(near + (near - far) * missing / step)

    return of_sinogram


@dataclass(frozen=True)
class AxisChoice:
    """The axis in one row. column: nan where it was not found. ways: what each way to find it has; nan where that found
    none. is_clear: whether the ways agree, or other columns are clearly worse."""

    column: float
    ways: dict[str, float]
    is_clear: bool = True

    @property
    def sentence(self) -> str:
        """Which way has the axis where."""
        return ", ".join(f"{name} {column:.1f}" for name, column in self.ways.items() if np.isfinite(column))


def choose_axis(sinogram: Voxels, angles_rad: Floats, method: str = BEST) -> AxisChoice:
    """What a method says of a sinogram (view, column).

    The best: the column with the best quick slice, of those that are better than their neighbours and those that one of
    the ways has; where ways agree with it, the median. Where all three ways agree with each other, they are right
    against a slice that says otherwise: noise misleads it in a sample without edges inside. Where the sample is wider
    than the detector, parts outside cause values below zero in every slice: then the median of the ways.
    """
    if method != BEST:
        column = METHODS[method](sinogram, angles_rad)
        return AxisChoice(column, {method: column})
    half = HalfTurn.of(sinogram, angles_rad)
    is_wide = is_wider_than_detector(half.views)
    ways = {name: METHODS[name](sinogram, angles_rad) for name in ("correlation", "phase-correlation")}
    found = [] if is_wide else best_columns(half)
    around = [*found, ways["correlation"], (sinogram.shape[1] - 1) / 2]
    ways["double-wedge"] = by_double_wedge(sinogram, angles_rad, next(one for one in around if np.isfinite(one)))
    if is_wide or not found:
        return _median_choice(ways, around[-1])
    slices = QuickSlices.of(half, FINE_COLUMNS, FINE_VIEWS)
    step, near_px = max(0.5, float(slices.factor)), max(AGREEING_PX, slices.factor / 2)
    tried = [slices.valley(column, step) for column in found[:2]] + list(ways.values())
    scores = {column: slices.score(column) for column in tried if np.isfinite(column)}
    best = min(scores, key=scores.__getitem__, default=around[-1])
    others = [score for column, score in scores.items() if abs(column - best) > near_px]
    is_clear = all(scores[best] <= CLEAR_SHARE * score for score in others)
    agreeing = [column for column in ways.values() if abs(column - best) <= near_px]
    if not agreeing and np.ptp(list(ways.values())) <= max(TOGETHER_PX, near_px):  # False where one found none.
        return AxisChoice(float(np.median(list(ways.values()))), ways)
    return AxisChoice(float(np.median([best, *agreeing])), ways, is_clear and bool(agreeing))


def _median_choice(ways: dict[str, float], middle: float) -> AxisChoice:
    """The median of the ways, or the middle of the detector without any; clear where two agree with it."""
    columns = [column for column in ways.values() if np.isfinite(column)]
    median = float(np.median(columns or [middle]))
    return AxisChoice(median, ways, sum(abs(column - median) <= AGREEING_PX for column in columns) > 1)


def is_wider_than_detector(half: Voxels) -> bool:
    """Whether the sample reaches beyond a border of the detector in most views (view, column)."""
    border = max(1, int(BORDER_SHARE * half.shape[1]))
    sides = np.median([np.abs(half[:, :border].mean(axis=1)), np.abs(half[:, -border:].mean(axis=1))], axis=1)
    return bool(sides.max() > WIDE_SHARE * np.median(np.percentile(half, 95, axis=1)))


METHODS: dict[str, Callable[[Voxels, Floats], float]] = {
    "double-wedge": by_double_wedge,
    "correlation": _opposite(by_correlation),
    "phase-correlation": _opposite(by_phase_correlation),
    BEST: lambda sinogram, angles_rad: choose_axis(sinogram, angles_rad).column,
}


def find_axis(scan: Scan, method: str = BEST, rows: Sequence[int] | None = None, slope: float = 0.0) -> AxisLine:
    """The axis: the median of what some rows say, by default three across the sample.

    slope: by how many columns it moves from one row to the next, where that is known.
    """
    return axis_through(choose_in_rows(scan, method, rows), slope)


def choose_in_rows(scan: Scan, method: str = BEST, rows: Sequence[int] | None = None) -> dict[int, AxisChoice]:
    """The axis in some rows, by default in three across the sample, by the number of the row."""
    check_method(method)
    scan = scan.in_angle_order()
    chosen = rows or SampleRows.of(scan).across(3)
    sinograms = sinograms_of(scan, chosen)
    return {row: choose_axis(one, scan.angles_rad, method) for row, one in zip(chosen, sinograms, strict=True)}


def axis_through(choices: dict[int, AxisChoice], slope: float = 0.0) -> AxisLine:
    """The median of what rows say."""
    columns = [choice.column - slope * row for row, choice in choices.items() if np.isfinite(choice.column)]
    if not columns:
        raise InvalidInput(
            "The axis was not found: opposite views agree best at the end of the search.",
            remedy="Pass the column of the axis with --center, or use --offset for an offset scan.",
        )
    return AxisLine(float(np.median(columns)), slope)


def check_method(method: str) -> None:
    check_choice("axis search", method, METHODS)


def sinogram_of(scan: Scan, row: int) -> Voxels:
    """The attenuation of a row, as (view, column)."""
    return next(sinograms_of(scan, [row]))


def sinograms_of(scan: Scan, rows: Sequence[int]) -> Iterator[Voxels]:
    """The same of several rows, which are read together as far as memory allows."""
    frames = scan.projections
    together = max(1, MAX_BYTES // (frames.count * frames.columns * frames.dtype.itemsize))
    for first in range(0, len(rows), together):
        some = rows[first : first + together]
        raw = frames.read_rows(some)
        for index, row in enumerate(some):
            calibration = Calibration.of(scan, (row, row + 1))
            found = attenuate(raw[:, index : index + 1], frames.times, calibration, choose("cpu"))
            yield np.asarray(found.sinograms[0])
