"""From a volume and a network to a volume: run on an engine, resumed after an interruption, reported.

Here: segment, apply_network; run_inference, which all jobs of networks share.
Not here: the plan (job), the task (task), carrying a plan out (engines.volume_job).
"""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from pellucid.conversion.values import plan_values
from pellucid.engines.engine import Engine, EngineOptions, make_engine
from pellucid.engines.output_check import check_output
from pellucid.engines.volume_job import OpenJob, VolumeJob, open_job
from pellucid.formats.chunked.output_limits import with_limits
from pellucid.formats.location import Location
from pellucid.infer.job import InferenceJob, InferenceOptions, NetworkFile, Source
from pellucid.infer.loading import load_network
from pellucid.infer.network_files.network import Network
from pellucid.infer.output_rule import OutputRule, label_rule, value_rule
from pellucid.infer.report import InferenceReport
from pellucid.infer.stored_intermediate import ChainStart, run_earlier_networks
from pellucid.volume.volume import Volume, open_volume

WORKERS = 2
"""Blocks at a time: one is computed while another is read or written."""


@dataclass(frozen=True)
class RunControl:
    """engine: where it runs; None for threads of this process. overwrite: replace an existing output. is_checked:
    measure the deviation from the result of the whole, on a sample."""

    engine: Engine | None = None
    overwrite: bool = False
    cancel: threading.Event | None = None
    is_checked: bool = True


@dataclass(frozen=True)
class OutputValues:
    """channel: of the network's output; None where it has one. dtype, value_range: the voxel type, and the values that
    are mapped to its ends."""

    channel: int | None = None
    dtype: str = "float32"
    value_range: tuple[float, float] | None = None


def segment(
    source: Source,
    target: str | Path | Location,
    network: NetworkFile | str | Path,
    options: InferenceOptions | None = None,
    *,
    threshold: float | None = None,
    control: RunControl | None = None,
) -> tuple[Volume, InferenceReport]:
    """Write the labels that a network gives to the voxels of a volume.

    Labels are the channel with the largest value; of a network with one channel, 1 above the threshold.
    """
    request = InferenceRequest(source, target, network, options or InferenceOptions(), control or RunControl())
    return run_inference(request, lambda last: label_rule(last, threshold))


def apply_network(
    source: Source,
    target: str | Path | Location,
    network: NetworkFile | str | Path,
    options: InferenceOptions | None = None,
    *,
    values: OutputValues | None = None,
    control: RunControl | None = None,
) -> tuple[Volume, InferenceReport]:
    """Write the values of one channel of a network's output."""
    values = values or OutputValues()
    mapped = plan_values(np.dtype(np.float32), values.dtype, values.value_range)
    request = InferenceRequest(source, target, network, options or InferenceOptions(), control or RunControl())
    return run_inference(request, lambda last: value_rule(last, values.channel, mapped))


@dataclass(frozen=True)
class InferenceRequest:
    """network: the last one; the others are in the options."""

    source: Source
    target: str | Path | Location
    network: NetworkFile | str | Path
    options: InferenceOptions
    control: RunControl

    @property
    def last(self) -> NetworkFile:
        return self.network if isinstance(self.network, NetworkFile) else NetworkFile(self.network)


def run_inference(
    request: InferenceRequest,
    choose_rule: Callable[[Network], OutputRule],
    continued: "Callable[[InferenceJob], ContinuedInference] | None" = None,
) -> tuple[Volume, InferenceReport]:
    """Plan, run and report. choose_rule: what is kept of the last network's output. continued: a job of which the
    networks are only the first stage."""
    control, (start, started) = request.control, (_begun(request), time.monotonic())
    options = start.options
    engine = control.engine or make_engine("local", EngineOptions.from_settings(workers=WORKERS))
    place = Location.parse(request.target).absolute
    with ExitStack() as stack:
        volumes = [stack.enter_context(_opened(one, options.level)) for one in (start.source, *options.also)]
        check_output(place, [volume.location for volume in volumes])
        networks = [load_network(one.path, one.form) for one in (*options.after, request.last)]
        plan = InferenceJob.planned(volumes, networks, choose_rule(networks[-1]), options, engine)
        plan = replace(plan, layout=with_limits(place, plan.layout, options))
        job = continued(plan) if continued else None
        with open_job(job or plan, place, overwrite=control.overwrite, cancel=control.cancel) as opened:
            reports = plan.report(opened.stages[0], is_checked=control.is_checked)
            if job:
                job.run(opened)
            else:
                opened.run()
        named = str(volumes[0].location)
    seconds = time.monotonic() - started
    return open_volume(place), InferenceReport(named, str(place), (*start.reports, *reports), seconds)


class ContinuedInference(VolumeJob, Protocol):
    """A job with stages after those of the networks."""

    def run(self, opened: OpenJob) -> None: ...


def _begun(request: InferenceRequest) -> ChainStart:
    """If the intermediate volume of a chain is stored, the networks that make it run, and the rest starts from it."""

    def apply_earlier(*named: Any) -> tuple[Volume, InferenceReport]:
        return apply_network(*named, control=request.control)

    return run_earlier_networks(request.source, request.options, apply_earlier)


def _opened(source: Source, level: int | None) -> Volume:
    location = source.location if isinstance(source, Volume) else Location.parse(source).absolute
    return open_volume(location if level is None else location.with_options(level=level))
