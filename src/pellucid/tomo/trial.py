"""Settings tried on single slices of a scan: what a change leaves as it was is kept, so that the rest comes at once.

Here: Trial: a projection, a sinogram and a slice of a scan that stays open.
Not here: pictures of them (workers), several slices at once (preview), whole volumes (pipeline).
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from pellucid.device import Array, Device, primitives
from pellucid.errors import Cancelled, InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.tomo.backprojection import Geometry
from pellucid.tomo.correction import Calibration, attenuate
from pellucid.tomo.phase import Paganin, retrieve
from pellucid.tomo.planning import plan_slabs
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan import Frames, Scan
from pellucid.tomo.slabs import Account, SlabPlan, corrected, reconstructed

KEPT = 8
"""Intermediate results: enough for one slice with and without a step, before and after the last change."""

ROUGH_COLUMNS = 1024
ROUGH_VIEWS = 1024
"""Of a rough slice, at most."""

VIEWS_AT_ONCE = 32
ITERATIVE = ("sirt", "cgls")

IsCancelled = Callable[[], bool]
Kept = TypeVar("Kept")


def never() -> bool:
    return False


class Trial:
    """A scan that stays open. For one thread. is_cancelled is asked between steps; Cancelled is raised then."""

    def __init__(self, scan: Scan, device: Device) -> None:
        self.scan, self._device = scan, device
        self._kept: OrderedDict[tuple[object, ...], Any] = OrderedDict()

    def close(self) -> None:
        self.scan.close()

    def center(self, recipe: Recipe) -> float:
        """The column of the axis in the middle row, looked for where the recipe does not give it."""
        column, slope = self._plan(recipe).axis
        return column + slope * (self.scan.rows - 1) / 2

    def projection(self, view: int) -> Voxels:
        """The share of the beam that comes through, as (row, column)."""
        scan = self.scan
        self._check("view", view, scan.count)
        calibration = self._keep(("calibration",), lambda: Calibration.of(scan))
        raw = scan.projections.read(frames=(view, view + 1))
        found = attenuate(raw, scan.projections.times[view : view + 1], calibration, self._device)
        return np.asarray(np.exp(-primitives(self._device).to_host(found.sinograms)[:, 0]))

    def sinogram(self, row: int, recipe: Recipe, is_cancelled: IsCancelled = never) -> Voxels:
        """The attenuation that is reconstructed, as (view, column)."""
        return np.array(primitives(self._device).to_host(self._sinograms(row, recipe, is_cancelled))[0])

    def slice(self, row: int, recipe: Recipe, *, is_rough: bool = False, is_cancelled: IsCancelled = never) -> Voxels:
        """Attenuation per cm, or per pixel where its size is not known.

        is_rough: by gridding, of few columns and views; otherwise just as the volume would have it. Only iterations,
        binning and the detector's roll are left out.
        """
        plan, sinograms = self._plan(recipe), self._sinograms(row, recipe, is_cancelled)
        _go_on(is_cancelled)
        geometry, factor = plan.geometry(self.scan.angles_rad, (row, row + 1)), 1
        if is_rough:
            sinograms, geometry, factor = _coarse(sinograms, geometry)
        is_gridded = is_rough or recipe.method in ITERATIVE
        chosen = replace(recipe, method="gridding") if is_gridded else recipe
        images = reconstructed(sinograms.copy(), geometry, chosen, self._device)
        image = primitives(self._device).to_host(images)[0]
        return np.asarray(image * np.float32(self.scan.per_pixel / factor))

    def _plan(self, recipe: Recipe) -> SlabPlan:
        if not isinstance(recipe.center, str) and not 0 <= recipe.center < self.scan.columns:
            raise InvalidInput(
                f"The axis cannot be at column {recipe.center:g} of {self.scan.columns}.",
                do=f"Give a column from 0 to {self.scan.columns - 1}.",
            )
        key = ("axis", recipe.center, recipe.tilt, recipe.is_offset)
        if not isinstance(recipe.center, str):
            return plan_slabs(self.scan, recipe, self._device)
        found: SlabPlan = self._keep(key, lambda: plan_slabs(self.scan, recipe, self._device))
        return replace(found, recipe=recipe)

    def _sinograms(self, row: int, recipe: Recipe, is_cancelled: IsCancelled) -> Array:
        """(1, view, column) on the device."""
        self._check("row", row, self.scan.rows)
        plan = self._plan(recipe)
        key = ("sinogram", row, recipe.phase, recipe.zingers, recipe.air, recipe.rings, plan.offset)
        return self._keep(key, lambda: self._corrected(row, plan, is_cancelled))

    def _corrected(self, row: int, plan: SlabPlan, is_cancelled: IsCancelled) -> Array:
        scan, phase, rows = self.scan, plan.recipe.phase, (row, row + 1)
        if phase is None:
            raw = self._keep(("raw", row), lambda: scan.projections.read(rows=rows))
            calibration = self._keep(("calibration", row), lambda: Calibration.of(scan, rows))
        else:
            raw = self._keep(("phase", row, phase), lambda: self._retrieved(row, phase, is_cancelled))
            scan = replace(scan, projections=Frames.from_array(raw), flats=None, darks=None)
            calibration = Calibration.of(scan)
        _go_on(is_cancelled)
        return corrected(raw, scan, calibration, plan, Account())

    def _retrieved(self, row: int, phase: Paganin, is_cancelled: IsCancelled) -> Voxels:
        """Transmissions (view, 1, column), 0 without light. Rows beyond the filter's margin have no part in them."""
        scan, room = self.scan, primitives(self._device)
        rows = (max(0, row - phase.pad_px), min(scan.rows, row + phase.pad_px + 1))
        calibration = Calibration.of(scan, rows)
        made = np.empty((scan.count, 1, scan.columns), np.float32)
        for first in range(0, scan.count, VIEWS_AT_ONCE):
            _go_on(is_cancelled)
            views = slice(first, min(scan.count, first + VIEWS_AT_ONCE))
            raw = scan.projections.read((views.start, views.stop), rows)
            found = attenuate(raw, scan.projections.times[views], calibration, self._device)
            frames = np.ascontiguousarray(np.exp(-room.to_host(found.sinograms)).swapaxes(0, 1))
            smooth = room.to_host(retrieve(room.to_device(frames), phase, self._device))
            here = row - rows[0]
            made[views, 0] = np.where(found.bad[here][:, None], 0, np.exp(-smooth[:, here]))
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
                f"There is no {what} {index} in {self.scan.name}.", do=f"Give one from 0 to {count - 1}."
            )


def _go_on(is_cancelled: IsCancelled) -> None:
    if is_cancelled():
        raise Cancelled("The preview")


def _coarse(sinograms: Array, geometry: Geometry) -> tuple[Array, Geometry, int]:
    """Some of the views, neighbouring columns averaged until few enough are left, and how many were made one."""
    step = -(-sinograms.shape[1] // ROUGH_VIEWS)
    some, angles = sinograms[:, ::step], geometry.angles_rad[::step]
    slices, views, columns = some.shape
    factor = -(-columns // ROUGH_COLUMNS)
    count = columns // factor
    means = some[:, :, : count * factor].reshape(slices, views, count, factor).mean(axis=3) if factor > 1 else some
    axes = (geometry.axes - (factor - 1) / 2) / factor
    return means, Geometry(angles, axes, geometry.is_circle), factor
