"""The task that fills a volume with the result of a network.

Here: NetworkPlan, how one network runs; NetworkTask.
Not here: making the plan (apply), windows of one box (prediction).
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from math import prod

from pellucid.box import Box, Shape, triple
from pellucid.engines.output_task import OutputTask
from pellucid.engines.task import TaskContext, Work
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Writer
from pellucid.formats.registry import open_writer
from pellucid.infer.loading import load_network
from pellucid.infer.memory import MemoryModel
from pellucid.infer.network_files.network import NetworkForm
from pellucid.infer.output_rule import OutputRule
from pellucid.infer.prediction import PredictedSource, Predictor
from pellucid.infer.sources import VolumeSource, VoxelSource
from pellucid.infer.statistics import ValueStatistics
from pellucid.infer.trimming.trimmed_runtime import open_network
from pellucid.infer.window_cache import WindowCache
from pellucid.infer.windows import Windows, input_box
from pellucid.jobs.resources import Resources
from pellucid.volume.blocks import Block
from pellucid.volume.volume import open_volume


@dataclass(frozen=True)
class WindowChoice:
    """What was chosen by the memory that there was. batch: windows at a time. memory: of this machine's, not of a
    GPU's. cache_bytes: for results of windows that several blocks need."""

    windows: Windows
    batch: int
    memory: MemoryModel
    cache_bytes: int = 0


@dataclass(frozen=True)
class NetworkPlan:
    """How one network runs, without the network itself. digest: of the network that was planned with. shape: of its
    input. channels: of its output."""

    path: str
    form: NetworkForm
    digest: str
    choice: WindowChoice
    statistics: tuple[ValueStatistics, ...]
    scale: Shape
    shape: Shape
    neighbours: int
    channels: int

    @property
    def windows(self) -> Windows:
        return self.choice.windows

    def open(self, device: str) -> Predictor:
        network = load_network(self.path, self.form)
        if network.digest != self.digest:
            raise InvalidInput(f"{self.path} has changed since the work began.", remedy="Run the command again.")
        runtime = open_network(network, device)
        cache = WindowCache(self.choice.cache_bytes)
        return Predictor(network, self.windows, runtime, self.statistics, self.choice.batch, cache=cache)

    def computed(self, box: Box) -> int:
        """Voxels that are computed for a box of its input."""
        if not self.windows.is_blended:
            return self.windows.computed(box, self.shape)
        return sum(window.outer.size for window in self.windows.touching(box, self.shape))

    @property
    def least_factor(self) -> float:
        """Voxels that are computed for each voxel of its input if none is computed twice: whole steps."""
        whole = (-(-n // s) * s for n, s in zip(self.shape, self.windows.step, strict=True))
        return prod(whole) / prod(self.shape)

    @property
    def keeps_all(self) -> bool:
        """Whether blended windows stay in the cache until every block has used them."""
        return self.windows.is_blended and self.choice.cache_bytes >= layer_bytes(
            self.windows, self.shape, self.channels * prod(self.scale)
        )

    def input_shape(self, shape: Shape) -> Shape:
        """Voxels that are read for a block of its output."""
        margin = self.windows.margin
        grown = (-(-n // s) + 2 * m for n, s, m in zip(shape, self.scale, margin, strict=True))
        z, y, x = (max(a, b) for a, b in zip(grown, self.windows.size, strict=True))
        return (z + 2 * self.neighbours, y, x)

    @property
    def window_bytes(self) -> int:
        """While a window is computed: the network's memory, and the window in float32 before and after."""
        voxels = prod(self.windows.size) * self.choice.batch
        return self.choice.memory.cost(voxels) + 8 * voxels * (
            1 + 2 * self.neighbours + self.channels * prod(self.scale)
        )


@dataclass(frozen=True)
class NetworkTask(OutputTask):
    """Fill level 0 of the target with what a chain of networks makes of the sources.

    sources: volumes of one shape, each a channel. region: the part of them that is computed.
    plans: of the networks, in the order in which they run. source_itemsize: for the memory estimate. gpus: that each
    block needs, of an engine whose workers have some; 0 for networks that run on ``device``.
    """

    sources: tuple[str, ...]
    target: str
    layout: Layout
    region: Box
    plans: tuple[NetworkPlan, ...]
    rule: OutputRule
    output_chunk: Shape
    source_itemsize: int
    device: str
    gpus: int = 0

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.sources

    @property
    def preferred_block(self) -> Shape:
        """Whole slices of a 2D network; what one window of a 3D network keeps."""
        plan, chunk = self.plans[-1], self.output_chunk
        if plan.windows.size[0] == 1:
            return (chunk[0], self.shape[1], self.shape[2])
        cores = (s - 2 * m for s, m in zip(plan.windows.size, plan.windows.margin, strict=True))
        kept = (max(core, 1) * f for core, f in zip(cores, plan.scale, strict=True))
        return triple(
            n if s >= i else k for n, s, i, k in zip(self.shape, plan.windows.size, plan.shape, kept, strict=True)
        )

    def cost(self, shape: Shape) -> int:
        """Bytes that a block takes: the result, encoded, every network's window, and what each of them reads."""
        total = prod(shape) * 2 * self.layout.dtype.itemsize
        for plan in reversed(self.plans):
            shape = plan.input_shape(shape)
            is_first = plan is self.plans[0]
            itemsize = self.source_itemsize * len(self.sources) if is_first else 4 * plan.channels
            total += prod(shape) * itemsize + plan.window_bytes + plan.choice.cache_bytes
        return total

    def needs(self, block: Block) -> Resources:
        return Resources(self.cost(block.core.shape), gpus=self.gpus)

    @contextmanager
    def open(self, context: TaskContext) -> Iterator[Work]:
        predictors = [plan.open(context.device if self.gpus else self.device) for plan in self.plans]
        with ExitStack() as stack:
            volumes = [stack.enter_context(open_volume(source)) for source in self.sources]
            writer = stack.enter_context(closing(open_writer(Location.parse(self.target), self.layout, resume=True)))
            source = chained(predictors[:-1], VolumeSource(volumes, self.region))

            def compute(block: Block) -> None:
                self.write(writer, predictors[-1], source, block.core)

            yield compute

    def write(self, writer: Writer, predictor: Predictor, source: VoxelSource, core: Box) -> None:
        writer.write(core, predictor.predict_output(source, core, self.rule))


def chained(predictors: Sequence[Predictor], source: VoxelSource) -> VoxelSource:
    """The result of one network after the other as a source, computed where it is read."""
    for predictor in predictors:
        source = PredictedSource(predictor, source)
    return source


def computed_factors(plans: Sequence[NetworkPlan], blocks: Sequence[Block]) -> list[float]:
    """For each network, the voxels that it computes for each voxel of its input. blocks: of the last one's output."""
    computed = [0] * len(plans)
    for block in blocks:
        box = block.core
        for index in range(len(plans) - 1, -1, -1):
            plan = plans[index]
            needed = input_box(box, plan.scale)
            computed[index] += plan.computed(needed)
            read = plan.windows.read_box(needed, plan.shape)
            box = read.grow((plan.neighbours, 0, 0)).intersect(Box.whole(plan.shape))
    whole = (plan.windows.computed(Box.whole(plan.shape), plan.shape) for plan in plans)
    kept = ((once if plan.keeps_all else total) for once, total, plan in zip(whole, computed, plans, strict=True))
    return [total / prod(plan.shape) for total, plan in zip(kept, plans, strict=True)]


def layer_bytes(windows: Windows, shape: Shape, channels: int) -> int:
    """Results of blended windows that the blocks of one layer, and those of the next one, have in common."""
    first = Box((0, 0, 0), (1, *shape[1:]))
    return 2 * 4 * channels * sum(window.outer.size for window in windows.touching(first, shape))
