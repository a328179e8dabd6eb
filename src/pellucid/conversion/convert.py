"""Any volume in, any volume out: converting, cropping, changing type, adding levels.

Here: Conversion (what is wished), convert and pyramid.
Not here: the work on one block (tasks), names of unfinished outputs (partial), running (engines).
"""

import errno
import hashlib
import threading
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.conversion.partial import Partial
from pellucid.conversion.tasks import CopyTask, ReduceTask
from pellucid.conversion.values import ValueMap, plan_values
from pellucid.engines.budget import choose_block
from pellucid.engines.engine import Engine, make_engine
from pellucid.engines.markers import Markers, job_key
from pellucid.engines.run import run
from pellucid.errors import DiskFull, InvalidInput, PellucidError, TooLarge
from pellucid.formats.fingerprint import fingerprint
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level
from pellucid.formats.registry import open_writer
from pellucid.volume.blocks import Block, split
from pellucid.volume.levels import plan_levels
from pellucid.volume.volume import Volume, open_volume

Source = str | Path | Location | Volume
DEFAULT_CHUNK = (64, 64, 64)


@dataclass(frozen=True)
class Conversion:
    """What is to become of a volume; every field has a sensible default.

    box, level: the part and the resolution to take. dtype, value_range: the new voxel type, and the values that become
    its ends ("auto": the data's own). levels: how many resolutions to write, or "auto" for all down to a thumbnail.
    reduce: mean, max, or mode (labels). chunk, shard, codec: as in formats.protocol.Layout.
    """

    box: Box | None = None
    level: int | None = None
    dtype: str | None = None
    value_range: tuple[float, float] | Literal["auto"] | None = None
    levels: int | Literal["auto"] = 1
    reduce: str = "mean"
    chunk: Shape | None = None
    shard: Shape | None = None
    codec: str | None = None


def convert(
    source: Source,
    target: str | Path | Location,
    *,
    engine: Engine | None = None,
    overwrite: bool = False,
    cancel: threading.Event | None = None,
    **wishes: Any,
) -> Volume:
    """Write a volume in another format; ``wishes`` are the fields of Conversion.

    Memory stays within the engine's budget whatever the volume's size. Interrupted and called again, it continues. The
    output has its final name only when it is complete.
    """
    wish = Conversion(**wishes)
    place = Location.parse(target).absolute
    engine = engine or make_engine()
    with _open(source, wish.level) as volume:
        _refuse_overwriting_source(volume.location, place)
        job = _Job(volume, place, wish, engine, cancel or threading.Event())
        with Partial(place, overwrite=overwrite) as partial:
            try:
                job.carry_out(partial)
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    raise DiskFull(str(place)) from error
                raise
    return open_volume(place)


def pyramid(source: Source, target: str | Path | Location, **wishes: Any) -> Volume:
    """Convert with all coarser levels: mean for grey values, mode for labels, max for sparse bright things."""
    return convert(source, target, **{"levels": "auto", **wishes})


@dataclass(frozen=True)
class _Stage:
    """One task on all its blocks: the copy, or the making of one level."""

    name: str
    task: CopyTask | ReduceTask
    blocks: list[Block]

    @property
    def key(self) -> str:
        return job_key(self.task, self.blocks)


@dataclass(frozen=True)
class _Job:
    """One conversion: the plan made from the wish, and carrying it out."""

    volume: Volume
    target: Location
    wish: Conversion
    engine: Engine
    cancel: threading.Event

    def carry_out(self, partial: Partial) -> None:
        values = plan_values(self.volume.dtype, self.wish.dtype, self._value_range())
        layout = self._layout(values)
        is_resumed = partial.begin(self._key(layout, values))
        try:
            stages = self._plan(partial.output, layout, values, is_resumed=is_resumed)
        except PellucidError:
            partial.discard()  # Refused: nothing was worked for yet.
            raise
        for stage in stages:
            self._run(stage, partial.folder)
        with closing(open_writer(partial.output, layout, resume=True)) as writer:
            writer.finish()
        partial.publish()

    def _plan(self, output: Location, layout: Layout, values: ValueMap, *, is_resumed: bool) -> list[_Stage]:
        """All stages, each with blocks that fit: what cannot fit is refused before the first one runs."""
        with closing(open_writer(output, layout, resume=is_resumed)) as writer:
            self._refuse_unshareable(writer.is_shareable)
            grains = writer.grains
        stages = [self._stage("Copying", self._copy_task(output, layout, values, grains[0]))]
        for level in range(1, len(layout.levels)):
            task = ReduceTask(str(output), layout, level, self.wish.reduce, grains[level], after=stages[-1].key)
            stages.append(self._stage(f"Making level {level}", task))
        return stages

    def _stage(self, name: str, task: CopyTask | ReduceTask) -> _Stage:
        options = self.engine.options
        try:
            block = choose_block(
                task.shape, task.grain, task.wished, task.cost, options.memory_bytes // options.workers
            )
        except TooLarge:  # One block at a time may still fit.
            block = choose_block(task.shape, task.grain, task.wished, task.cost, options.memory_bytes)
        return _Stage(name, task, split(task.shape, block))

    def _run(self, stage: _Stage, folder: Path) -> None:
        with closing(Markers(folder / stage.name.lower().replace(" ", "-"), stage.key)) as markers:
            for _ in run(stage.task, stage.blocks, self.engine, name=stage.name, markers=markers, cancel=self.cancel):
                pass

    @property
    def _region(self) -> Box:
        region = self.wish.box or self.volume.box
        if not self.volume.box.contains(region) or region.is_empty:
            raise InvalidInput(
                f"The box {region} is not inside {self.volume.box}.", do="Choose a box inside the volume."
            )
        return region

    def _value_range(self) -> tuple[float, float] | None:
        return self.volume.value_range if self.wish.value_range == "auto" else self.wish.value_range

    def _layout(self, values: ValueMap) -> Layout:
        shape = self._region.shape
        chunk = triple(map(min, zip(self.wish.chunk or DEFAULT_CHUNK, shape, strict=True)))
        base = Level(shape, chunk, self.volume.spacing)
        levels = plan_levels(base, None if self.wish.levels == "auto" else self.wish.levels)
        return Layout(levels, np.dtype(values.dtype), self.volume.unit, self.wish.shard, self.wish.codec)

    def _key(self, layout: Layout, values: ValueMap) -> str:
        facts = (fingerprint(self.volume.location), str(self.volume.location), layout, values, self.wish)
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def _copy_task(self, output: Location, layout: Layout, values: ValueMap, grain: Shape) -> CopyTask:
        return CopyTask(
            source=str(self.volume.location),
            target=str(output),
            layout=layout,
            values=values,
            origin=self._region.start,
            grain=grain,
            source_itemsize=self.volume.dtype.itemsize,
            source_chunk=self.volume.chunk,
        )

    def _refuse_unshareable(self, is_shareable: bool) -> None:
        if self.engine.needs_shareable_output and (self.volume.location.is_memory or not is_shareable):
            raise InvalidInput(
                f"{self.volume.location} to {self.target} cannot be worked on by several processes.",
                do="Use the local engine (threads), or read from a file and write zarr or n5.",
            )


def _open(source: Source, level: int | None) -> Volume:
    location = source.location if isinstance(source, Volume) else Location.parse(source).absolute
    return open_volume(location if level is None else location.with_options(level=level))


def _refuse_overwriting_source(source: Location, target: Location) -> None:
    if source.path.rstrip("/") == target.path.rstrip("/"):
        raise InvalidInput("Source and target are the same file.", do="Choose another name for the output.")
