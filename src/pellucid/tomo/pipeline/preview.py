"""Previews: settings tried on single slices; steps that a change does not affect are not computed again.

Here: SlicePreview: a projection, a sinogram and a slice of a scan that stays open.
Not here: images of them (workers, cli), whole volumes (pipeline).
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from pellucid.device import Array, Device, primitives
from pellucid.errors import Cancelled, InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.beam import check_share
from pellucid.tomo.correction.flat_field import Calibration, attenuate
from pellucid.tomo.correction.preparation import Preparation
from pellucid.tomo.correction.row_window import RowWindow
from pellucid.tomo.geometry.tilt import Tilt
from pellucid.tomo.methods.direct import ParallelGeometry
from pellucid.tomo.pipeline.planning import ScanPlan, plan_slabs
from pellucid.tomo.pipeline.slabs import SlabPlan, SlabStatistics, corrected, reconstructed
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan import Floats, Frames, Scan

KEPT = 8
"""Intermediate results: enough for one slice with and without a step, before and after the last change."""

ROUGH_COLUMNS = 1024
ROUGH_VIEWS = 1024
ROUGH_PHASE_VIEWS = 180
"""Of a rough slice, at most."""

CPU_UPDATES = (2e8, 2e9)
CUDA_UPDATES = (1e10, 1e11)
"""Of a pixel by a view, that the iterations of a rough slice and of one at rest may take: about 0.5 s, and 5 s."""

MAX_ITERATIONS = (100, 1000)
"""Of the same two: each takes some milliseconds, however small it is."""

VIEWS_PER_COLUMN = 1.6
VIEWS_AT_ONCE = 32
FRAME_ROWS_AT_ONCE = 4096
ITERATIVE = ("sirt", "cgls")

IsCancelled = Callable[[], bool]
Kept = TypeVar("Kept")


def never() -> bool:
    return False


class SlicePreview:
    """A scan that stays open, to try settings on its slices. For one thread. is_cancelled is called between steps;
    once it returns true, Cancelled is raised."""

    def __init__(self, scan: Scan, device: Device) -> None:
        self.scan, self._device = scan.in_angle_order(), device
        self._kept: OrderedDict[tuple[object, ...], Any] = OrderedDict()

    def close(self) -> None:
        self.scan.close()

    def axis(self, recipe: Recipe) -> tuple[float, float]:
        """The column of the axis in the middle row, and how far it moves from one row to the next; searched for if
        the recipe does not set them."""
        column, slope = self._plan(recipe).axis
        return column + slope * (self.scan.rows - 1) / 2, slope

    def tilt(self, recipe: Recipe) -> Tilt | None:
        """Of the axis, where the recipe asks for it to be measured."""
        return self._plan(recipe).tilt

    def edge(self, recipe: Recipe) -> int:
        """Columns of a slice, in pixels of the detector."""
        return self._plan(recipe).edge(self.scan)

    def projection(self, view: int) -> Voxels:
        """The transmission of the beam, as (row, column)."""
        scan = self.scan
        self._check("view", view, scan.count)
        calibration = self._keep(("calibration",), lambda: Calibration.of(scan))
        raw = scan.projections.read(frames=(view, view + 1))
        found = attenuate(raw, scan.projections.times[view : view + 1], calibration, self._device)
        return np.asarray(np.exp(-primitives(self._device).to_host(found.sinograms)[:, 0]))

    def sinogram(self, row: int, recipe: Recipe, is_cancelled: IsCancelled = never) -> Voxels:
        """The attenuation from which the slice is made, as (view, column)."""
        return np.array(primitives(self._device).to_host(self._ready(row, recipe, is_cancelled).sinograms)[0])

    def whole_slice(self, row: int, recipe: Recipe) -> Voxels:
        """Exactly the slice of the volume, however long it takes."""
        return self._slice(
            row, recipe, PreviewReduction(iterations=recipe.iteration_count), is_rough=False, is_cancelled=never
        )

    def slice(self, row: int, recipe: Recipe, *, is_rough: bool = False, is_cancelled: IsCancelled = never) -> Voxels:
        """Attenuation per cm, or per pixel if its size is unknown. row: of the detector, also with binning.

        It is exactly the slice of the volume, except that slow iterative methods use fewer columns and views. is_rough:
        faster, from fewer views, and by gridding instead of direct.
        """
        thin = self.reduction(recipe, is_rough=is_rough)
        return self._slice(row, recipe, thin, is_rough=is_rough, is_cancelled=is_cancelled)

    def _slice(
        self, row: int, recipe: Recipe, thin: "PreviewReduction", *, is_rough: bool, is_cancelled: IsCancelled
    ) -> Voxels:
        # Retrieving the phase of views that are left out afterwards would take longer than everything else.
        early = thin.views if is_rough and recipe.phase and not recipe.is_offset else 1
        ready = self._ready(row, recipe, is_cancelled, every=early)
        _go_on(is_cancelled)
        sinograms, geometry = replace(thin, views=thin.views // early).applied(ready.sinograms, ready.geometry)
        if recipe.method in ITERATIVE:
            chosen = replace(recipe, iterations=thin.iterations)
        else:
            chosen = replace(recipe, method="gridding") if is_rough else recipe
        images = reconstructed(sinograms.copy(), geometry, chosen, self._device, lambda: _go_on(is_cancelled))
        image = primitives(self._device).to_host(images)[0]
        return np.asarray(image * np.float32(ready.per_pixel / thin.columns))

    def reduction(self, recipe: Recipe, *, is_rough: bool = False) -> "PreviewReduction":
        """How much less data a slice is made from than in the volume."""
        plan = self._plan(recipe)
        views, _, columns = Preparation(plan.offset, binning=recipe.binning).shape(self.scan)
        if recipe.method in ITERATIVE:
            which = 0 if is_rough else 1
            budget = (CUDA_UPDATES if self._device.is_cuda else CPU_UPDATES)[which]
            count = min(recipe.iteration_count, MAX_ITERATIONS[which])
            return replace(PreviewReduction.within(budget / count, views, columns), iterations=count)
        most = ROUGH_PHASE_VIEWS if recipe.phase else ROUGH_VIEWS
        return PreviewReduction(-(-columns // ROUGH_COLUMNS), -(-views // most)) if is_rough else PreviewReduction()

    def _plan(self, recipe: Recipe) -> SlabPlan:
        key = ("axis", recipe.center, recipe.tilt, recipe.roll_deg, recipe.is_offset)
        if not isinstance(recipe.center, str):
            return plan_slabs(self.scan, recipe, self._device)
        found: SlabPlan = self._keep(key, lambda: plan_slabs(self.scan, recipe, self._device))
        return replace(found, recipe=recipe)

    def _ready(self, row: int, recipe: Recipe, is_cancelled: IsCancelled, every: int = 1) -> "_Ready":
        """Everything but the slice itself. every: one of so many views, where whole projections are prepared."""
        self._check("row", row, self.scan.rows)
        scan, plan = self.scan, self._plan(recipe)
        whole = ScanPlan.of(scan, plan)
        request, fitted = whole.preparation, whole.slabs
        steps = (recipe.zingers, recipe.air, recipe.rings, plan.axis if recipe.rings.method == "auto" else None)
        if request is None:
            sinograms = self._keep(("sinogram", row, *steps, plan.offset), lambda: self._plain(row, plan))
            return _Ready(sinograms, plan.geometry(scan.angles_rad, (row, row + 1)), whole.scale)
        band = RowWindow.of(scan, request, row)
        key, some = ("sinogram", row, *steps, request, every), _thinned(scan, every)
        sinograms = self._keep(key, lambda: self._prepared(band, some, fitted, is_cancelled))
        geometry = fitted.geometry(request.angles(some), (band.index, band.index + 1))
        return _Ready(sinograms, geometry, whole.scale)

    def _plain(self, row: int, plan: SlabPlan) -> Array:
        """(1, view, column) on the device, of what is stored."""
        scan, rows = self.scan, (row, row + 1)
        raw = self._keep(("raw", row), lambda: scan.projections.read(rows=rows))
        calibration = self._keep(("calibration", row), lambda: Calibration.of(scan, rows))
        return _lit(raw, scan, calibration, plan, plan.axes(rows))

    def _prepared(self, band: RowWindow, scan: Scan, plan: SlabPlan, is_cancelled: IsCancelled) -> Array:
        """The same of projections that are prepared first."""
        raw = self._keep(("prepared", band, scan.count), lambda: self._transmitted(band, scan, is_cancelled))
        angles = band.request.angles(scan)
        scan = replace(scan, projections=Frames.from_array(raw), angles_rad=angles, flats=None, darks=None)
        _go_on(is_cancelled)
        return _lit(raw, scan, Calibration.of(scan), plan, plan.axes((band.index, band.index + 1)))

    def _transmitted(self, band: RowWindow, scan: Scan, is_cancelled: IsCancelled) -> Voxels:
        """(view, 1, column), 0 without light; some views at a time."""
        calibration = self._keep(("calibration", band.stored), lambda: Calibration.of(self.scan, band.stored))
        views, _, columns = band.request.shape(scan)
        made = np.empty((views, 1, columns), np.float32)
        some = max(VIEWS_AT_ONCE, FRAME_ROWS_AT_ONCE // (band.stored[1] - band.stored[0]))
        for first in range(0, views, some):
            _go_on(is_cancelled)
            stop = min(views, first + some)
            made[first:stop, 0] = band.read(scan, calibration, (first, stop), self._device)
        return made

    def _keep(self, key: tuple[object, ...], make: Callable[[], Kept]) -> Kept:
        """What was made for a key before, or is made now; the oldest goes."""
        if key not in self._kept:
            made = make()
            self._kept[key] = made
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        found: Kept = self._kept[key]
        return found

    def _check(self, what: str, index: int, count: int) -> None:
        if not 0 <= index < count:
            raise InvalidInput(
                f"{self.scan.name} has no {what} {index}.", remedy=f"Use a number from 0 to {count - 1}."
            )


def _go_on(is_cancelled: IsCancelled) -> None:
    if is_cancelled():
        raise Cancelled("The preview")


def _lit(raw: Voxels, scan: Scan, calibration: Calibration, plan: SlabPlan, axes: Floats) -> Array:
    """Corrected sinograms; an error where most of their pixels have no light."""
    account = SlabStatistics()
    sinograms = corrected(raw, scan, calibration, plan, account, axes)
    check_share(scan, account.clipped / raw.size)
    return sinograms


def _thinned(scan: Scan, every: int) -> Scan:
    """With one of so many views."""
    some = slice(None, None, every)
    return replace(scan, projections=scan.projections.choose(some), angles_rad=scan.angles_rad[some])


@dataclass(frozen=True, eq=False)
class _Ready:
    """sinograms: (1, view, column) on the device. per_pixel: what slices are multiplied by."""

    sinograms: Array
    geometry: ParallelGeometry
    per_pixel: float


@dataclass(frozen=True)
class PreviewReduction:
    """columns: how many neighbours are averaged to one. views: 1 of this many is kept. iterations: how many are
    made, where any are."""

    columns: int = 1
    views: int = 1
    iterations: int = 0

    @classmethod
    def within(cls, updates: float, views: int, columns: int) -> "PreviewReduction":
        """The least with which a projection and a back projection take at most so many updates of a pixel by a view.

        Views are left out only where there are more of them than so few columns need.

        >>> PreviewReduction.within(1e7, 900, 512)
        PreviewReduction(columns=4, views=4, iterations=0)
        """
        for factor in range(1, columns + 1):
            left = columns // factor
            step = max(1, int(views / (VIEWS_PER_COLUMN * left)))
            if 2 * left**2 * -(-views // step) <= updates:
                break
        return cls(factor, step)

    def applied(self, sinograms: Array, geometry: ParallelGeometry) -> tuple[Array, ParallelGeometry]:
        some, angles = sinograms[:, :: self.views], geometry.angles_rad[:: self.views]
        if self.columns > 1:
            slices, views, columns = some.shape
            count = columns // self.columns
            parts = some[:, :, : count * self.columns].reshape(slices, views, count, self.columns)
            some = parts.mean(axis=3)
        axes = (geometry.axes - (self.columns - 1) / 2) / self.columns
        return some, ParallelGeometry(angles, axes, geometry.is_circle)
