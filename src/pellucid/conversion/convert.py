"""Any volume in, any volume out: converting, cropping, changing type, adding levels.

Here: convert and pyramid: the plan.
Not here: the options, the work on one block (tasks), carrying a plan out (engines.volume_job).
"""

import hashlib
import threading
from dataclasses import dataclass, replace
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np

from pellucid import progress
from pellucid.box import Box, Shape, triple
from pellucid.conversion.options import ConversionOptions, parse_options
from pellucid.conversion.tasks import CopyTask
from pellucid.conversion.values import ValueMap, plan_values
from pellucid.engines.engine import Engine, make_engine
from pellucid.engines.output_check import check_output
from pellucid.engines.partial_output import PartialOutput
from pellucid.engines.stages import Stage, plan_stage
from pellucid.engines.volume_job import open_job
from pellucid.errors import InvalidInput
from pellucid.formats.chunked.output_limits import with_limits
from pellucid.formats.fingerprint import fingerprint
from pellucid.formats.local_files import refuse_links_of_others
from pellucid.formats.location import Location
from pellucid.formats.orientation import cropped, lost
from pellucid.formats.protocol import Layout, Level, Voxels
from pellucid.volume.levels import plan_levels
from pellucid.volume.volume import Volume, open_volume

Source = str | Path | Location | Volume | Voxels
DEFAULT_CHUNK = (64, 64, 64)


def convert(
    source: Source,
    target: str | Path | Location,
    *,
    engine: Engine | str | None = None,
    overwrite: bool = False,
    cancel: threading.Event | None = None,
    **requests: Any,
) -> Volume:
    """Write a volume in another format; the keyword arguments are the fields of ConversionOptions.

    Memory stays within the engine's budget for volumes of any size. If it is interrupted, call it again to continue.
    The output has its final name only when it is complete.
    """
    request = parse_options(requests)
    place = _place(target)
    engine = make_engine(engine) if isinstance(engine, str) else engine or make_engine()
    with _open(source, request.level) as volume:
        check_output(place, [volume.location])
        job = _Job.planned(volume, place, request, engine)
        with open_job(job, place, overwrite=overwrite, cancel=cancel) as opened:
            results = [list(opened.run_stage(stage)) for stage in opened.stages]
        lost_nan = sum(done.result or 0 for done in results[0])
    written = open_volume(place)
    if warning := loss_warning(written, job.layout):
        progress.note(warning)
    if lost_nan:
        progress.note(f"{lost_nan:,} voxels were NaN (not a number); they now have the lowest value of the range.")
    return written


def loss_warning(written: Volume, layout: Layout) -> str:
    """A sentence on what an output does not store of spacing and orientation; empty where it stores all."""
    parts = [_lost_spacing(written, layout), lost(layout.orientation, written.orientation)]
    missing = " and ".join(part for part in parts if part)
    if not missing:
        return ""
    return f"{written.location.path} does not store {missing}. Write .zarr, .h5, .nrrd or .mha to keep it."


def _lost_spacing(written: Volume, layout: Layout) -> str:
    """The spacing, where the output states another one or not its unit; a unit that was converted is not lost."""
    spacing, unit = layout.levels[0].spacing, layout.unit
    if written.unit not in ("", unit) or (written.unit == unit and np.allclose(written.spacing, spacing, rtol=1e-5)):
        return ""
    return f"the spacing ({', '.join(f'{step:g}' for step in spacing)}){f' {unit}' if unit else ''}"


def pyramid(source: Source, target: str | Path | Location, **requests: Any) -> Volume:
    """Convert with all coarser levels: mean for grey values, mode for labels, max for sparse bright features."""
    return convert(source, target, **{"levels": "auto", **requests})


@dataclass(frozen=True)
class _Job:
    """One conversion: the plan made from the options."""

    volume: Volume
    target: Location
    request: ConversionOptions
    engine: Engine
    values: ValueMap
    layout: Layout

    @classmethod
    def planned(cls, volume: Volume, target: Location, request: ConversionOptions, engine: Engine) -> "_Job":
        """What can be refused without touching the output is refused here."""
        automatic = request.value_range == "auto"
        values = plan_values(volume.dtype, request.dtype, volume.value_range if automatic else request.value_range)  # type: ignore[arg-type]
        if engine.needs_shareable_output and volume.location.is_memory:
            raise InvalidInput(
                f"{volume.location} to {target} does not support several processes.",
                remedy="Use the local engine (threads), or read from a file and write zarr or n5.",
            )
        layout = with_limits(target, _layout(volume, request, values), request)
        return cls(volume, target, request, engine, values, layout)

    @property
    def reduce(self) -> str:
        return self.request.reduce

    @property
    def key(self) -> str:
        location = self.volume.location
        facts = (fingerprint(location), str(location), self.layout, self.values, self.request)
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def first_stages(self, partial: PartialOutput, grain: Shape, *, is_resumed: bool) -> list[Stage]:
        return [plan_stage("Copying", self._copy_task(partial.output, grain), self.engine, partial.folder)]

    def _copy_task(self, output: Location, output_chunk: Shape) -> CopyTask:
        return CopyTask(
            source=str(self.volume.location),
            target=str(output),
            layout=self.layout,
            values=self.values,
            origin=_region(self.volume, self.request).start,
            output_chunk=output_chunk,
            source_itemsize=self.volume.dtype.itemsize,
            source_chunk=self.volume.chunk,
        )


def _region(volume: Volume, request: ConversionOptions) -> Box:
    region = request.box or volume.box
    if not volume.box.contains(region) or region.is_empty:
        raise InvalidInput(
            f"The box {region} (z, y, x) is outside {volume.box}.", remedy="Choose a box inside the volume."
        )
    return region


def _layout(volume: Volume, request: ConversionOptions, values: ValueMap) -> Layout:
    region = _region(volume, request)
    shape = region.shape
    chunk = triple(map(min, zip(request.chunk or _chunk_for(request.shard), shape, strict=True)))
    levels = plan_levels(Level(shape, chunk, volume.spacing), None if request.levels == "auto" else request.levels)
    orientation = cropped(volume.orientation, region.start, volume.spacing)
    return Layout(levels, np.dtype(values.dtype), volume.unit, request.shard, request.codec, orientation)


def _chunk_for(shard: Shape | None) -> Shape:
    """The default chunk, or the largest that divides the requested shard."""
    return triple(map(gcd, shard, DEFAULT_CHUNK)) if shard else DEFAULT_CHUNK


def _open(source: Source, level: int | None) -> Volume:
    if isinstance(source, np.ndarray):
        source = Volume.from_array(source)
    location = source.location if isinstance(source, Volume) else Location.parse(source).absolute
    return open_volume(location if level is None else location.with_options(level=level))


def _place(target: str | Path | Location) -> Location:
    """Where the output goes: a link is followed, so that what it leads to is replaced and not the link."""
    place = Location.parse(target).absolute
    if chosen := {"t", "c", "level"} & dict(place.options).keys():
        raise InvalidInput(
            f"The option {chosen.pop()!r} does not apply to an output.", remedy=f"Write to {place.path}."
        )
    if place.is_remote or place.is_memory:
        return place
    if not place.local.name:
        raise InvalidInput(f"{place.path} is not a valid output.", remedy="Use the path of a new file or folder.")
    refuse_links_of_others(place.local)
    slash = "/" if place.path.endswith("/") else ""
    return replace(place, path=f"{place.local.resolve()}{slash}")
