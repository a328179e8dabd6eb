"""reconstruct(), from a scan to a volume: planned, run on an engine, resumed after an interruption, reported.

Here: reconstruct, and OutputOptions.
Not here: the tasks (preparation, slab_task), the recipe, carrying a plan out (engines.volume_job).
"""

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.conversion.convert import loss_warning
from pellucid.conversion.values import ValueMap, plan_values
from pellucid.device import Device, choose
from pellucid.engines.engine import Engine, make_engine
from pellucid.engines.output_check import check_output
from pellucid.engines.partial_output import PartialOutput
from pellucid.engines.stages import Stage, plan_stage
from pellucid.engines.volume_job import OpenJob, open_job
from pellucid.errors import InvalidInput, OutputExists, PellucidError
from pellucid.formats.chunked.output_limits import with_limits
from pellucid.formats.fingerprint import fingerprint
from pellucid.formats.location import Location
from pellucid.formats.orientation import Orientation, Vector
from pellucid.formats.protocol import Layout, Level, Voxels
from pellucid.formats.registry import has_shards, open_writer
from pellucid.tomo.correction.beam import check_light, check_share, light_warnings, saturation_warnings
from pellucid.tomo.correction.frame_check import frame_warnings
from pellucid.tomo.correction.preparation import Preparation, PreparationTask, check_binning
from pellucid.tomo.geometry.field_of_view import width_warnings
from pellucid.tomo.geometry.offset_check import offset_warnings
from pellucid.tomo.pipeline.planning import plan_scan
from pellucid.tomo.pipeline.slab_task import SlabTask
from pellucid.tomo.pipeline.slabs import SlabPlan, SlabStatistics
from pellucid.tomo.pipeline.view_sets import check_sets, stacked_layout, with_sets
from pellucid.tomo.pipeline.volume_region import Crop, Range, VolumeRegion, checked_rows
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.report import AngleReport, ReconstructionReport, is_report, report_path
from pellucid.tomo.scan import Scan
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.registry import open_scan
from pellucid.tomo.scan_files.scan_facts import scan_facts
from pellucid.volume.levels import plan_levels
from pellucid.volume.volume import Volume, open_volume

CHUNK = (64, 64, 64)
SHARD_CHUNKS = 4
"""Along y and x, of a shard where the format has such."""

FLOAT_CODEC = "lz4"
"""In zarr. Noise of 32 bits hardly gets smaller: Zarr's usual codec saves 5 % more, for four times the work, and the
cores that it takes are those that compute."""


@dataclass(frozen=True)
class OutputOptions:
    """How the volume is written.

    dtype, value_range: the voxel type, and the attenuations (per cm if the pixel size is known) that are mapped to its
    ends. levels, reduce, chunk (z, y, x), codec, max_files, max_bytes, max_compression_s: as in a conversion. rows:
    first and stop row of the detector. crop: the part of every slice that is kept. sets: more than 1 writes slices of
    so many interleaved sets of views too (view_sets).
    """

    dtype: str = "float32"
    value_range: tuple[float, float] | None = None
    levels: int | Literal["auto"] = 1
    reduce: str = "mean"
    chunk: Shape | None = None
    codec: str | None = None
    rows: Range | None = None
    crop: Crop | None = None
    sets: int = 1
    max_files: int | None = None
    max_bytes: int | None = None
    max_compression_s: float | None = None


Watch = Callable[[Layout], AbstractContextManager[Callable[[Box, Voxels], None]]]
"""Opened with the layout of the volume; called with every slab: its position and its voxels."""


@dataclass(frozen=True)
class RunOptions:
    """How a reconstruction runs: the engine, the device of its kernels, whether an existing output is overwritten,
    and a watcher that receives the slabs as they are made."""

    engine: Engine | None = None
    device: str | None = None
    overwrite: bool = False
    watch: Watch | None = None
    cancel: threading.Event = field(default_factory=threading.Event)


def reconstruct(
    source: str | Path | Location,
    target: str | Path | Location,
    recipe: Recipe | None = None,
    output: OutputOptions | None = None,
    options: ScanOptions | None = None,
    running: RunOptions | None = None,
) -> Volume:
    """Reconstruct the volume of a scan, in attenuation per cm if the pixel size is known, and write a report next to
    it.

    If it is interrupted, call it again to continue. The output has its final name only when it is complete.
    """
    if isinstance(source, Scan):
        raise InvalidInput(
            "reconstruct() takes a path, not a Scan.",
            remedy="Pass its path and ScanOptions, or use pellucid.tomo.reconstruct_array(scan).",
        )
    running, place = running or RunOptions(), Location.parse(target).absolute
    with closing(open_scan(source, options)) as scan:
        for written in (place, report_path(place)):
            check_output(written or place, scan.inputs)
        _refuse_foreign_report(report_path(place), overwrite=running.overwrite)
        request = _Request(
            str(Location.parse(source).absolute),
            options or ScanOptions(),
            recipe or Recipe(),
            output or OutputOptions(),
            place,
        )
        job = _Job.planned(scan, request, running.engine or make_engine(), choose(running.device))
        account = SlabStatistics()
        with account.timing("wall"), open_job(job, place, overwrite=running.overwrite, cancel=running.cancel) as opened:
            job.run_stages(opened, account, running.watch)
            job.check_light(scan, opened, account)
        report = job.report(scan, place, account)
    volume = open_volume(place)
    if warning := loss_warning(volume, job.layout):
        report = replace(report, warnings=(*report.warnings, warning))
    if (path := report_path(place)) is not None:
        report.write(path)
    return volume


@dataclass(frozen=True)
class _Request:
    """All that a user said."""

    source: str
    options: ScanOptions
    recipe: Recipe
    output: OutputOptions
    target: Location


@dataclass(frozen=True)
class _Job:
    """One reconstruction: the plan.

    axis: on the detector, as in SlabPlan. prepared: the layout of what is prepared first, where there is any. raw: the
    shape of what slabs are made of. itemsize: of the detector's pixels. region: what is made of the volume; its slices
    are counted in rows of what slabs are made of. scale: as in SlabTask.
    """

    request: _Request
    engine: Engine
    slabs: SlabPlan
    axis: tuple[float, float]
    preparation: Preparation | None
    prepared: Layout | None
    raw: Shape
    itemsize: int
    region: VolumeRegion
    scale: float
    values: ValueMap
    layout: Layout

    @classmethod
    def planned(cls, scan: Scan, request: _Request, engine: Engine, device: Device) -> "_Job":
        """What can be refused without touching the output is refused here."""
        binning = request.recipe.binning
        check_binning(scan, binning)
        rows = checked_rows(scan, request.output.rows, binning)
        values = plan_values(np.dtype(np.float32), request.output.dtype, request.output.value_range)
        check_light(scan, (rows[0] // binning * binning, rows[1] // binning * binning))
        plan = plan_scan(scan, request.recipe, device)
        raw, prepared, edge_px = scan.projections.shape, None, plan.detector.edge(scan)
        if plan.preparation is not None:
            prepared = plan.preparation.layout(scan)
            raw = prepared.levels[0].shape
        region = VolumeRegion.of(rows, request.output.crop, edge_px, binning)
        layout = _layout(region.shape, region.first_voxel(edge_px, binning), scan, request, values)
        if (sets := request.output.sets) > 1:
            check_sets(sets, raw[0], request.recipe)
            layout = stacked_layout(layout, sets)
        return cls(
            request,
            engine,
            plan.slabs,
            plan.detector.axis,
            plan.preparation,
            prepared,
            raw,
            scan.projections.dtype.itemsize,
            region,
            plan.scale,
            values,
            layout,
        )

    def run_stages(self, opened: OpenJob, account: SlabStatistics, watch: Watch | None) -> None:
        with self._watched(opened.partial, opened.stages, watch) as tell:
            for stage in opened.stages:
                with account.timing(stage.name.lower()):
                    for done in opened.run_stage(stage):
                        account.add(done.result or {})
                        tell(stage, done.index)

    def check_light(self, scan: Scan, opened: OpenJob, account: SlabStatistics) -> None:
        """Refuse a volume of a scan that is mostly dark; nothing of it stays."""
        try:
            check_share(scan, self._dark_share(account))
        except PellucidError:
            opened.partial.discard()
            raise

    def _dark_share(self, account: SlabStatistics) -> float:
        """The share of the pixels that slices are made of, that had no light."""
        return account.clipped / (self.raw[0] * self.region.shape[0] * self.raw[2])

    @contextmanager
    def _watched(
        self, partial: PartialOutput, stages: list[Stage], watch: Watch | None
    ) -> Iterator[Callable[[Stage, int], None]]:
        """Reads slabs back for those that watch, whichever engine made them."""
        if watch is None:
            yield lambda stage, index: None
            return
        slabs = next(stage for stage in stages if isinstance(stage.task, SlabTask))
        with closing(open_writer(partial.output, self.layout, resume=True)) as made, watch(self.layout) as show:

            def tell(stage: Stage, index: int) -> None:
                if stage is slabs:
                    box = slabs.blocks[index].core
                    voxels = np.empty(box.shape, self.layout.dtype)
                    made.read(box, voxels)
                    show(box, voxels)

            yield tell

    def _before(self, folder: Path, *, is_resumed: bool) -> list[Stage]:
        """The preparation of whole projections, where there is any."""
        if self.preparation is None or self.prepared is None:
            return []
        place = _prepared(folder)
        with closing(open_writer(place, self.prepared, resume=is_resumed)) as writer:
            output_chunk = writer.grains[0]
            writer.finish()  # Whole from the start: what is in it is known by the markers.
        task = PreparationTask(
            self.request.source,
            self.request.options,
            self.preparation,
            str(place),
            self.prepared,
            output_chunk,
            self.itemsize,
            self.slabs.device.name,
        )
        return [plan_stage("Preparing projections", task, self.engine, folder)]

    @property
    def reduce(self) -> str:
        return self.request.output.reduce

    def first_stages(self, partial: PartialOutput, grain: Shape, *, is_resumed: bool) -> list[Stage]:
        slabs = plan_stage("Reconstructing", self._task(partial, grain), self.engine, partial.folder)
        return [*self._before(partial.folder, is_resumed=is_resumed), slabs]

    def _task(self, partial: PartialOutput, output_chunk: Shape) -> SlabTask:
        task = SlabTask(
            source=self.request.source,
            options=self.request.options,
            recipe=self.request.recipe,
            axis=self.slabs.axis,
            offset=self.slabs.offset,
            region=self.region,
            scale=self.scale,
            target=str(partial.output),
            layout=self.layout,
            values=self.values,
            output_chunk=output_chunk,
            views=self.raw[0],
            columns=self.raw[2],
            raw_itemsize=4 if self.preparation else self.itemsize,
            device=self.slabs.device.name,
            preparation=self.preparation,
            prepared=str(_prepared(partial.folder)) if self.preparation else "",
        )
        sets = self.request.output.sets
        return task if sets == 1 else with_sets(task, sets, self.region.shape[0])

    @property
    def key(self) -> str:
        facts = (fingerprint(Location.parse(self.request.source)), self.request, self.slabs, self.layout)
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def report(self, scan: Scan, place: Location, account: SlabStatistics) -> ReconstructionReport:
        level, binning = self.layout.levels[0], self.request.recipe.binning
        rows = (self.region.z[0] * binning, self.region.z[1] * binning)
        seconds = dict(account.seconds)
        angles = AngleReport.of(self.slabs.geometry(scan.angles_rad, (0, 1)))
        return ReconstructionReport(
            scan=scan_facts(scan),
            recipe=self.request.recipe.as_words(),
            axis=(self.axis[0] + self.axis[1] * rows[0], self.axis[0] + self.axis[1] * (rows[1] - 1)),
            tilt=self.slabs.tilt,
            angles=angles,
            output={
                "location": str(place),
                "rows": rows,
                "crop": self.request.output.crop,
                "shape": level.shape,
                "levels": len(self.layout.levels),
                "dtype": self.layout.dtype.name,
                "value_range": self.values.value_range,
                "value_unit": "1/cm" if scan.pixel_size_um else "1/pixel",
                "spacing": level.spacing,
                "unit": self.layout.unit,
            },
            device=self.slabs.device.name,
            wall_s=seconds.pop("wall"),
            seconds=seconds,
            warnings=(*scan.assumptions, *angles.warnings, *self._warnings(scan, account)),
        )

    def _warnings(self, scan: Scan, account: SlabStatistics) -> list[str]:
        text = [f"Prepared first: {self.preparation.describe()}."] if self.preparation else []
        text += [self.slabs.tilt.sentence()] if self.slabs.tilt and self.slabs.tilt.sentence() else []
        text += self.slabs.axis_warnings
        text += _scan_warnings(scan, self.request.recipe, self.axis, self.region.z)
        text += account.warnings
        if scan.bad_pixel_count:
            text.append(
                f"{scan.bad_pixel_count:,} dead or hot pixels of the detector were replaced by their neighbours."
            )
        if account.clipped:
            text.append(f"{100 * self._dark_share(account):.2g} % of all pixels were underexposed or not finite.")
        if account.zingers:
            text.append(f"{account.zingers:,} zingers (stray photons) were replaced.")
        if not scan.pixel_size_um:
            text.append(_size_unknown(self.request.recipe.binning))
        return text


def _size_unknown(binning: int) -> str:
    unit = "pixel" if binning == 1 else f"voxel, which is {binning} pixels wide"
    return f"The pixel size is unknown: values are attenuation per {unit}, and spacing is {binning}."


def _scan_warnings(scan: Scan, recipe: Recipe, axis: tuple[float, float], rows: tuple[int, int]) -> list[str]:
    """About the recipe, and the frames of a scan. rows: of what slabs are made of."""
    binned = (rows[0] * recipe.binning, rows[1] * recipe.binning)
    unused = [f"The setting {name} of the recipe is not used by the method {recipe.method}." for name in recipe.unused]
    frames = [*unused, *frame_warnings(scan), *light_warnings(scan), *saturation_warnings(scan)]
    return [*frames, *offset_warnings(scan, recipe, axis), *width_warnings(scan, recipe, axis, binned)]


def _refuse_foreign_report(path: Path | None, *, overwrite: bool) -> None:
    """A report is replaced together with its volume; any other file of that name only when asked for."""
    if path is not None and path.exists() and not overwrite and not is_report(path):
        raise OutputExists(str(path))


def _prepared(folder: Path) -> Location:
    """Where prepared projections lie until the volume is made."""
    return Location.parse(folder / "prepared.n5")


def _layout(shape: Shape, first: Vector, scan: Scan, request: _Request, values: ValueMap) -> Layout:
    output = request.output
    chunk = triple(map(min, output.chunk or CHUNK, shape))
    edge = (scan.pixel_size_um or 1.0) * request.recipe.binning
    levels = plan_levels(Level(shape, chunk, (edge,) * 3), None if output.levels == "auto" else output.levels)
    unit = "um" if scan.pixel_size_um else ""
    # A shard is written whole: one of several chunks along z would make slabs as thick.
    is_sharded = has_shards(request.target)
    shard = (chunk[0], SHARD_CHUNKS * chunk[1], SHARD_CHUNKS * chunk[2]) if is_sharded else None
    usual = FLOAT_CODEC if is_sharded and values.dtype == "float32" else None
    orientation = Orientation().moved(first, (scan.pixel_size_um or 1.0,) * 3)
    made = Layout(levels, np.dtype(values.dtype), unit, shard, output.codec or usual, orientation)
    return with_limits(request.target, made, output)
