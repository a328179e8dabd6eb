"""The driver of every job that makes a volume: stages, partial output, markers, resuming, publishing.

Here: VolumeJob, what the driver has to know of a job; open_job, which plans and publishes; OpenJob, which is run.
Not here: the plans of particular jobs (conversion, tomo), one stage (stages), names of unfinished outputs
(partial_output).
"""

import errno
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Protocol

from pellucid.box import Shape
from pellucid.engines.engine import Engine
from pellucid.engines.partial_output import PartialOutput
from pellucid.engines.stages import Stage, plan_levels_after, run_stage
from pellucid.engines.task import BlockResult
from pellucid.errors import DiskFull, InvalidInput, PellucidError
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout
from pellucid.formats.registry import open_writer


class VolumeJob(Protocol):
    """A plan for a volume. layout: of the output. reduce: how coarser levels are made."""

    @property
    def layout(self) -> Layout: ...

    @property
    def engine(self) -> Engine: ...

    @property
    def reduce(self) -> str: ...

    @property
    def key(self) -> str:
        """Changes with everything that changes the volume: remains of a job with another key are removed."""

    def first_stages(self, partial: PartialOutput, grain: Shape, *, is_resumed: bool) -> list[Stage]:
        """The stages up to level 0, in order; the last one fills it.

        grain: the smallest block that level 0 can be written in. is_resumed: whether the remains are of this job.
        """


@dataclass(frozen=True)
class OpenJob:
    """A job whose output is locked and planned. stages: in order, with those of coarser levels."""

    stages: list[Stage]
    partial: PartialOutput
    engine: Engine
    cancel: threading.Event

    def run_stage(self, stage: Stage) -> Iterator[BlockResult]:
        """Results as they finish, those of an earlier run first."""
        return run_stage(stage, self.engine, self.partial.folder, self.cancel)

    def run(self) -> None:
        """All stages, for jobs that need none of the results."""
        for stage in self.stages:
            for _ in self.run_stage(stage):
                pass


@contextmanager
def open_job(
    job: VolumeJob, target: Location, *, overwrite: bool = False, cancel: threading.Event | None = None
) -> Iterator[OpenJob]:
    """Plan a job and lock its output; run all stages inside the ``with``.

    What cannot fit is refused before anything runs, and leaves nothing behind. The output has its final name when the
    block ends without an error; after an error or an interruption, the same job continues where it was.
    """
    with (
        PartialOutput(target, overwrite=overwrite, by_name=not job.engine.is_here) as partial,
        partial.naming_target(),
        _naming_full_disk(target),
    ):
        is_resumed = partial.begin(job.key)
        try:
            stages = _plan(job, partial, is_resumed=is_resumed)
        except PellucidError:
            partial.discard()  # Refused: nothing was worked for yet.
            raise
        yield OpenJob(stages, partial, job.engine, cancel or threading.Event())
        with closing(open_writer(partial.output, job.layout, resume=True)) as writer:
            writer.finish()
        partial.publish()


def _plan(job: VolumeJob, partial: PartialOutput, *, is_resumed: bool) -> list[Stage]:
    """All stages, each with blocks that fit."""
    with closing(open_writer(partial.output, job.layout, resume=is_resumed)) as writer:
        if job.engine.needs_shareable_output and not writer.is_shareable:
            raise InvalidInput(
                "This output does not support several processes.",
                remedy="Use the local engine (threads), or write zarr or n5.",
            )
        grains = writer.grains
    *before, first = job.first_stages(partial, grains[0], is_resumed=is_resumed)
    return [*before, *plan_levels_after(first, partial, job.layout, job.reduce, grains, job.engine)]


@contextmanager
def _naming_full_disk(target: Location) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiskFull(str(target)) from error
        raise
