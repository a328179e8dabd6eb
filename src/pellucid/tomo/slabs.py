"""From the raw rows of a scan to the slices of a slab: all steps of a recipe, a few slices at a time.

Here: make_slab, the two halves that it consists of, and how much memory it takes.
Not here: the steps themselves, files (pipeline).
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pellucid import settings
from pellucid.device import Array, Device, choose, primitives, synchronize
from pellucid.formats.protocol import Voxels
from pellucid.tomo.backprojection import Geometry, back_project
from pellucid.tomo.correction import Calibration, attenuate, level_air, mend
from pellucid.tomo.filters import batch_slices, filter_sinograms, padded_length
from pellucid.tomo.gridding import grid_size, reconstruct_by_gridding
from pellucid.tomo.iterative import cgls, sirt
from pellucid.tomo.offset_scans import OffsetAxis, stitch
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.rings import remove_rings
from pellucid.tomo.scan import Floats, Scan
from pellucid.tomo.zingers import remove_zingers

Put = Callable[[int, Voxels], None]
"""Takes how many slices came before, and slices (slice, row, column) in attenuation per pixel; may overwrite them."""

AT_ONCE = 16
"""Slices whose sinograms are in memory at once: as many as lie side by side in a vector."""


@dataclass
class Account:
    """What was noticed while slabs were made: seconds of every step, pixels without light and with a stray
    photon, sentences for people."""

    seconds: dict[str, float] = field(default_factory=dict)
    clipped: int = 0
    zingers: int = 0
    warnings: list[str] = field(default_factory=list)

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
        self.warn(result.get("warnings", []))

    def warn(self, sentences: list[str]) -> None:
        self.warnings += [sentence for sentence in sentences if sentence not in self.warnings]


@dataclass(frozen=True)
class SlabPlan:
    """What is the same for all slabs of a scan.

    axis: the column of the axis in row 0 of the scan, and how far it moves from one row to the next. offset: how
    opposite views are joined, where they are.
    """

    recipe: Recipe
    axis: tuple[float, float]
    device: Device
    offset: OffsetAxis | None = None

    def edge(self, scan: Scan) -> int:
        """Columns of a slice."""
        return self.offset.joined_columns if self.offset else scan.columns

    def geometry(self, angles_rad: Floats, rows: tuple[int, int]) -> Geometry:
        if self.offset:
            half, axes = angles_rad[: len(angles_rad) // 2], np.full(rows[1] - rows[0], self.offset.joined_axis)
            return Geometry(half, axes, self.recipe.is_circle)
        axes = self.axis[0] + self.axis[1] * np.arange(*rows, dtype=np.float64)
        return Geometry(angles_rad, axes, self.recipe.is_circle)


def make_slab(raw: Voxels, scan: Scan, rows: tuple[int, int], plan: SlabPlan, account: Account, put: Put) -> None:
    """Hand over the slices of a slab, some at a time.

    raw: (view, row, column) of ``rows`` of the scan.
    """
    with account.timing("calibrate"):
        calibration = Calibration.of(scan, rows)
    whole = plan.geometry(scan.angles_rad, rows)
    for start in range(0, raw.shape[1], AT_ONCE):
        some = slice(start, min(raw.shape[1], start + AT_ONCE))
        sinograms = corrected(raw[:, some], scan, _part(calibration, some), plan, account)
        with account.timing("reconstruct", plan.device):
            slices = reconstructed(sinograms, whole.part(some), plan.recipe, plan.device)
        del sinograms
        with account.timing("hand over"):
            put(start, primitives(plan.device).to_host(slices))
        del slices  # The next ones need the room.


def _part(calibration: Calibration, rows: slice) -> Calibration:
    flats, dark = calibration.flats[:, rows], calibration.dark[rows]
    return Calibration(flats, calibration.times, dark, calibration.floor)


def corrected(raw: Voxels, scan: Scan, calibration: Calibration, plan: SlabPlan, account: Account) -> Array:
    """Sinograms (row, view, column), ready to be reconstructed."""
    device = plan.device
    with account.timing("correct", device):
        corrected = attenuate(raw, scan.projections.times, calibration, device)
        account.clipped += int(corrected.clipped.sum())
        account.warn([sentence for sentence in corrected.warnings() if "%" not in sentence])
        sinograms = corrected.sinograms
        mend(sinograms, corrected.bad, scan.angles_rad, device)
        if plan.recipe.air:
            level_air(sinograms, plan.recipe.air, device)
    with account.timing("rings", device):
        cleaned = _cleaned(sinograms, plan, account)
    return stitch(cleaned, plan.offset, device) if plan.offset else cleaned


def _cleaned(sinograms: Array, plan: SlabPlan, account: Account) -> Array:
    """Without zingers and rings. On the CPU in place, so that a step takes no more besides than one slice."""
    parts = [slice(None)] if plan.device.is_cuda else [slice(n, n + 1) for n in range(len(sinograms))]
    for part in parts:
        cleaned = sinograms[part]
        if plan.recipe.zingers:
            cleaned, count = remove_zingers(cleaned, plan.recipe.zingers, device=plan.device)
            account.zingers += count
        cleaned = remove_rings(cleaned, plan.recipe.rings, plan.device)
        if plan.device.is_cuda:
            return cleaned
        sinograms[part] = cleaned
    return sinograms


def reconstructed(sinograms: Array, geometry: Geometry, recipe: Recipe, device: Device) -> Array:
    """Slices in attenuation per pixel. The sinograms may be overwritten."""
    match recipe.method:
        case "gridding":
            return reconstruct_by_gridding(sinograms, geometry, recipe.filter, padding=recipe.padding, device=device)
        case "sirt":
            return sirt(sinograms, geometry, recipe.iterations, is_nonnegative=recipe.is_nonnegative, device=device)
        case "cgls":
            return cgls(sinograms, geometry, recipe.iterations, device=device)
        case _:
            filter_sinograms(sinograms, recipe.filter, padding=recipe.padding, device=device, out=sinograms)
            return back_project(sinograms, geometry, device)


# Memory


@dataclass(frozen=True)
class SlabSize:
    """What memory depends on.

    slices: of a slab. views, columns: of the scan. edge: columns of a slice, more than those of the scan where opposite
    views are joined. raw_itemsize, itemsize: bytes of a raw and of a written voxel.
    """

    slices: int
    views: int
    columns: int
    edge: int
    raw_itemsize: int
    itemsize: int

    @property
    def at_once(self) -> int:
        return min(self.slices, AT_ONCE)

    @property
    def joined_views(self) -> int:
        return self.views // 2 if self.edge > self.columns else self.views


def slab_bytes(size: SlabSize, recipe: Recipe) -> int:
    """What making a slab on the CPU takes at its peak: raw rows, written voxels, and the slices under work."""
    raw = size.slices * size.views * size.columns * size.raw_itemsize
    frames = 4 * (3 * size.slices + AT_ONCE) * size.columns  # Flats and darks, while they are averaged.
    work = work_bytes(size, recipe)
    if size.edge > size.columns:
        joined = 4 * size.at_once * size.joined_views * size.edge
        work = max(work, 4 * size.at_once * size.views * size.columns + joined)
    return raw + size.slices * size.edge**2 * size.itemsize + frames + work


def work_bytes(size: SlabSize, recipe: Recipe) -> int:
    """What the slices that are worked on at once take, from their sinograms on."""
    views, at_once = size.joined_views, size.at_once
    sinograms, slices = 4 * at_once * views * size.edge, 4 * at_once * size.edge**2
    length = padded_length(size.edge, recipe.padding)
    packed = 4 * AT_ONCE * views * (size.edge + 3)
    if recipe.method == "gridding":
        together = min(at_once, 2 * settings.current().threads)
        rows, grid = 4 * together * views * length, 4 * together * grid_size(size.edge) ** 2
        return sinograms + slices + grid + max(3 * rows, grid + slices * together // at_once)
    if recipe.method in ("sirt", "cgls"):
        return 4 * sinograms + 3 * slices + packed + 4 * AT_ONCE * size.edge**2
    batch = min(at_once, batch_slices(views, length, choose("cpu")))
    return sinograms + max(12 * batch * views * length, packed + slices)
