"""From the raw rows of a scan to the slices of a slab: all steps of a recipe, a few slices at a time.

Here: make_slab, and the two halves that it consists of.
Not here: the steps themselves, how much memory they take (memory_model), whose turn it is on the device
(device_turns), files (slab_task).
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pellucid.device import Array, Device, launch, primitives, synchronize
from pellucid.engines.stopping import raise_if_stopped
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.flat_field import (
    Calibration,
    Correction,
    attenuate,
    black_sentences,
    level_air,
    replace_bad_views,
)
from pellucid.tomo.correction.missing_pixels import filled_sentences
from pellucid.tomo.correction.rings import remove_rings
from pellucid.tomo.correction.zingers import remove_zingers
from pellucid.tomo.geometry.offset import OffsetAxis, join_opposite_views
from pellucid.tomo.geometry.opposite_views import OppositeViews
from pellucid.tomo.geometry.tilt import Tilt
from pellucid.tomo.methods.direct import ParallelGeometry, back_project
from pellucid.tomo.methods.filters import RowEnds, filter_sinograms
from pellucid.tomo.methods.gridding import reconstruct_by_gridding
from pellucid.tomo.methods.iterative import Between, cgls, nothing, sirt
from pellucid.tomo.pipeline.device_turns import DEVICE_TURNS
from pellucid.tomo.pipeline.memory_model import SLICES_AT_ONCE, SlabSize, device_budget
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan import Floats, Scan

Put = Callable[[int, Array], None]
"""Takes how many slices came before, and slices (slice, row, column), still on the device; may overwrite them."""


@dataclass
class SlabStatistics:
    """What was noticed while slabs were made: seconds of every step, pixels without light, with a stray photon, and
    filled in because they were not finite; rows without light, or with too little, and views of which rows were
    replaced."""

    seconds: dict[str, float] = field(default_factory=dict)
    clipped: int = 0
    zingers: int = 0
    filled: int = 0
    black_rows: list[int] = field(default_factory=list)
    dim_rows: list[int] = field(default_factory=list)
    mended_views: list[int] = field(default_factory=list)

    @contextmanager
    def timing(self, step: str, device: Device | None = None) -> Iterator[None]:
        start = time.perf_counter()
        yield
        if device is not None:
            synchronize(device)
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start

    def add(self, result: dict[str, Any]) -> None:
        """Take in what a block said of itself."""
        for step, seconds in result.get("seconds", {}).items():
            self.seconds[step] = self.seconds.get(step, 0.0) + seconds
        self.clipped += result.get("clipped", 0)
        self.zingers += result.get("zingers", 0)
        self.filled += result.get("filled", 0)
        self.black_rows += result.get("black_rows", [])
        self.dim_rows += result.get("dim_rows", [])
        self.mended_views = sorted({*self.mended_views, *result.get("mended_views", [])})

    def note_light(self, found: Correction, first_row: int) -> None:
        self.clipped += int(found.clipped.sum())
        self.black_rows += [first_row + row for row in found.black_rows]
        self.dim_rows += [first_row + row for row in found.dim_rows]
        self.mended_views = sorted({*self.mended_views, *found.mended_views})

    @property
    def warnings(self) -> list[str]:
        light = black_sentences(self.black_rows, self.dim_rows, self.mended_views)
        return [*light, *filled_sentences(self.filled)]


@dataclass(frozen=True)
class SlabPlan:
    """What is the same for all slabs of a scan.

    axis: the column of the axis in row 0 of the scan, and how far it moves from one row to the next. offset: how
    opposite views are joined, where they are. scale: from attenuation per pixel to what is wanted. tilt: of the axis,
    where it was measured. axis_warnings: a sentence each about an axis that may be wrong. sets: interleaved sets into
    which the views are split, of which each makes slices of its own.
    """

    recipe: Recipe
    axis: tuple[float, float]
    device: Device
    offset: OffsetAxis | None = None
    scale: float = 1.0
    tilt: Tilt | None = None
    axis_warnings: tuple[str, ...] = ()
    sets: int = 1

    def edge(self, scan: Scan) -> int:
        """Columns of a slice."""
        return self.offset.joined_columns if self.offset else scan.columns

    def axes(self, rows: tuple[int, int]) -> Floats:
        """The column of the axis on the detector, of every row."""
        return self.axis[0] + self.axis[1] * np.arange(*rows, dtype=np.float64)

    def geometry(self, angles_rad: Floats, rows: tuple[int, int]) -> ParallelGeometry:
        if self.offset:
            joined, axes = OppositeViews.of(angles_rad).front, np.full(rows[1] - rows[0], self.offset.joined_axis)
            return ParallelGeometry(angles_rad[joined], axes, self.recipe.is_circle)
        return ParallelGeometry(angles_rad, self.axes(rows), self.recipe.is_circle)


def make_slab(
    raw: Voxels, scan: Scan, rows: tuple[int, int], plan: SlabPlan, account: SlabStatistics, put: Put
) -> None:
    """Hand over the slices of a slab, some at a time. May be called by several threads for different slabs.

    raw: (view, row, column) of ``rows`` of the scan. Where views are split into sets, ``put`` receives the slices of
    the first set, then the same ones of the second, and so on, in one array.
    """
    with account.timing("calibrate"):
        calibration = Calibration.of(scan, rows)
    whole, turns, device = plan.geometry(scan.angles_rad, rows), DEVICE_TURNS.ticket(), plan.device
    axes = plan.axes(rows)
    views, count, columns = raw.shape
    size = SlabSize(count, views, columns, plan.edge(scan), raw.itemsize, 4)
    card = device_budget(size, plan.recipe, device) if device.is_cuda else None
    at_once = max(1, (card.at_once if card else SLICES_AT_ONCE) // plan.sets)
    for start in range(0, count, at_once):
        raise_if_stopped()
        some = slice(start, min(count, start + at_once))
        with card.slots if card else nullcontext():
            with account.timing("to device"):
                frames = primitives(device).to_device(raw[:, some])
            with DEVICE_TURNS.hold(turns, card.turns if card else 1):
                sinograms = corrected(frames, scan, calibration.part(some), plan, account, axes[some])
                del frames
                with account.timing("reconstruct", device):
                    slices = _reconstructed_sets(sinograms, whole.part(some), plan)
                    _scale(slices, plan)
                del sinograms
            with account.timing("hand over"):
                put(start, slices)
            del slices  # The next ones need the room.


def _reconstructed_sets(sinograms: Array, geometry: ParallelGeometry, plan: SlabPlan) -> Array:
    """Slices of all views; or those of each set of views, one set after the other."""
    if plan.sets == 1:
        return reconstructed(sinograms, geometry, plan.recipe, plan.device, raise_if_stopped)
    count, edge = len(sinograms), sinograms.shape[2]
    slices = primitives(plan.device).empty((plan.sets * count, edge, edge), np.float32)
    for number in range(plan.sets):
        some = sinograms[:, number :: plan.sets].copy()
        made = reconstructed(some, geometry.every(plan.sets, number), plan.recipe, plan.device, raise_if_stopped)
        slices[number * count : (number + 1) * count] = made
    return slices


def _scale(slices: Array, plan: SlabPlan) -> None:
    from pellucid.tomo.kernels import projection

    if plan.scale != 1.0:
        shape = (slices.shape[1], len(slices), slices.shape[2])
        launch(projection.scale, shape, inputs=[plan.scale], outputs=[slices], device=plan.device)


def corrected(
    raw: Array, scan: Scan, calibration: Calibration, plan: SlabPlan, account: SlabStatistics, axes: Floats
) -> Array:
    """Sinograms (row, view, column), ready to be reconstructed, from raw frames on the host or on the device.

    axes: the column of the axis on the detector, of every row.
    """
    device = plan.device
    with account.timing("correct", device):
        measured = attenuate(raw, scan.projections.times, calibration, device)
        account.note_light(measured, calibration.first_row)
        sinograms = mended(measured, scan.angles_rad, plan.recipe, device)
    with account.timing("rings", device):
        cleaned = _cleaned(sinograms, plan, account, axes, scan.angles_rad)
    return (
        join_opposite_views(cleaned, plan.offset, OppositeViews.of(scan.angles_rad), device) if plan.offset else cleaned
    )


def mended(measured: Correction, angles_rad: Floats, recipe: Recipe, device: Device) -> Array:
    """Sinograms of measured attenuation, of all views or of some: rows without light replaced, the air levelled."""
    sinograms = measured.sinograms
    replace_bad_views(sinograms, measured.bad, angles_rad, device)
    for row in measured.black_rows:
        sinograms[row] = 0
    if recipe.air:
        level_air(sinograms, recipe.air, device)
    return sinograms


def _cleaned(sinograms: Array, plan: SlabPlan, account: SlabStatistics, axes: Floats, angles_rad: Floats) -> Array:
    """Without zingers and rings. On the CPU in place, so that a step takes no more besides than one slice."""
    parts = [slice(None)] if plan.device.is_cuda else [slice(n, n + 1) for n in range(len(sinograms))]
    for part in parts:
        cleaned = sinograms[part]
        if plan.recipe.zingers:
            cleaned, count = remove_zingers(cleaned, plan.recipe.zingers, device=plan.device)
            account.zingers += count
        cleaned = remove_rings(cleaned, plan.recipe.rings, plan.device, axes[part], angles_rad)
        if plan.device.is_cuda:
            return cleaned
        sinograms[part] = cleaned
    return sinograms


def reconstructed(
    sinograms: Array, geometry: ParallelGeometry, recipe: Recipe, device: Device, between: Between = nothing
) -> Array:
    """Slices in attenuation per pixel. The sinograms may be overwritten. between: as in sirt()."""
    match recipe.method:
        case "gridding":
            return reconstruct_by_gridding(sinograms, geometry, recipe.filter, padding=recipe.padding, device=device)
        case "sirt":
            clipped, count = recipe.is_nonnegative, recipe.iteration_count
            return sirt(sinograms, geometry, count, is_nonnegative=clipped, device=device, between=between)
        case "cgls":
            return cgls(sinograms, geometry, recipe.iteration_count, device=device, between=between)
        case _:
            return back_project(filtered(sinograms, RowEnds(axes=geometry.axes), recipe, device), geometry, device)


def filtered(sinograms: Array, ends: RowEnds, recipe: Recipe, device: Device) -> Array:
    """The same sinograms, ready to be back projected."""
    return filter_sinograms(sinograms, recipe.filter, padding=recipe.padding, device=device, out=sinograms, ends=ends)
