"""From a volume and a network to a volume: run on an engine, resumed after an interruption, reported.

Here: segment, apply_network.
Not here: the plan (job), the task (task), carrying a plan out (engines.volume_job).
"""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pellucid.conversion.values import plan_values
from pellucid.engines.engine import Engine, EngineOptions, make_engine
from pellucid.engines.output_check import check_output
from pellucid.engines.volume_job import open_job
from pellucid.formats.location import Location
from pellucid.infer.job import InferenceJob, InferenceOptions, NetworkFile, Source
from pellucid.infer.loading import load_network
from pellucid.infer.network_files.network import Network
from pellucid.infer.output_rule import OutputRule, label_rule, value_rule
from pellucid.infer.report import InferenceReport, NetworkReport
from pellucid.infer.stored_intermediate import run_earlier_networks
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
    return _run(source, target, network, options, control, lambda last: label_rule(last, threshold))


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
    return _run(source, target, network, options, control, lambda last: value_rule(last, values.channel, mapped))


def _run(
    source: Source,
    target: str | Path | Location,
    network: NetworkFile | str | Path,
    options: InferenceOptions | None,
    control: RunControl | None,
    choose_rule: Callable[[Network], OutputRule],
) -> tuple[Volume, InferenceReport]:
    options, control = options or InferenceOptions(), control or RunControl()
    source, options, earlier = begin_chain(source, options, control)
    last = network if isinstance(network, NetworkFile) else NetworkFile(network)
    engine = control.engine or make_engine("local", EngineOptions.from_settings(workers=WORKERS))
    place, started = Location.parse(target).absolute, time.monotonic()
    with ExitStack() as stack:
        volumes = [stack.enter_context(open_source(one, options.level)) for one in (source, *options.also)]
        check_output(place, [volume.location for volume in volumes])
        networks = [load_network(one.path, one.form) for one in (*options.after, last)]
        job = InferenceJob.planned(volumes, networks, choose_rule(networks[-1]), options, engine)
        with open_job(job, place, overwrite=control.overwrite, cancel=control.cancel) as opened:
            reports = job.report(opened.stages[0], is_checked=control.is_checked)
            for stage in opened.stages:
                for _ in opened.run_stage(stage):
                    pass
        named = str(volumes[0].location)
    return open_volume(place), InferenceReport(named, str(place), (*earlier, *reports), time.monotonic() - started)


def begin_chain(
    source: Source, options: InferenceOptions, control: RunControl
) -> tuple[Source, InferenceOptions, tuple[NetworkReport, ...]]:
    """If the intermediate volume of a chain is stored, the networks that make it run, and the rest starts from it."""
    start = run_earlier_networks(source, options, lambda *named: apply_network(*named, control=control))
    return start.source, start.options, start.reports


def open_source(source: Source, level: int | None) -> Volume:
    location = source.location if isinstance(source, Volume) else Location.parse(source).absolute
    return open_volume(location if level is None else location.with_options(level=level))
