"""Objects of a volume: the stages, one after the other, and what is decided between them.

Here: segment_objects, ObjectOptions.
Not here: the work on a block (object_tasks), joining fragments (agglomeration).
"""

import hashlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pellucid.box import Shape
from pellucid.engines.engine import Engine
from pellucid.engines.partial_output import PartialOutput
from pellucid.engines.stages import Stage, VolumeTask, plan_stage
from pellucid.engines.volume_job import OpenJob
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level, Voxels
from pellucid.formats.registry import open_writer
from pellucid.infer.apply import InferenceRequest, RunControl, run_inference
from pellucid.infer.job import InferenceJob, InferenceOptions, NetworkFile, Source
from pellucid.infer.network_files.network import Network
from pellucid.infer.objects.agglomeration import Contacts, agglomerate, connected, join_contacts
from pellucid.infer.objects.object_tasks import (
    FRAGMENT_TYPE,
    STEPS,
    BoundaryStore,
    BoundaryTask,
    ContactTask,
    FragmentTask,
    ObjectFiles,
    ObjectTask,
    check_channels_are_boundaries,
    save,
)
from pellucid.infer.output_rule import OutputRule
from pellucid.infer.report import InferenceReport
from pellucid.volume.volume import Volume


@dataclass(frozen=True)
class ObjectOptions:
    """threshold: fragments with a mean boundary below it between them are one object. min_size: smaller objects, in
    voxels, are joined to a neighbour."""

    threshold: float = 0.5
    min_size: int = 100

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1 or self.min_size < 0:
            raise InvalidInput(
                f"Invalid threshold {self.threshold} or size {self.min_size}.",
                remedy="Use a threshold from 0 to 1, and a size from 0 voxels.",
            )


def segment_objects(
    source: Source,
    target: str | Path | Location,
    network: NetworkFile | str | Path,
    options: InferenceOptions | None = None,
    objects: ObjectOptions | None = None,
    control: RunControl | None = None,
) -> tuple[Volume, InferenceReport]:
    """Write the number of the object of every voxel, from 1, by a network that gives boundaries. The result does not
    depend on blocks."""
    chosen = objects or ObjectOptions()
    request = InferenceRequest(source, target, network, options or InferenceOptions(), control or RunControl())
    return run_inference(request, _boundary_rule, lambda plan: _ObjectJob(plan, chosen))


def _boundary_rule(network: Network) -> OutputRule:
    check_channels_are_boundaries(network.output_channels, network.name)
    return OutputRule("values")


@dataclass(frozen=True)
class _ObjectJob:
    """inference: the plan of the network."""

    inference: InferenceJob
    objects: ObjectOptions
    reduce: str = "mode"

    @property
    def layout(self) -> Layout:
        return replace(self.inference.layout, dtype=np.dtype(np.uint32))

    @property
    def engine(self) -> Engine:
        return self.inference.engine

    @property
    def key(self) -> str:
        return hashlib.sha256(repr((self.inference.key, self.objects, "objects")).encode()).hexdigest()

    def first_stages(self, partial: PartialOutput, grain: Shape, *, is_resumed: bool) -> list[Stage]:
        """Boundaries, fragments, contacts, objects."""
        files, shape = ObjectFiles(str(partial.folder)), self.layout.levels[0].shape
        (network,) = self.inference.first_stages(partial, grain, is_resumed=is_resumed)
        store = self._store(partial, shape)
        boundaries, piece = _opened(store.location, self._stacked(store), is_resumed=is_resumed)
        facts = {**vars(network.task), "target": store.location, "layout": boundaries, "output_chunk": piece}
        fragments = str(partial.folder / "fragments.n5")
        layout, own = _opened(fragments, replace(self._single(), dtype=FRAGMENT_TYPE), is_resumed=is_resumed)
        last = ObjectTask(fragments, str(partial.output), self.layout, grain, files)
        tasks: dict[str, VolumeTask] = {
            "Finding boundaries": BoundaryTask(**facts, store=store),
            "Splitting into fragments": FragmentTask(store, fragments, layout, own, files),
            "Measuring contacts": ContactTask(store, fragments, layout, own, files),
            "Numbering objects": last,
        }
        return [plan_stage(name, task, self.inference.engine, partial.folder) for name, task in tasks.items()]

    def _store(self, partial: PartialOutput, shape: Shape) -> BoundaryStore:
        chunk, channels = self.layout.levels[0].chunk[0], self.inference.plans[-1].channels
        return BoundaryStore(str(partial.folder / "boundaries.n5"), channels, shape, -(-shape[0] // chunk) * chunk)

    def _single(self) -> Layout:
        level = self.layout.levels[0]
        return Layout((Level(level.shape, level.chunk),), np.dtype(np.uint8), codec="blosc")

    def _stacked(self, store: BoundaryStore) -> Layout:
        layout = self._single()
        shape = (store.stride * store.channels, *store.shape[1:])
        return replace(layout, levels=(replace(layout.levels[0], shape=shape),))

    def run(self, opened: OpenJob) -> None:
        """All stages; the fragments are joined before their objects are written."""
        for stage in opened.stages:
            if isinstance(stage.task, ObjectTask):
                contacts = next(one for one in opened.stages if isinstance(one.task, ContactTask))
                join_fragments(stage.task.files, len(contacts.blocks), self.objects)
            for _ in opened.run_stage(stage):
                pass


def _opened(location: str, layout: Layout, *, is_resumed: bool) -> tuple[Layout, Shape]:
    """A volume that is filled by several stages, complete from the start; and the smallest block of it."""
    with closing(open_writer(Location.parse(location), layout, resume=is_resumed)) as writer:
        piece = writer.grains[0]
        writer.finish()
    return layout, piece


def join_fragments(files: ObjectFiles, blocks: int, options: ObjectOptions) -> None:
    """Read what the blocks found, and write the table of objects."""
    named, basins, contacts = read_contacts([files.contacts(index) for index in range(blocks)])
    labels = agglomerate(contacts, options.threshold * STEPS, options.min_size)
    _, first, numbers = np.unique(labels, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first)] = np.arange(1, len(first) + 1)
    save(files.table, named=named, objects=order[numbers][basins])


def read_contacts(paths: Sequence[Path]) -> tuple[Voxels, Voxels, Contacts]:
    """The names of all fragments, in order; the basin of each; and the contacts of basins. Basins are in the order of
    their lowest voxels, whatever the blocks are."""
    parts: dict[str, list[Voxels]] = {}
    for path in paths:
        with np.load(path) as file:
            for name in file.files:
                parts.setdefault(name, []).append(file[name])
    whole = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    named, place = np.unique(whole["named"], return_inverse=True)
    links = np.searchsorted(named, whole["links"])
    count, basins = connected(len(named), links[:, 0], links[:, 1])
    is_end = np.ones(len(named), bool)
    is_end[links[:, 0]] = False
    order = np.empty(count, np.int64)
    order[basins[is_end]] = np.arange(count)
    basins = order[basins]
    sizes = np.bincount(basins[place], whole["sizes"], count).astype(np.int64)
    pairs = basins[np.searchsorted(named, whole["pairs"])]
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    kept = low != high
    sums = whole["total"][kept], whole["area"][kept]
    return named, basins, join_contacts(count, (low[kept], high[kept]), sums, sizes)
