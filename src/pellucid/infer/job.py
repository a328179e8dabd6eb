"""The plan of a job that applies networks to a volume.

Here: InferenceOptions, NetworkFile; InferenceJob, the plan made from them.
Not here: carrying it out (apply, engines.volume_job), the work on a block (task).
"""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Literal, cast

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.conversion.convert import DEFAULT_CHUNK
from pellucid.dataclass_json import from_json
from pellucid.device.hardware import Device, choose
from pellucid.engines.earlier_plan import EarlierPlan
from pellucid.engines.engine import Engine
from pellucid.engines.partial_output import PartialOutput
from pellucid.engines.stages import Stage, plan_stage
from pellucid.errors import InvalidInput, NotEnoughMemory
from pellucid.formats.fingerprint import fingerprint
from pellucid.formats.location import Location
from pellucid.formats.orientation import at_level, cropped
from pellucid.formats.protocol import Layout, Level
from pellucid.infer.deviation import measure_deviation
from pellucid.infer.memory import MemoryModel, NetworkCost, network_cost
from pellucid.infer.network_files.network import Network, NetworkForm
from pellucid.infer.network_files.transforms import ValueTransform
from pellucid.infer.output_rule import OutputRule
from pellucid.infer.planning import choose_batch, plan_windows
from pellucid.infer.prediction import PredictedSource, Predictor, check_channels
from pellucid.infer.report import NetworkReport
from pellucid.infer.sources import VolumeSource, VoxelSource
from pellucid.infer.statistics import ValueStatistics, measure_sample, measure_statistics
from pellucid.infer.task import NetworkPlan, NetworkTask, WindowChoice, computed_factors, layer_bytes
from pellucid.infer.trimming.trimmed_runtime import open_network
from pellucid.infer.windows import Windows
from pellucid.volume.levels import plan_levels
from pellucid.volume.volume import Volume

Source = str | Path | Location | Volume
WINDOW_SHARE = 0.6
"""Of a block's memory, for the network; the rest is for what it reads and writes."""
GPU_SHARE = 0.85
"""Of the free memory of a GPU."""
CACHE_SHARE = 0.3
"""Of the network's memory, for results of windows that are blended."""
WINDOWS = "windows"
"""Under which an interrupted run finds those that it had."""


@dataclass(frozen=True)
class NetworkFile:
    """The path of a network, and the properties that its file does not state."""

    path: str | Path
    form: NetworkForm = field(default_factory=NetworkForm)


@dataclass(frozen=True)
class InferenceOptions:
    """How networks are applied.

    also: volumes for the other channels or inputs of the network. after: networks that run before it, in order,
    without storing their result, unless intermediate names a volume for it. box, level: the part and the resolution to
    take. window: (z, y, x), instead of the largest that fits. levels, chunk, codec, max_files, max_bytes,
    max_compression_s: of the output, as in a conversion.
    device: auto, cpu, cuda or cuda:1; of an engine whose workers have GPUs, these are used unless it is cpu.
    """

    also: tuple[Source, ...] = ()
    after: tuple[NetworkFile, ...] = ()
    intermediate: str | Path | None = None
    box: Box | None = None
    level: int | None = None
    window: Shape | None = None
    levels: int | Literal["auto"] = 1
    chunk: Shape | None = None
    codec: str | None = None
    max_files: int | None = None
    max_bytes: int | None = None
    max_compression_s: float | None = None
    device: str = "auto"


@dataclass(frozen=True)
class InferenceJob:
    """One run. plans, predictors: of the networks, in the order in which they run. source: of the last network."""

    volumes: Sequence[Volume]
    plans: tuple[NetworkPlan, ...]
    predictors: Sequence[Predictor]
    sources: Sequence[VoxelSource]
    rule: OutputRule
    options: InferenceOptions
    engine: Engine
    region: Box
    layout: Layout

    @classmethod
    def planned(
        cls,
        volumes: Sequence[Volume],
        networks: Sequence[Network],
        rule: OutputRule,
        options: InferenceOptions,
        engine: Engine,
    ) -> "InferenceJob":
        """What can be refused without touching the output is refused here."""
        if engine.needs_shareable_output and (kept := [one for one in volumes if one.location.is_memory]):
            raise InvalidInput(
                f"{kept[0].location} does not support several processes.",
                remedy="Use the local engine (threads), or apply the network to a file.",
            )
        region = _region(volumes[0], options.box)
        sources: list[VoxelSource] = [VolumeSource(volumes, region)]
        plans: list[NetworkPlan] = []
        predictors: list[Predictor] = []
        for network in networks:
            check_channels(network, sources[-1].channels)
            statistics = _statistics(network.form.preprocess, sources[-1], volumes if not plans else ())
            window = options.window if network is networks[-1] else None
            device = "auto" if _worker_gpus(options, engine) else options.device
            plan, predictor = _plan(network, sources[-1].shape, statistics, engine, (device, window))
            plans.append(plan)
            predictors.append(predictor)
            sources.append(PredictedSource(predictor, sources[-1]))
        layout = _layout(volumes[0], region, sources.pop().shape, rule, options)
        return cls(volumes, tuple(plans), predictors, sources, rule, options, engine, region, layout)

    @property
    def reduce(self) -> str:
        return self.rule.reduce

    @property
    def key(self) -> str:
        prints = [fingerprint(volume.location) for volume in self.volumes]
        named = [str(volume.location) for volume in self.volumes]
        # Not the windows: the same job continues with those that it had, whatever memory there is now.
        networks = [(plan.path, plan.form, plan.digest, plan.statistics, plan.shape) for plan in self.plans]
        facts = (prints, named, self.layout, networks, self.options.window, self.rule, self.region)
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def first_stages(self, partial: PartialOutput, grain: Shape, *, is_resumed: bool) -> list[Stage]:
        plans = _earlier_choices(self.plans, EarlierPlan(partial.folder), self.engine.options.memory_bytes)
        task = NetworkTask(
            sources=tuple(str(volume.location) for volume in self.volumes),
            target=str(partial.output),
            layout=self.layout,
            region=self.region,
            plans=plans,
            rule=self.rule,
            output_chunk=grain,
            source_itemsize=max(volume.dtype.itemsize for volume in self.volumes),
            device=self.options.device,
            gpus=_worker_gpus(self.options, self.engine),
        )
        return [plan_stage("Applying the network", task, self.engine, partial.folder)]

    def report(self, stage: Stage, *, is_checked: bool) -> tuple[NetworkReport, ...]:
        """What is known before it runs; the deviation is measured now, where windows meet: measuring it takes as long
        as computing two or three samples."""
        task = cast(NetworkTask, stage.task)
        factors = computed_factors(task.plans, stage.blocks)
        checked = [is_checked and factor > plan.least_factor for plan, factor in zip(task.plans, factors, strict=True)]
        return tuple(
            NetworkReport(
                path=plan.path,
                kind=predictor.network.kind,
                window=plan.windows.size,
                halo=plan.windows.halo,
                radius=predictor.network.radius,
                factor=factor,
                runtime=predictor.runtime.name,
                warnings=predictor.network.warnings,
                deviation=measure_deviation(replace(predictor, windows=plan.windows), source) if has_seams else None,
            )
            for plan, predictor, source, factor, has_seams in zip(
                task.plans, self.predictors, self.sources, factors, checked, strict=True
            )
        )


def _worker_gpus(options: InferenceOptions, engine: Engine) -> int:
    """GPUs that each block gets where it is computed; this machine may have none."""
    return 0 if options.device == "cpu" else min(1, engine.capacity().gpus)


def _plan(
    network: Network,
    shape: Shape,
    statistics: tuple[ValueStatistics, ...],
    engine: Engine,
    request: tuple[str, Shape | None],
) -> tuple[NetworkPlan, Predictor]:
    requested_device, window = request
    runtime = open_network(network, requested_device)
    gpu = choose(requested_device if ":" in requested_device else "cuda") if runtime.is_gpu else None
    cost = network_cost(network, gpu.name if gpu else "cpu", runtime.name, voxels=prod(shape))
    budget, windows = _best_windows(network, shape, cost, window, _budgets(engine, gpu))
    batch = choose_batch(network, windows, cost.memory, budget, is_gpu=runtime.is_gpu)
    cached = layer_bytes(windows, shape, network.output_channels * prod(network.scale)) if windows.is_blended else 0
    memory_here = MemoryModel(0, 0.0) if gpu else cost.memory
    plan = NetworkPlan(
        path=network.path,
        form=network.form,
        digest=network.digest,
        choice=WindowChoice(windows, batch, memory_here, min(cached, int(_budgets(engine, None)[0] * CACHE_SHARE))),
        statistics=statistics,
        scale=network.scale,
        shape=shape,
        neighbours=network.neighbours,
        channels=network.output_channels,
    )
    return plan, Predictor(network, windows, runtime, statistics, batch)


def _earlier_choices(
    plans: tuple[NetworkPlan, ...], earlier: EarlierPlan, memory_bytes: int
) -> tuple[NetworkPlan, ...]:
    """The plans with the windows of an interrupted run, if these still fit."""
    found = earlier.read(WINDOWS)
    if isinstance(found, list) and len(found) == len(plans):
        with suppress(InvalidInput):
            choices = [from_json(WindowChoice, one, WINDOWS) for one in found]
            before = tuple(replace(plan, choice=one) for plan, one in zip(plans, choices, strict=True))
            if all(plan.window_bytes <= memory_bytes for plan in before):
                return before
    earlier.write(WINDOWS, [asdict(plan.choice) for plan in plans])
    return plans


def _best_windows(
    network: Network, shape: Shape, cost: NetworkCost, window: Shape | None, budgets: Sequence[int]
) -> tuple[int, Windows]:
    """The first of the budgets in which a window fits, and the windows."""
    for budget in budgets[:-1]:
        with suppress(NotEnoughMemory):
            return budget, plan_windows(network, shape, cost, budget, window)
    return budgets[-1], plan_windows(network, shape, cost, budgets[-1], window)


def _budgets(engine: Engine, gpu: Device | None) -> list[int]:
    """Bytes for the network: of a GPU, or a worker's share of the memory, then that of a worker alone."""
    if gpu is not None:
        return [int(gpu.free_bytes() * GPU_SHARE)]
    whole = engine.options.memory_bytes * WINDOW_SHARE
    return [int(whole / engine.options.workers), int(whole)]


def _statistics(
    transforms: Sequence[ValueTransform], source: VoxelSource, volumes: Sequence[Volume]
) -> tuple[ValueStatistics, ...]:
    """Of whole volumes; what another network makes of them is measured on a sample."""
    if not any(one.needs_statistics for one in transforms):
        return (ValueStatistics(),)
    percents = tuple(sorted({percent for one in transforms for percent in one.percents}))
    if volumes:
        return tuple(measure_statistics(volume, percents) for volume in volumes)
    return measure_sample(source, percents)


def _region(volume: Volume, box: Box | None) -> Box:
    region = box or volume.box
    if not volume.box.contains(region) or region.is_empty:
        raise InvalidInput(
            f"The box {region} (z, y, x) is outside {volume.box}.", remedy="Choose a box inside the volume."
        )
    return region


def _layout(volume: Volume, region: Box, shape: Shape, rule: OutputRule, options: InferenceOptions) -> Layout:
    chunk = triple(map(min, zip(options.chunk or DEFAULT_CHUNK, shape, strict=True)))
    z, y, x = (s * n / m for s, n, m in zip(volume.spacing, region.shape, shape, strict=True))
    orientation = at_level(cropped(volume.orientation, region.start, volume.spacing), volume.spacing, (z, y, x))
    levels = plan_levels(Level(shape, chunk, (z, y, x)), None if options.levels == "auto" else options.levels)
    return Layout(levels, np.dtype(rule.dtype), volume.unit, codec=options.codec, orientation=orientation)
