"""The stages before training: slices of the whole scan, and slices of sets of its views.

Here: DenoiseInput, reconstruct_stage, halves_stage; the task that averages halves.
Not here: training and applying the network (pipeline).

Each stage leaves a complete volume, or something from which it continues.
"""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import numpy as np

from pellucid.box import Box, Shape
from pellucid.engines.engine import Engine, make_engine
from pellucid.engines.output_task import OutputTask
from pellucid.engines.partial_output import PartialOutput
from pellucid.engines.stages import Stage, plan_stage
from pellucid.engines.task import TaskContext, Work
from pellucid.engines.volume_job import open_job
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level
from pellucid.formats.registry import open_writer
from pellucid.learn.denoise.request import DenoiseRequest, RunChoices
from pellucid.learn.denoise.slice_sets import SetVolume
from pellucid.tomo.pipeline.reconstruct import OutputOptions, RunOptions, reconstruct
from pellucid.tomo.pipeline.view_sets import ViewSets
from pellucid.tomo.scan_files.registry import open_scan
from pellucid.volume.blocks import Block
from pellucid.volume.volume import open_volume

CHUNK = (8, 128, 128)
"""Of slices that are read patch by patch."""
MEAN_CHUNK = (64, 64, 64)


@dataclass(frozen=True)
class DenoiseInput:
    """whole: slices of all views, which the network is applied to. sets: slices of sets of views, which it learns from.
    mean: of the sets, over the same slices."""

    whole: SetVolume
    sets: tuple[SetVolume, ...] = ()
    mean: SetVolume | None = None


def reconstruct_stage(request: DenoiseRequest, folder: Path, running: RunChoices) -> DenoiseInput:
    """Reconstruct slices of the whole scan, and of sets of its views unless there is a trained network."""
    first, stop = _rows(request)
    learnt = _learnt_rows(first, stop, request.options.slices)
    is_all = learnt == (first, stop)
    if request.network is not None:
        return DenoiseInput(_reconstructed(request, folder / "slices.zarr", OutputOptions(rows=(first, stop)), running))
    count = request.options.sets
    stacked = _reconstructed(
        request, folder / "sets.zarr", OutputOptions(rows=learnt, sets=count, chunk=CHUNK), running
    )
    binning = request.recipe.binning
    layout = ViewSets.of(count, learnt[1] // binning - learnt[0] // binning, min(CHUNK[0], learnt[1] - learnt[0]))
    edges = stacked.box.stop[1:]
    mean, *sets = (replace(stacked, box=layout.box(number, edges)) for number in range(-1, count))
    whole = mean
    if not is_all:
        whole = _reconstructed(request, folder / "slices.zarr", OutputOptions(rows=(first, stop)), running)
    return DenoiseInput(whole, tuple(sets), mean)


def _rows(request: DenoiseRequest) -> tuple[int, int]:
    with closing(open_scan(str(request.scan), request.scan_options)) as scan:
        return request.rows or (0, scan.rows)


def _learnt_rows(first: int, stop: int, count: int) -> tuple[int, int]:
    """So many in the middle of the scan.

    >>> _learnt_rows(0, 1000, 200), _learnt_rows(10, 60, 200)
    ((400, 600), (10, 60))
    """
    left = max(0, stop - first - count)
    return first + left // 2, stop - (left - left // 2)


def _reconstructed(request: DenoiseRequest, path: Path, output: OutputOptions, running: RunChoices) -> SetVolume:
    if not path.exists():
        device = None if running.device == "auto" else running.device
        options = RunOptions(running.engine, device)
        reconstruct(str(request.scan), path, request.recipe, output, request.scan_options, options).close()
    with open_volume(path) as volume:
        return SetVolume(str(path), volume.box)


def halves_stage(request: DenoiseRequest, folder: Path, running: RunChoices) -> DenoiseInput:
    """Average reconstructions that there are already."""
    path, locations = folder / "slices.zarr", [str(Location.parse(one).absolute) for one in request.halves]
    with ExitStack() as stack:
        volumes = [stack.enter_context(open_volume(one)) for one in locations]
        shapes = [volume.shape for volume in volumes]
        if len(set(shapes)) > 1:
            raise InvalidInput(
                f"The reconstructions have different shapes (z, y, x): {', '.join(map(str, shapes))}.",
                remedy="Reconstruct the same rows of the scan with the same settings.",
            )
        box, spacing, unit = volumes[0].box, volumes[0].spacing, volumes[0].unit
    if not path.exists():
        chunk = tuple(map(min, zip(MEAN_CHUNK, box.shape, strict=True)))
        layout = Layout((Level(box.shape, chunk, spacing),), np.dtype(np.float32), unit)  # type: ignore[arg-type]
        job = _MeanJob(tuple(locations), layout, running.engine or make_engine())
        with open_job(job, Location.parse(path)) as opened:
            opened.run()
    first, stop = _learnt_rows(0, box.shape[0], request.options.slices)
    part = Box((first, 0, 0), (stop, *box.stop[1:]))
    whole = SetVolume(str(path), box)
    return DenoiseInput(whole, tuple(SetVolume(one, part) for one in locations), replace(whole, box=part))


@dataclass(frozen=True)
class MeanTask(OutputTask):
    """The mean of volumes of the same shape."""

    sources: tuple[str, ...]
    target: str
    layout: Layout
    output_chunk: Shape

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.sources

    def cost(self, shape: Shape) -> int:
        return 4 * 4 * prod(shape)

    @contextmanager
    def open(self, context: TaskContext) -> Iterator[Work]:
        with ExitStack() as stack:
            volumes = [stack.enter_context(open_volume(source)) for source in self.sources]
            writer = stack.enter_context(closing(open_writer(Location.parse(self.target), self.layout, resume=True)))

            def average(block: Block) -> None:
                total = volumes[0].read(block.core).astype(np.float32)
                for volume in volumes[1:]:
                    total += volume.read(block.core)
                total /= np.float32(len(volumes))
                writer.write(block.core, total)

            yield average


@dataclass(frozen=True)
class _MeanJob:
    sources: tuple[str, ...]
    layout: Layout
    engine: Engine
    reduce: str = "mean"

    @property
    def key(self) -> str:
        return repr((self.sources, self.layout))

    def first_stages(self, partial: PartialOutput, grain: Shape, *, is_resumed: bool) -> list[Stage]:
        task = MeanTask(self.sources, str(partial.output), self.layout, grain)
        return [plan_stage("Averaging", task, self.engine, partial.folder)]
