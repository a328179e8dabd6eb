"""The tasks on the way from boundaries to objects.

Here: BoundaryTask, FragmentTask, ContactTask, ObjectTask.
Not here: what they compute (watershed, agglomeration), their order (object_job).

Boundaries and fragments are volumes; what a block finds out besides is a file of arrays beside them.
"""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from pellucid.box import Box, Shape
from pellucid.engines.output_task import OutputTask
from pellucid.engines.task import TaskContext, Work
from pellucid.errors import InvalidInput
from pellucid.formats.local_files import written_whole
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Voxels, Writer
from pellucid.formats.registry import open_writer
from pellucid.infer.objects.watershed import HALO, drain, heights
from pellucid.infer.prediction import Predictor
from pellucid.infer.sources import VoxelSource
from pellucid.infer.task import NetworkTask
from pellucid.volume.blocks import Block
from pellucid.volume.volume import Volume, open_volume

STEPS = 255
"""Boundaries are stored in so many steps: sums of whole numbers do not depend on their order."""
FRAGMENT_TYPE = np.dtype(np.uint64)
BLOCK = (256, 256, 256)
"""As large as memory allows up to this: the results of blocks are small."""


@dataclass(frozen=True)
class BoundaryStore:
    """Boundaries of all channels, stacked along z in one volume. channels: 1, the boundary at a voxel; or 3, the
    boundary between a voxel and the one before it along z, y and x. shape: of a channel. stride: from one to the
    next, in slices."""

    location: str
    channels: int
    shape: Shape
    stride: int

    def read(self, volume: Volume, box: Box) -> Voxels:
        """(channel, z, y, x), 0 to STEPS."""
        return np.stack([volume.read(box.shift((number * self.stride, 0, 0))) for number in range(self.channels)])


@dataclass(frozen=True)
class BoundaryTask(NetworkTask):
    """Write all channels of a network, whose layout is that of the whole store. store: where they lie."""

    store: BoundaryStore = BoundaryStore("", 1, (0, 0, 0), 0)

    @property
    def shape(self) -> Shape:
        return self.store.shape

    def cost(self, shape: Shape) -> int:
        return super().cost(shape) + prod(shape) * 6 * self.store.channels

    def write(self, writer: Writer, predictor: Predictor, source: VoxelSource, core: Box) -> None:
        for number, channel in enumerate(predictor.predict_output(source, core, in_steps)):
            writer.write(core.shift((number * self.store.stride, 0, 0)), channel)


def in_steps(probabilities: Voxels) -> Voxels:
    """0 to 1 as 0 to STEPS.

    >>> in_steps(np.array([-0.1, 0.5, 1.0])).tolist()
    [0, 128, 255]
    """
    return np.asarray(np.rint(probabilities.clip(0, 1) * STEPS), np.uint8)


@dataclass(frozen=True)
class ObjectFiles:
    """Where the results of blocks lie. folder: of the unfinished output."""

    folder: str

    def drained(self, block: int) -> Path:
        return Path(self.folder) / f"drained-{block}.npz"

    def contacts(self, block: int) -> Path:
        return Path(self.folder) / f"contacts-{block}.npz"

    @property
    def table(self) -> Path:
        """The object of every fragment."""
        return Path(self.folder) / "objects.npz"


@dataclass(frozen=True)
class _FileTask(OutputTask):
    """A task whose inputs are all in the folder of the unfinished output."""

    @property
    def inputs(self) -> tuple[str, ...]:
        return ()

    @property
    def preferred_block(self) -> Shape:
        return BLOCK


@dataclass(frozen=True)
class FragmentTask(_FileTask):
    """Fragments of every voxel."""

    boundaries: BoundaryStore
    target: str
    layout: Layout
    output_chunk: Shape
    files: ObjectFiles

    def cost(self, shape: Shape) -> int:
        return prod(n + 2 * HALO for n in shape) * 16 + prod(shape) * 72

    @contextmanager
    def open(self, context: TaskContext) -> Iterator[Work]:
        with ExitStack() as stack:
            boundaries = stack.enter_context(open_volume(self.boundaries.location))
            writer = stack.enter_context(closing(open_writer(Location.parse(self.target), self.layout, resume=True)))

            def split(block: Block) -> None:
                region = block.core.grow((HALO, HALO, HALO)).intersect(Box.whole(self.shape))
                channels = self.boundaries.read(boundaries, region)
                mean = channels.mean(axis=0, dtype=np.float32) / np.float32(STEPS)
                found = drain(heights(mean), region, block.core, self.shape)
                save(self.files.drained(block.index), exits=found.exits)
                writer.write(block.core, found.fragments.astype(FRAGMENT_TYPE))

            yield split


@dataclass(frozen=True)
class ContactTask(_FileTask):
    """What is known of the fragments of a block: into which ones of other blocks they drain, how large they are, and
    how strong the boundary is where two of them touch. Nothing is written but a file of arrays."""

    boundaries: BoundaryStore
    fragments: str
    layout: Layout
    output_chunk: Shape
    files: ObjectFiles

    def cost(self, shape: Shape) -> int:
        return prod(shape) * 160

    @contextmanager
    def open(self, context: TaskContext) -> Iterator[Work]:
        with open_volume(self.fragments) as fragments, open_volume(self.boundaries.location) as boundaries:

            def measure(block: Block) -> None:
                region = block.core.grow((1, 1, 1)).intersect(Box.whole(self.shape))
                found = fragments.read(region).astype(np.int64)
                links = self._links(block, found, region)
                inner = found[block.core.relative_to(region.start).slices]
                named, sizes = np.unique(inner, return_counts=True)
                behind = Box(block.core.start, region.stop)
                edges = contacts_between(
                    found[behind.relative_to(region.start).slices],
                    self.boundaries.read(boundaries, behind),
                    inner.shape,
                )
                save(self.files.contacts(block.index), links=links, named=named, sizes=sizes, **edges)

            yield measure

    def _links(self, block: Block, found: Voxels, region: Box) -> Voxels:
        """(fragment, fragment of another block into which it drains)."""
        with np.load(self.files.drained(block.index)) as file:
            exits = file["exits"]
        z, rest = np.divmod(exits[:, 1], self.shape[1] * self.shape[2])
        y, x = np.divmod(rest, self.shape[2])
        into = found[z - region.start[0], y - region.start[1], x - region.start[2]]
        return np.stack([exits[:, 0], into], axis=1)


def contacts_between(fragments: Voxels, boundaries: Voxels, core: Shape) -> dict[str, Voxels]:
    """Faces between voxels of the core, which comes first, and the voxels after them."""
    pairs, totals = [], []
    for axis in range(3):
        count = min(core[axis], fragments.shape[axis] - 1)
        here = tuple(slice(0, count if other == axis else core[other]) for other in range(3))
        there = tuple(slice(1, count + 1) if other == axis else slice(0, core[other]) for other in range(3))
        first, second = fragments[here], fragments[there]
        differs = first != second
        if len(boundaries) == 3:
            values = boundaries[axis][there][differs]
        else:
            values = np.maximum(boundaries[0][here], boundaries[0][there])[differs]
        one, other = first[differs], second[differs]
        pairs.append(np.stack([np.minimum(one, other), np.maximum(one, other)], axis=1))
        totals.append(values.astype(np.int64))
    pair, total = np.concatenate(pairs), np.concatenate(totals)
    unique, place = np.unique(pair, axis=0, return_inverse=True)
    place = place.reshape(-1)
    sums = {"total": np.bincount(place, total, len(unique)), "area": np.bincount(place, minlength=len(unique))}
    return {"pairs": unique, **sums}


@dataclass(frozen=True)
class ObjectTask(_FileTask):
    """Write the object of every voxel."""

    fragments: str
    target: str
    layout: Layout
    output_chunk: Shape
    files: ObjectFiles

    def cost(self, shape: Shape) -> int:
        return prod(shape) * 32

    @contextmanager
    def open(self, context: TaskContext) -> Iterator[Work]:
        with np.load(self.files.table) as file:
            named, objects = file["named"], file["objects"]
        with ExitStack() as stack:
            fragments = stack.enter_context(open_volume(self.fragments))
            writer = stack.enter_context(closing(open_writer(Location.parse(self.target), self.layout, resume=True)))

            def name(block: Block) -> None:
                places = np.searchsorted(named, fragments.read(block.core).astype(np.int64))
                writer.write(block.core, objects[places].astype(self.layout.dtype))

            yield name


def save(path: Path, **arrays: Voxels) -> None:
    with written_whole(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def check_channels_are_boundaries(channels: int, name: str) -> None:
    if channels not in (1, 3):
        raise InvalidInput(
            f"{name} has {channels} channels, which are not boundaries.",
            remedy="Use a network with 1 channel (boundary), or 3 (boundary along z, y and x).",
        )
