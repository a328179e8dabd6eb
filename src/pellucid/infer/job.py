"""The plan of a job that applies networks to a volume.

Here: InferenceOptions, NetworkFile; InferenceJob, the plan made from them.
Not here: carrying it out (apply, engines.volume_job), the work on a block (task).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Literal

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.conversion.convert import DEFAULT_CHUNK
from pellucid.engines.engine import Engine
from pellucid.engines.partial_output import PartialOutput
from pellucid.engines.stages import Stage, plan_stage
from pellucid.errors import InvalidInput, NotEnoughMemory
from pellucid.formats.fingerprint import fingerprint
from pellucid.formats.location import Location
from pellucid.formats.orientation import at_level, cropped
from pellucid.formats.protocol import Layout, Level
from pellucid.infer.deviation import measure_deviation
from pellucid.infer.memory import memory_model
from pellucid.infer.network_files.network import Network, NetworkForm
from pellucid.infer.network_files.transforms import ValueTransform
from pellucid.infer.output_rule import OutputRule
from pellucid.infer.planning import choose_batch, plan_windows
from pellucid.infer.prediction import PredictedSource, Predictor, check_channels
from pellucid.infer.report import NetworkReport
from pellucid.infer.runtime import RuntimeRequest, open_runtime
from pellucid.infer.sources import VolumeSource, VoxelSource
from pellucid.infer.statistics import ValueStatistics, measure_sample, measure_statistics
from pellucid.infer.task import NetworkPlan, NetworkTask, computed_factors, layer_bytes
from pellucid.volume.levels import plan_levels
from pellucid.volume.volume import Volume

Source = str | Path | Location | Volume
WINDOW_SHARE = 0.6
"""Of a block's memory, for the network; the rest is for what it reads and writes."""
CACHE_SHARE = 0.3
"""Of the network's memory, for results of windows that are blended."""


@dataclass(frozen=True)
class NetworkFile:
    """A network by its path, and what the file does not state."""

    path: str | Path
    form: NetworkForm = field(default_factory=NetworkForm)


@dataclass(frozen=True)
class InferenceOptions:
    """How networks are applied.

    also: further volumes, the other channels or inputs of the network. after: networks that run before it, in order,
    without storing what they make. box, level: the part and the resolution to take. window: (z, y, x), instead of the
    largest that fits. levels, chunk, codec: of the output. device: auto, cpu, cuda or cuda:1.
    """

    also: tuple[Source, ...] = ()
    after: tuple[NetworkFile, ...] = ()
    box: Box | None = None
    level: int | None = None
    window: Shape | None = None
    levels: int | Literal["auto"] = 1
    chunk: Shape | None = None
    codec: str | None = None
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
        region = _region(volumes[0], options.box)
        sources: list[VoxelSource] = [VolumeSource(volumes, region)]
        plans: list[NetworkPlan] = []
        predictors: list[Predictor] = []
        for network in networks:
            check_channels(network, sources[-1].channels)
            statistics = _statistics(network.form.preprocess, sources[-1], volumes if not plans else ())
            window = options.window if network is networks[-1] else None
            plan, predictor = _plan(network, sources[-1].shape, statistics, engine, (options.device, window))
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
        facts = (prints, named, self.layout, self.plans, self.rule, self.region)
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def first_stages(self, partial: PartialOutput, grain: Shape, *, is_resumed: bool) -> list[Stage]:
        task = NetworkTask(
            sources=tuple(str(volume.location) for volume in self.volumes),
            target=str(partial.output),
            layout=self.layout,
            region=self.region,
            plans=self.plans,
            rule=self.rule,
            output_chunk=grain,
            source_itemsize=max(volume.dtype.itemsize for volume in self.volumes),
            device=self.options.device,
        )
        return [plan_stage("Applying the network", task, self.engine)]

    def report(self, stage: Stage, *, is_checked: bool) -> tuple[NetworkReport, ...]:
        """What is known before it runs; the deviation is measured now."""
        factors = computed_factors(self.plans, stage.blocks)
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
                deviation=measure_deviation(predictor, source) if is_checked else None,
            )
            for plan, predictor, source, factor in zip(self.plans, self.predictors, self.sources, factors, strict=True)
        )


def _plan(
    network: Network,
    shape: Shape,
    statistics: tuple[ValueStatistics, ...],
    engine: Engine,
    request: tuple[str, Shape | None],
) -> tuple[NetworkPlan, Predictor]:
    device, window = request
    runtime = open_runtime(RuntimeRequest(network.model, device))
    memory = memory_model(network)
    budget = _budget(engine)
    try:
        windows = plan_windows(network, shape, memory, budget, window)
    except NotEnoughMemory:  # One block at a time may still fit.
        budget = int(engine.options.memory_bytes * WINDOW_SHARE)
        windows = plan_windows(network, shape, memory, budget, window)
    batch = choose_batch(network, windows, memory, budget, is_gpu=runtime.is_gpu)
    cached = layer_bytes(windows, shape, network.output_channels * prod(network.scale)) if windows.is_blended else 0
    plan = NetworkPlan(
        path=network.path,
        form=network.form,
        digest=network.digest,
        windows=windows,
        batch=batch,
        statistics=statistics,
        memory=memory,
        scale=network.scale,
        shape=shape,
        neighbours=network.neighbours,
        channels=network.output_channels,
        cache_bytes=min(cached, int(budget * CACHE_SHARE)),
    )
    return plan, Predictor(network, windows, runtime, statistics, batch)


def _budget(engine: Engine) -> int:
    return int(engine.options.memory_bytes / engine.options.workers * WINDOW_SHARE)


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
        raise InvalidInput(f"The box {region} is outside {volume.box}.", remedy="Choose a box inside the volume.")
    return region


def _layout(volume: Volume, region: Box, shape: Shape, rule: OutputRule, options: InferenceOptions) -> Layout:
    chunk = triple(map(min, zip(options.chunk or DEFAULT_CHUNK, shape, strict=True)))
    z, y, x = (s * n / m for s, n, m in zip(volume.spacing, region.shape, shape, strict=True))
    orientation = at_level(cropped(volume.orientation, region.start, volume.spacing), volume.spacing, (z, y, x))
    levels = plan_levels(Level(shape, chunk, (z, y, x)), None if options.levels == "auto" else options.levels)
    return Layout(levels, np.dtype(rule.dtype), volume.unit, codec=options.codec, orientation=orientation)
