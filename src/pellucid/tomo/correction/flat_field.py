"""From counts to attenuation: flats, darks, pixels with too little light, bad projections, air, binning.

Here: Calibration, Correction and attenuate(); replace_bad_views(), level_air() and bin_frames() on a device.
Not here: single hot pixels (zingers), rings (rings), what the steps mean (reference.steps).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from pellucid.device import Array, Device, choose, launch, primitives
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.formats.thread_pool import ThreadPool
from pellucid.tomo.correction.beam import floor_of
from pellucid.tomo.correction.frame_check import good_darks, good_flats
from pellucid.tomo.scan import Floats, Frames, Scan, frame_groups

BAD_SHARE = 0.4
"""A row of a projection with more of its pixels clipped than this is replaced. Without light, noise about the dark
level clips a little more than half of them."""

MAX_LISTED = 10
"""Rows or views in a sentence."""
FLATS_AT_ONCE = 32
BATCH_PIXELS, BATCHES = 2**17, 64
"""Pixels that a thread corrects at once on the CPU, as many as its cache holds: a frame at a time, Python has more to
say than NumPy to do. Of few frames still that many batches are made, so that they take little memory."""

ENDLESS = np.float32(1e30)
"""More counts than any detector has."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """What the detector gives without sample and without beam, for some rows.

    flats, darks: (group, row, column); frames with no projection between them are one group. Flats are less the dark of
    their time. times, dark_times: of the groups. floor: the least count that is used (light.floor_of). first_row: of
    the scan.
    """

    flats: Voxels
    times: Floats
    darks: Voxels
    dark_times: Floats
    floor: float
    first_row: int = 0

    @classmethod
    def of(cls, scan: Scan, rows: tuple[int, int] | None = None) -> "Calibration":
        """Read a scan's good flats and darks, a few frames at a time."""
        rows = rows or (0, scan.rows)
        taken, blank = scan.projections.times, np.zeros((1, rows[1] - rows[0], scan.columns))
        dark_frames, flat_frames = good_darks(scan), good_flats(scan)
        darks, dark_times = (blank, np.zeros(1)) if dark_frames is None else mean_groups(dark_frames, taken, rows)
        if flat_frames is None:
            flats, times = blank + 1, np.zeros(1)
        else:
            flats, times = mean_groups(flat_frames, taken, rows)
            flats = flats - _between(darks, *group_shares(times, dark_times))
        return cls(flats.astype(np.float32), times, darks.astype(np.float32), dark_times, floor_of(scan), rows[0])

    def part(self, rows: slice) -> "Calibration":
        """For some of the rows."""
        first_row = self.first_row + (rows.start or 0)
        return replace(self, flats=self.flats[:, rows], darks=self.darks[:, rows], first_row=first_row)


def mean_groups(frames: Frames, projection_times: Floats, rows: tuple[int, int]) -> tuple[Floats, Floats]:
    """Means of the frames that were taken together, as (group, row, column), and the time of every group."""
    groups = frame_groups(frames.times, projection_times)
    means = [mean_frame(frames.choose(group), rows) for group in groups]
    return np.stack(means), np.array([frames.times[group].mean() for group in groups])


def mean_frame(frames: Frames, rows: tuple[int, int]) -> Floats:
    """The average of all frames, in double precision, with few of them in memory at once."""
    total = np.zeros((rows[1] - rows[0], frames.columns))
    for first in range(0, frames.count, FLATS_AT_ONCE):
        total += frames.read((first, min(frames.count, first + FLATS_AT_ONCE)), rows).sum(axis=0, dtype=np.float64)
    return total / frames.count


def group_shares(times: Floats, group_times: Floats) -> tuple[Voxels, Voxels]:
    """For every projection the group before it, and how far it is on the way to the next; ends are level.

    >>> groups, shares = group_shares(np.array([0.0, 5.0, 12.0]), np.array([1.0, 11.0]))
    >>> groups.tolist(), (10 * shares).round().tolist()
    ([0, 0, 1], [0.0, 4.0, 0.0])
    """
    place = np.interp(times, group_times, np.arange(len(group_times)))
    groups = np.floor(place).astype(np.int32)
    return groups, (place - groups).astype(np.float32)


def _between(frames: Voxels, groups: Voxels, shares: Voxels) -> Voxels:
    """One frame for every share, between the frames of two groups."""
    after = np.minimum(groups + 1, len(frames) - 1)
    return np.asarray(frames[groups] + shares[:, None, None] * (frames[after] - frames[groups]))


@dataclass(frozen=True, eq=False)
class Correction:
    """What came out of the correction: sinograms (row, view, column) on the device, and what was wrong.

    clipped: per (row, view), how many pixels were below the floor or no number.
    """

    sinograms: Array
    clipped: Voxels

    @property
    def bad(self) -> Voxels:
        """Per (row, view): whether the row of that projection is of no use."""
        return np.asarray(self.clipped > BAD_SHARE * self.sinograms.shape[2])

    @property
    def black_rows(self) -> list[int]:
        """Rows without light in any view."""
        return [int(row) for row in np.flatnonzero((self.clipped == self.sinograms.shape[2]).all(axis=1))]

    @property
    def dim_rows(self) -> list[int]:
        """Other rows that are bad in every view, so that they cannot be replaced."""
        return [int(row) for row in np.flatnonzero(self.bad.all(axis=1)) if int(row) not in self.black_rows]

    @property
    def mended_views(self) -> list[int]:
        """Views with rows that are replaced by those of other views."""
        is_mended = self.bad & ~self.bad.all(axis=1, keepdims=True)
        return [int(view) for view in np.flatnonzero(is_mended.any(axis=0))]


def black_sentences(black_rows: Iterable[int], dim_rows: Iterable[int], mended_views: Iterable[int]) -> list[str]:
    """What a user should know of missing light.

    >>> black_sentences([7, 5], [], [])
    ['No light in any view in these rows, whose slices are empty: 5, 7.']
    """
    text = (
        ("No light in any view in these rows, whose slices are empty", black_rows),
        ("Too little light in every view in these rows, whose slices are unreliable", dim_rows),
        ("Black projections, or rows of them, that were replaced by their neighbours", mended_views),
    )
    return [f"{sentence}: {_listed(numbers)}." for sentence, found in text if (numbers := sorted(set(found)))]


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:MAX_LISTED])) + (" and more" if len(numbers) > MAX_LISTED else "")


def attenuate(projections: Array, times: Floats, calibration: Calibration, device: Device | None = None) -> Correction:
    """-ln of the transmission of raw projections (view, row, column); nothing that is not finite comes out."""
    from pellucid.tomo.kernels import correction as kernels

    device = device or choose()
    room = primitives(device)
    views, rows, columns = projections.shape
    if calibration.darks.shape[1:] != (rows, columns):
        raise InvalidInput(
            f"The projections have {(rows, columns)} pixels, but the darks have {calibration.darks.shape[1:]}.",
            remedy="Make the calibration for the same rows of the scan.",
        )
    sinograms = room.empty((rows, views, columns), np.float32)
    clipped = room.zeros((rows, views), np.int32)
    between = (*group_shares(times, calibration.dark_times), *group_shares(times, calibration.times))
    if not device.is_cuda:
        _attenuate_on_cpu(projections, calibration, between, sinograms, clipped)
        return Correction(sinograms, clipped)
    fixed = [room.to_device(array) for array in (calibration.darks, calibration.flats, *between)]
    inputs = [room.to_device(projections), *fixed, calibration.floor]
    kernel = kernels.attenuate(projections.dtype)
    launch(kernel, (views, rows, columns), inputs=inputs, outputs=[sinograms, clipped], device=device)
    return Correction(sinograms, room.to_host(clipped))


def _attenuate_on_cpu(
    projections: Voxels, calibration: Calibration, between: tuple[Voxels, ...], sinograms: Array, clipped: Array
) -> None:
    """Some frames at a time on every thread: NumPy takes logarithms in vectors, and a kernel of ours one by one.

    between: groups and shares of darks, then of flats.
    """
    floor = np.float32(calibration.floor)

    def correct(views: slice) -> None:
        dark, open_beam = (
            _level(frames, groups[views], shares[views])
            for frames, groups, shares in ((calibration.darks, *between[:2]), (calibration.flats, *between[2:]))
        )
        counts = np.subtract(projections[views], dark, dtype=np.float32, casting="same_kind")
        # What is not a number is not above the floor either.
        has_light = (counts >= floor) & (counts <= ENDLESS) & (open_beam >= floor) & (open_beam <= ENDLESS)
        if not has_light.all():
            clipped[:, views] = np.count_nonzero(~has_light, axis=2).T
            is_endless = (counts > ENDLESS) | (open_beam > ENDLESS)
            counts, open_beam = (np.where((one >= floor) & ~is_endless, one, floor) for one in (counts, open_beam))
        sinograms[:, views] = np.log(np.divide(open_beam, counts, out=counts), out=counts).swapaxes(0, 1)

    threads = ThreadPool()
    try:
        most = max(1, min(BATCH_PIXELS // calibration.darks[0].size, len(between[0]) // BATCHES))
        threads.map(correct, _alike(between, most))
    finally:
        threads.close()


def _level(frames: Voxels, groups: Voxels, shares: Voxels) -> Voxels:
    """The frames of views between the same two groups, or the one frame of views that are at a group."""
    before = frames[groups[0]]
    if shares[0] == 0:
        return np.asarray(before)
    return np.asarray(before + shares[:, None, None] * (frames[groups[0] + 1] - before))


def _alike(between: tuple[Voxels, ...], most: int) -> list[slice]:
    """Views that follow one another and lie between the same groups, or at one of them; so many at most.

    >>> _alike((np.array([0, 0, 0, 1]), np.array([0.0, 0.4, 0.8, 0.0])), most=2)
    [slice(0, 1, None), slice(1, 3, None), slice(3, 4, None)]
    """
    is_other = np.zeros(len(between[0]) - 1, np.bool_)
    for groups, shares in zip(between[::2], between[1::2], strict=True):
        is_other |= (np.diff(groups) != 0) | (np.diff(shares > 0) != 0)
    runs = pairwise([0, *(np.flatnonzero(is_other) + 1).tolist(), len(between[0])])
    return [slice(at, min(stop, at + most)) for first, stop in runs for at in range(first, stop, most)]


def replace_bad_views(sinograms: Array, bad: Voxels, angles_rad: Floats, device: Device | None = None) -> None:
    """Replace, in place, rows of sinograms by what lies between the nearest good views; a slice without any is left.

    bad: per (row, view).
    """
    from pellucid.tomo.kernels import correction as kernels

    device = device or choose()
    room = primitives(device)
    parts = [mending(row, angles_rad) for row in bad]
    rows = np.repeat(np.arange(len(bad), dtype=np.int32), [len(part[0]) for part in parts])
    if not len(rows):
        return
    views, before, after, shares = (np.concatenate(column) for column in zip(*parts, strict=True))
    inputs = [room.to_device(array) for array in (rows, views, before, after, shares)]
    launch(kernels.mend, (len(rows), sinograms.shape[2]), inputs=inputs, outputs=[sinograms], device=device)


def mending(bad: Voxels, angles_rad: Floats) -> tuple[Voxels, Voxels, Voxels, Voxels]:
    """For every bad view: itself, the good ones before and after it, and how far it is on the way between them.

    Before and after by angle, in whatever order the views come.

    >>> [part.tolist() for part in mending(np.array([False, True, False, True]), np.arange(4.0))]
    [[1, 3], [0, 2], [2, 2], [0.5, 0.0]]
    """
    order = np.argsort(angles_rad, kind="stable")
    good, views = order[~bad[order]], np.flatnonzero(bad)
    views = views if len(good) else views[:0]
    place = np.searchsorted(angles_rad[good], angles_rad[views])
    before, after = good[np.maximum(place - 1, 0)], good[np.minimum(place, max(len(good) - 1, 0))]
    whole = angles_rad[after] - angles_rad[before]
    shares = np.divide(angles_rad[views] - angles_rad[before], whole, out=np.zeros(len(views)), where=whole != 0)
    return views.astype(np.int32), before.astype(np.int32), after.astype(np.int32), shares.astype(np.float32)


def level_air(sinograms: Array, margin: int = 10, device: Device | None = None) -> None:
    """Subtract, in place, from every row the mean of so many columns at both ends, where there should be only air."""
    from pellucid.tomo.kernels import correction as kernels

    rows, views, columns = sinograms.shape
    if not 1 <= margin <= columns // 2:
        raise InvalidInput(f"Invalid number of air columns: {margin} of {columns}.", remedy=f"Use 1 to {columns // 2}.")
    launch(kernels.subtract_air, (views, rows), inputs=[margin], outputs=[sinograms], device=device)


def bin_frames(frames: Array, factor: int, device: Device | None = None) -> Array:
    """Means of squares of so many pixels; rows and columns that fill no square are left out."""
    from pellucid.tomo.kernels import correction as kernels

    count, rows, columns = frames.shape
    if not 1 <= factor <= min(rows, columns):
        raise InvalidInput(
            f"Invalid binning {factor} for frames of {rows} x {columns} pixels.",
            remedy=f"Use at most {min(rows, columns)}.",
        )
    room = primitives(device)
    binned = room.empty((count, rows // factor, columns // factor), np.float32)
    kernel = kernels.bin_pixels(frames.dtype)
    launch(kernel, binned.shape, inputs=[factor, frames], outputs=[binned], device=device)
    return binned
