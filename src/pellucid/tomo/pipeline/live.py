"""Three orthogonal slices of a scan, while it is being written.

Here: OrthogonalSlices (the slices), LiveSlices (which adds views as they come), follow (which waits for them).
Not here: showing them (cli), whole volumes (pipeline).

Every view is filtered and added once, to the sum of its sector of the half turn. The weight of a view follows from all
angles so far and is the same for all views of a sector. So the slices are right at any moment, apart from the wedge
that is still missing, also while a full turn passes the same angles again. Rings are not removed: that takes all views.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pellucid.device import Array, Device, launch, primitives
from pellucid.errors import InvalidInput, PellucidError
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.flat_field import Calibration, attenuate
from pellucid.tomo.geometry.axis import find_axis
from pellucid.tomo.geometry.view_weights import view_weights
from pellucid.tomo.methods.direct import ParallelGeometry, back_project
from pellucid.tomo.methods.filters import RowEnds, border_flags, border_sums, truncated
from pellucid.tomo.pipeline.slabs import filtered, mended
from pellucid.tomo.recipe import AUTOMATIC, Recipe
from pellucid.tomo.reference.projection import circle_radius
from pellucid.tomo.scan import CM_UM, Floats, Indices, Scan
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.registry import open_scan

VIEWS_AT_ONCE = 32
MAX_SECTORS, MIN_SECTORS = 36, 6
SECTOR_BYTES = 2**29
"""For the sums of all sectors: as many as fit."""
PERIOD_S = 0.5
SAME_AXIS = 0.25
"""Columns that an axis may be found beside the old one before everything is added anew."""


@dataclass(frozen=True, eq=False)
class OrthogonalSlices:
    """Slices through the middle, in attenuation per cm (per pixel where its size is unknown), as the volume has them.

    xy: (row, column) of the middle slice. xz, yz: (slice, column) and (slice, row). views: how many they are made of.
    axis: the column of it. pixel_size_um: where it is known.
    """

    xy: Voxels
    xz: Voxels
    yz: Voxels
    views: int
    axis: float
    pixel_size_um: float | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of the volume that they are slices of."""
        return len(self.xz), self.xy.shape[0], self.xy.shape[1]


class LiveSlices:
    """Adds views to three slices. axis: the column of the axis, the same for all rows. axis_views: of how many views it
    was found, 0 where it is a guess."""

    def __init__(self, rows: int, columns: int, axis: float, recipe: Recipe, device: Device) -> None:
        self.axis, self._recipe, self._device = axis, recipe, device
        self.axis_views = 0
        room, away = primitives(device), np.arange(columns) - (columns - 1) / 2
        middle = away[columns // 2]
        across, down = (np.stack(pair, axis=1) for pair in ((away, 0 * away - middle), (0 * away + middle, -away)))
        self._points = [room.to_device(points.astype(np.float32)) for points in (across, down)]
        fitting = SECTOR_BYTES // (4 * columns * (2 * rows + columns))
        self._sectors = max(MIN_SECTORS, min(MAX_SECTORS, fitting))
        self._lines = [room.zeros((self._sectors, rows, columns), np.float32) for _ in self._points]
        self._xy: Voxels = np.zeros((self._sectors, columns, columns), np.float32)
        self._border_sums = np.zeros((3, rows))
        self._angles: list[float] = []

    @property
    def views(self) -> int:
        return len(self._angles)

    def add(self, sinograms: Array, angles_rad: Floats) -> None:
        """Attenuation (row, view, column) of new views; the sinograms are overwritten."""
        ends = RowEnds(self._edges(sinograms), np.full(len(sinograms), self.axis))
        filtered(sinograms, ends, self._recipe, self._device)
        sectors = self._sectors_of(angles_rad)
        for sector in np.unique(sectors).tolist():
            some = np.flatnonzero(sectors == sector)
            part = sinograms if len(some) == len(sectors) else sinograms[:, some]
            self._add_to(sector, part, angles_rad[some])
        self._angles += angles_rad.tolist()

    def _sectors_of(self, angles_rad: Floats) -> Indices:
        share = np.mod(angles_rad, np.pi) / np.pi
        return np.minimum((share * self._sectors).astype(np.int64), self._sectors - 1)

    def _add_to(self, sector: int, sinograms: Array, angles_rad: Floats) -> None:
        """Filtered views of one sector."""
        from pellucid.tomo.kernels import live as kernels

        device, room = self._device, primitives(self._device)
        turns = room.to_device(np.stack([np.cos(angles_rad), np.sin(angles_rad)], axis=1).astype(np.float32))
        for points, lines in zip(self._points, self._lines, strict=True):
            inputs = [sinograms, turns, points, self.axis]
            launch(kernels.add_lines, lines.shape[1:], inputs=inputs, outputs=[lines[sector]], device=device)
        middle = len(sinograms) // 2
        geometry = ParallelGeometry.shared(angles_rad, self.axis, 1, is_circle=False)
        added = back_project(sinograms[middle : middle + 1], geometry, device, np.ones(len(angles_rad)))
        self._xy[sector] += room.to_host(added)[0]

    def _edges(self, sinograms: Array) -> Array:
        """What is behind the border of every row, judged by all views that have come so far."""
        if self._recipe.padding != AUTOMATIC:
            return border_flags(sinograms, self._recipe.padding, self._device)
        self._border_sums = self._border_sums + np.stack(border_sums(sinograms, self._device))
        return primitives(self._device).to_device(truncated(*self._border_sums))

    def cross(self, pixel_size_um: float | None = None) -> OrthogonalSlices:
        """The slices that all views so far make."""
        weights = self._sector_weights() * (CM_UM / pixel_size_um if pixel_size_um else 1.0)
        columns = self._xy.shape[2]
        away = np.arange(columns) - (columns - 1) / 2
        reach = circle_radius(columns, self.axis) if self._recipe.is_circle else np.inf
        middle = away[columns // 2] ** 2
        line = (away**2 + middle <= reach**2).astype(np.float32)
        xz, yz = (_weighted(primitives(self._device).to_host(lines), weights) * line for lines in self._lines)
        xy = _weighted(self._xy, weights) * (away[:, None] ** 2 + away**2 <= reach**2)
        return OrthogonalSlices(xy, xz, yz, self.views, self.axis, pixel_size_um)

    def _sector_weights(self) -> Floats:
        """What a view of each sector counts for; 0 where there is none."""
        angles = np.array(self._angles)
        sectors = self._sectors_of(angles)
        total = np.bincount(sectors, view_weights(angles), self._sectors)
        return total / np.maximum(1, np.bincount(sectors, minlength=self._sectors))


def _weighted(sums: Voxels, weights: Floats) -> Voxels:
    """The sums of all sectors, (sector, ...), together."""
    found: Voxels = np.tensordot(weights.astype(np.float32), sums, axes=1)
    return found


def _rest(seconds: float) -> bool:
    time.sleep(seconds)
    return True


@dataclass(frozen=True)
class FollowOptions:
    """Which scan is followed, and how.

    pause: called between two checks with the seconds to wait; returns whether to continue. timeout_s: the scan counts
    as finished after this time without new projections.
    """

    source: str | Path
    options: ScanOptions
    recipe: Recipe
    device: Device
    timeout_s: float = 60.0
    pause: Callable[[float], bool] = _rest


def follow(what: FollowOptions) -> Iterator[OrthogonalSlices]:
    """Yield the three slices whenever there are more views. If the scan cannot be read for a moment, it is read again
    later.

    Without a center, the axis is assumed in the middle until half a turn has arrived; then it is found, and all views
    are added again. Views may arrive in any order of their angles.
    """
    slices: LiveSlices | None = None
    last_arrival_s = time.monotonic()
    while True:
        with suppress(PellucidError, OSError), closing(open_scan(what.source, what.options, is_growing=True)) as scan:
            slices = _fitting(slices, scan, what)
            if _take_in(slices, scan, what):
                last_arrival_s = time.monotonic()
                yield slices.cross(scan.pixel_size_um)
        if time.monotonic() - last_arrival_s > what.timeout_s or not what.pause(PERIOD_S):
            return


def _fitting(slices: LiveSlices | None, scan: Scan, what: FollowOptions) -> LiveSlices:
    """Slices about the axis that is known by now; one that was found is checked when there are twice as many views."""
    center = what.recipe.center
    if slices is not None and (not isinstance(center, str) or scan.count < 2 * slices.axis_views):
        return slices
    axis, views = (center, scan.count) if not isinstance(center, str) else _found_axis(scan)
    if slices is not None and abs(slices.axis - axis) < SAME_AXIS:
        slices.axis_views = views
        return slices
    made = LiveSlices(scan.rows, scan.columns, axis, what.recipe, what.device)
    made.axis_views = views
    return made


def _found_axis(scan: Scan) -> tuple[float, int]:
    """The column, and of how many views: the middle, of none, until there is half a turn with enough views."""
    with suppress(InvalidInput):
        if scan.span_rad >= np.pi - scan.step_rad / 2:
            return find_axis(scan).column, scan.count
    return (scan.columns - 1) / 2, 0


def _take_in(slices: LiveSlices, scan: Scan, what: FollowOptions) -> bool:
    """Add the views that have come; whether there were any. Frames that are still empty have not come."""
    before = slices.views
    calibration = Calibration.of(scan) if scan.count > before else None
    for first in range(before, scan.count, VIEWS_AT_ONCE):
        stop = min(scan.count, first + VIEWS_AT_ONCE)
        raw = scan.projections.read(frames=(first, stop))
        came = int(np.logical_and.accumulate(raw.any(axis=(1, 2))).sum())
        if came and calibration is not None:
            _add(slices, scan, raw[:came], slice(first, first + came), calibration, what)
        if first + came < stop:
            break
    return slices.views > before


def _add(
    slices: LiveSlices, scan: Scan, raw: Voxels, views: slice, calibration: Calibration, what: FollowOptions
) -> None:
    angles = scan.angles_rad[views]
    measured = attenuate(raw, scan.projections.times[views], calibration, what.device)
    slices.add(mended(measured, angles, what.recipe, what.device), angles)
