"""One call from a scan to a volume: planned, run on an engine, resumed after an interruption, reported.

Here: reconstruct, Output, and the task that makes a slab.
Not here: the steps (slabs), what is wished (recipe), levels and unfinished outputs (conversion).

Reading, computing and writing overlap: workers of the engine read and write at the same time, and take turns on the
device.
"""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.conversion.partial import Partial
from pellucid.conversion.stages import Stage, plan_levels_after, plan_stage, run_stage
from pellucid.conversion.values import ValueMap, plan_values
from pellucid.device import Device, choose
from pellucid.engines.engine import Engine, make_engine
from pellucid.engines.task import Work
from pellucid.errors import InvalidInput, PellucidError
from pellucid.formats.fingerprint import fingerprint
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level, Voxels
from pellucid.formats.registry import format_for_writing, open_writer
from pellucid.tomo.offset_scans import OffsetAxis
from pellucid.tomo.phase_task import PhaseTask, phase_layout
from pellucid.tomo.planes import PlaneTask
from pellucid.tomo.planning import plan_slabs
from pellucid.tomo.reading.assembly import ScanOptions
from pellucid.tomo.reading.opening import open_scan, scan_facts
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.report import Report, report_path
from pellucid.tomo.scan import Frames, Scan
from pellucid.tomo.slabs import Account, SlabPlan, SlabSize, make_slab, slab_bytes
from pellucid.volume.levels import plan_levels
from pellucid.volume.volume import Volume, open_volume

CM_UM = 1e4
CHUNK = (64, 64, 64)
SHARD_CHUNKS = 4
"""Along y and x, of a shard where the format has such."""

MOST_SLICES = 64
"""Of a slab: more would only make the first one late."""

_DEVICE_TURN = threading.Lock()
"""Held while a slab is computed: one of them has all of the device, while others are read and written."""


@dataclass(frozen=True)
class Output:
    """How the volume is written.

    dtype, value_range: the voxel type, and the attenuations (per cm where the pixel size is known) that become its
    ends. levels, reduce, chunk, codec: as in a conversion. rows: of the detector, the first and the one after the last.
    """

    dtype: str = "float32"
    value_range: tuple[float, float] | None = None
    levels: int | Literal["auto"] = 1
    reduce: str = "mean"
    chunk: Shape | None = None
    codec: str | None = None
    rows: tuple[int, int] | None = None


@dataclass(frozen=True)
class SlabTask(PlaneTask):
    """Make slices of a scan and write them to level 0 of the target.

    axis, offset: as in SlabPlan. first_row: of the scan, of the volume's first slice. scale: from attenuation per pixel
    to the unit of the output. retrieved: the volume that phase retrieval has made of the scan, where it did.
    """

    source: str
    options: ScanOptions
    recipe: Recipe
    axis: tuple[float, float]
    offset: OffsetAxis | None
    first_row: int
    scale: float
    target: str
    layout: Layout
    values: ValueMap
    grain: Shape
    views: int
    columns: int
    raw_itemsize: int
    device: str
    retrieved: str = ""

    most: ClassVar[int] = MOST_SLICES

    def cost(self, shape: Shape) -> int:
        itemsizes = self.raw_itemsize, self.layout.dtype.itemsize
        size = SlabSize(shape[0], self.views, self.columns, self.shape[2], *itemsizes)
        return slab_bytes(size, self.recipe)

    @contextmanager
    def open(self) -> Iterator[Work]:
        scan = open_scan(self.source, self.options)
        frames = Frames.whole(open_volume(self.retrieved)) if self.retrieved else scan.projections
        writer = open_writer(Location.parse(self.target), self.layout, resume=True)
        with closing(scan), closing(frames.volume), closing(writer):
            yield lambda block: self.make(block.core, scan, frames, writer)

    def make(self, box: Box, scan: Scan, frames: Frames, writer: Any) -> dict[str, Any]:
        """Make and write some slices; returns what is to be known of it in the report."""
        account, plan = Account(), SlabPlan(self.recipe, self.axis, choose(self.device), self.offset)
        rows = (box.start[0] + self.first_row, box.stop[0] + self.first_row)
        with account.timing("read"):
            raw = frames.read(rows=rows)
        slab = np.empty(box.shape, self.layout.dtype)

        def put(start: int, images: Voxels) -> None:
            for number, image in enumerate(images, start):
                slab[number] = self.values.apply(np.multiply(image, np.float32(self.scale), out=image))

        with _DEVICE_TURN:
            make_slab(raw, scan, rows, plan, account, put)
        with account.timing("write"):
            writer.write(box, slab)
        return asdict(account)


@dataclass(frozen=True)
class Running:
    """How a reconstruction is run: the engine, the device of its kernels, whether an output that exists is replaced."""

    engine: Engine | None = None
    device: str | None = None
    overwrite: bool = False
    cancel: threading.Event = field(default_factory=threading.Event)


def reconstruct(
    source: str | Path | Location,
    target: str | Path | Location,
    recipe: Recipe | None = None,
    output: Output | None = None,
    options: ScanOptions | None = None,
    running: Running | None = None,
) -> Volume:
    """The volume of a scan, in attenuation per cm where the pixel size is known, and a report beside it.

    Interrupted and called again, it continues. The output has its final name only when it is complete.
    """
    running, place = running or Running(), Location.parse(target).absolute
    with closing(open_scan(source, options)) as scan:
        wish = _Wish(
            str(Location.parse(source).absolute),
            options or ScanOptions(),
            recipe or Recipe(),
            output or Output(),
            is_sharded=format_for_writing(place) == "zarr",
        )
        job = _Job.planned(scan, wish, running.engine or make_engine(), choose(running.device))
        with Partial(place, overwrite=running.overwrite) as partial, partial.naming_target():
            account = job.carry_out(partial, running.cancel)
        report = job.report(scan, place, account)
    if (path := report_path(place)) is not None:
        report.write(path)
    return open_volume(place)


@dataclass(frozen=True)
class _Wish:
    """All that a person said, less where to write."""

    source: str
    options: ScanOptions
    recipe: Recipe
    output: Output
    is_sharded: bool


@dataclass(frozen=True)
class _Job:
    """One reconstruction: the plan, and carrying it out."""

    wish: _Wish
    engine: Engine
    slabs: SlabPlan
    rows: tuple[int, int]
    scale: float
    values: ValueMap
    layout: Layout
    phase_layout: Layout
    raw_itemsize: int

    @classmethod
    def planned(cls, scan: Scan, wish: _Wish, engine: Engine, device: Device) -> "_Job":
        """What can be refused without touching the output is refused here."""
        rows = _checked_rows(scan, wish.output.rows)
        values = plan_values(np.dtype(np.float32), wish.output.dtype, wish.output.value_range)
        slabs = plan_slabs(scan, wish.recipe, device)
        return cls(
            wish,
            engine,
            slabs,
            rows,
            CM_UM / scan.pixel_size_um if scan.pixel_size_um else 1.0,
            values,
            _layout(scan, (rows[1] - rows[0], *2 * (slabs.edge(scan),)), wish, values),
            phase_layout(scan),
            scan.projections.dtype.itemsize,
        )

    def carry_out(self, partial: Partial, cancel: threading.Event) -> Account:
        is_resumed = partial.begin(self._key())
        try:
            stages = [*self._before(partial.folder, is_resumed=is_resumed)]
            stages += self._stages(partial, is_resumed=is_resumed)
        except PellucidError:
            partial.discard()  # Refused: nothing was worked for yet.
            raise
        account = Account()
        with account.timing("wall"):
            for stage in stages:
                with account.timing(stage.name.lower()):
                    for done in run_stage(stage, self.engine, partial.folder, cancel):
                        account.add(done.result or {})
            with closing(open_writer(partial.output, self.layout, resume=True)) as writer:
                writer.finish()
            partial.publish()
        return account

    def _before(self, folder: Path, *, is_resumed: bool) -> list[Stage]:
        """Phase retrieval, where it is wished."""
        phase = self.wish.recipe.phase
        if phase is None:
            return []
        phase.check(self.phase_layout.levels[0].shape)
        place = _retrieved(folder)
        with closing(open_writer(place, self.phase_layout, resume=is_resumed)) as writer:
            grain = writer.grains[0]
            writer.finish()  # Whole from the start: what is in it is known by the markers.
        task = PhaseTask(
            self.wish.source,
            self.wish.options,
            phase,
            str(place),
            self.phase_layout,
            grain,
            self.raw_itemsize,
            self.slabs.device.name,
        )
        return [plan_stage("Retrieving phase", task, self.engine)]

    def _stages(self, partial: Partial, *, is_resumed: bool) -> list[Stage]:
        with closing(open_writer(partial.output, self.layout, resume=is_resumed)) as writer:
            if self.engine.needs_shareable_output and not writer.is_shareable:
                do = "Use the local engine (threads), or write zarr or n5."
                raise InvalidInput("This output cannot be worked on by several processes.", do=do)
            grains = writer.grains
        first = plan_stage("Reconstructing", self._task(partial, grains[0]), self.engine)
        return plan_levels_after(first, partial.output, self.layout, self.wish.output.reduce, grains, self.engine)

    def _task(self, partial: Partial, grain: Shape) -> SlabTask:
        has_phase = self.wish.recipe.phase is not None
        return SlabTask(
            source=self.wish.source,
            options=self.wish.options,
            recipe=self.wish.recipe,
            axis=self.slabs.axis,
            offset=self.slabs.offset,
            first_row=self.rows[0],
            scale=self.scale,
            target=str(partial.output),
            layout=self.layout,
            values=self.values,
            grain=grain,
            views=self.phase_layout.levels[0].shape[0],
            columns=self.phase_layout.levels[0].shape[2],
            raw_itemsize=4 if has_phase else self.raw_itemsize,
            device=self.slabs.device.name,
            retrieved=str(_retrieved(partial.folder)) if has_phase else "",
        )

    def _key(self) -> str:
        facts = (fingerprint(Location.parse(self.wish.source)), self.wish, self.slabs, self.layout)
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def report(self, scan: Scan, place: Location, account: Account) -> Report:
        level = self.layout.levels[0]
        seconds = dict(account.seconds)
        return Report(
            scan=scan_facts(scan),
            recipe=self.wish.recipe.as_words(),
            axis=tuple(self.slabs.axis[0] + self.slabs.axis[1] * row for row in (self.rows[0], self.rows[1] - 1)),  # type: ignore[arg-type]
            output={
                "location": str(place),
                "rows": self.rows,
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
            warnings=(*scan.assumptions, *self._warnings(scan, account)),
        )

    def _warnings(self, scan: Scan, account: Account) -> list[str]:
        said = list(account.warnings)
        if account.clipped:
            pixels = scan.count * (self.rows[1] - self.rows[0]) * scan.columns
            said.append(f"{100 * account.clipped / pixels:.2g} % of all pixels had too little light or no value.")
        if account.zingers:
            said.append(f"{account.zingers:,} pixels were hit by stray photons and are replaced.")
        if not scan.pixel_size_um:
            said.append("The pixel size is not known: values are attenuation per pixel, and spacing is 1.")
        return said


def _retrieved(folder: Path) -> Location:
    """Where phase retrieval leaves its frames until the volume is made."""
    return Location.parse(folder / "phase.n5")


def _checked_rows(scan: Scan, rows: tuple[int, int] | None) -> tuple[int, int]:
    first, stop = rows or (0, scan.rows)
    if not 0 <= first < stop <= scan.rows:
        raise InvalidInput(f"There are no rows {first}:{stop} in {scan.name}.", do=f"Stay within 0:{scan.rows}.")
    return first, stop


def _layout(scan: Scan, shape: Shape, wish: _Wish, values: ValueMap) -> Layout:
    output = wish.output
    chunk = triple(map(min, output.chunk or CHUNK, shape))
    edge = scan.pixel_size_um or 1.0
    levels = plan_levels(Level(shape, chunk, (edge,) * 3), None if output.levels == "auto" else output.levels)
    unit = "um" if scan.pixel_size_um else ""
    # A shard is written whole: one of several chunks along z would make slabs as thick.
    shard = (chunk[0], SHARD_CHUNKS * chunk[1], SHARD_CHUNKS * chunk[2]) if wish.is_sharded else None
    return Layout(levels, np.dtype(values.dtype), unit, shard, output.codec)
