"""Arrival times of a front in a volume of blocks: the eikonal equation, by the fast iterative method.

Here: advance_front, for map functions; FrontSolver, which iterates over the blocks of a WorkerGroup.
Not here: the times in one block (compute.front), halos (halos), Spark's part (spark.shuffle).

A front starts where times are given and passes every voxel with its speed. Only blocks whose neighbours have changed
are computed. Times only get earlier, so that a block that was lost starts again from its start times.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.compute.front import FrontRequest
from pellucid.cluster.context import ClusterContext, use_context
from pellucid.cluster.functions import persist_gpu, recv_gpu
from pellucid.cluster.group import WorkerGroup
from pellucid.cluster.halos import FACES, append_halo, plan_halos
from pellucid.cluster.handles import WorkerId
from pellucid.cluster.operations import ComputeBlock
from pellucid.errors import BlockLost, InvalidInput
from pellucid.formats.protocol import Spacing, Voxels

HALO: Shape = (1, 1, 1)
SIDES: tuple[Shape, ...] = ((-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1))
"""The faces of a block, in the order in which advance_front reports them."""
MAX_THREADS = 32
BlockSource = Voxels | Callable[[], Voxels]
"""The voxels of a block, or a function that makes them."""


@dataclass(frozen=True)
class FrontOptions:
    """speed: of the front, where there is no block of speeds. spacing: between voxels, (z, y, x). max_rounds: how long
    one block is worked on; 0: until nothing changes in it."""

    speed: float = 1.0
    spacing: Spacing = (1.0, 1.0, 1.0)
    max_rounds: int = 0


def advance_front(
    times: DeviceBlock,
    speeds: DeviceBlock | None = None,
    *,
    options: FrontOptions | None = None,
    neighbours: Iterable[Shape] = SIDES,
    is_start: bool = True,
) -> DeviceBlock:
    """The times of a block after what came in from its halo. Its ``value`` says which ``faces`` have changed, in the
    order of SIDES, and whether it ``is_done``.

    times: float32 with a filled halo of 1, infinite where the front has not been. neighbours: the sides at which there
    is another block. is_start: whether times inside of the block are new.
    """
    options, there = options or FrontOptions(), set(neighbours)
    at = tuple(side in there for side in SIDES)
    request = FrontRequest(
        options.speed, options.spacing, (at[0], at[1], at[2], at[3], at[4], at[5]), options.max_rounds, is_start
    )  # fmt: skip
    others = () if speeds is None else (speeds,)
    inputs = tuple(str(one.handle) for one in others)
    return times.then(ComputeBlock("front", json.dumps(asdict(request)), inputs, halo=HALO, label="the front"), others)


class FrontSolver:
    """times: by place (z, y, x) in the grid, an array of each block, or a function that makes one; infinite where the
    front does not start. speeds: the same, or one number for all voxels.

    Blocks that are lost are made again of these, on the Workers that are left.
    """

    def __init__(
        self,
        group: WorkerGroup,
        times: Mapping[Shape, BlockSource],
        speeds: Mapping[Shape, BlockSource] | float = 1.0,
        spacing: Spacing = (1.0, 1.0, 1.0),
    ) -> None:
        self._group, self._times, self._speed_of = group, dict(times), speeds
        speed = speeds if isinstance(speeds, int | float) else 1.0
        self._options = FrontOptions(float(speed), spacing)
        # As a front from a corner reaches them: at any time, all Workers have some of those that change.
        self._order = sorted(self._times, key=lambda place: (sum(place), place))
        self._blocks: dict[Shape, DeviceBlock] = {}
        self._speeds: dict[Shape, DeviceBlock] = {}
        self._shapes: dict[Shape, Shape] = {}
        self._new = set(self._times)
        self._active = set(self._times)
        self.iterations = self.restarts = 0

    def solve(self, on_iteration: Callable[["FrontSolver"], object] = lambda solver: None) -> int:
        """Until nothing changes; returns the number of iterations."""
        while self.step():
            on_iteration(self)
        return self.iterations

    def step(self) -> bool:
        """One iteration: halos of all active blocks, then their times. Whether there is more to do."""
        try:
            self.prepare()
            if self._active:
                self._advance()
        except BlockLost:
            self._restart_lost()
        self.iterations += 1
        return bool(self._active)

    def prepare(self) -> None:
        """Send all blocks that are not there yet."""
        self._make(place for place in self._times if place not in self._blocks)

    def times(self, place: Shape) -> Voxels:
        return recv_gpu(self._blocks[place])

    @property
    def blocks(self) -> dict[Shape, DeviceBlock]:
        """The times as they are now, for images of them."""
        return dict(self._blocks)

    def close(self) -> None:
        """Release all blocks."""
        for block in (*self._blocks.values(), *self._speeds.values()):
            if block.is_there:
                block.release()

    def _make(self, places: Iterable[Shape]) -> None:
        missing = sorted(places)
        workers = self._workers() if missing else ()
        for place in missing:
            worker = workers[self._order.index(place) % len(workers)]
            voxels = _voxels(self._times[place])
            self._shapes[place] = triple(voxels.shape)
            self._blocks[place] = self._sent(voxels, worker)
            if not isinstance(self._speed_of, int | float):
                self._speeds[place] = self._sent(_voxels(self._speed_of[place]), worker)

    def _sent(self, voxels: Voxels, worker: WorkerId) -> DeviceBlock:
        if voxels.dtype != np.float32:
            raise InvalidInput(f"Times and speeds are {voxels.dtype}.", remedy="Use float32.")
        with use_context(ClusterContext(self._group.links, lambda: worker)):
            return DeviceBlock(persist_gpu(DeviceBlock.of(voxels)).handle)

    def _advance(self) -> None:
        """One round trip for each block. Halos are those of the blocks as they were, which stay until all are done."""
        known = {place: (block.handle, self._shapes[place]) for place, block in self._blocks.items()}
        parts = plan_halos(known, HALO, FACES)
        advanced = {
            place: persist_gpu(
                advance_front(
                    append_halo(self._blocks[place], parts[place], HALO), self._speeds.get(place),
                    options=self._options, neighbours=self._neighbours(place), is_start=place in self._new,
                )
            )
            for place in sorted(self._active)
        }  # fmt: skip
        with ThreadPoolExecutor(min(MAX_THREADS, len(advanced))) as pool:
            values = list(pool.map(lambda block: block.value, advanced.values()))
            list(pool.map(lambda place: self._blocks[place].release(), advanced))
        active: set[Shape] = set()
        for (place, block), value in zip(advanced.items(), values, strict=True):
            self._blocks[place] = DeviceBlock(block.handle)
            faces = zip(SIDES, value["faces"], strict=True)
            active |= {_moved(place, side) for side, has_changed in faces if has_changed}
        self._new -= set(advanced)
        self._active = active & set(self._times)

    def _restart_lost(self) -> None:
        """Blocks that were lost start again; their neighbours send them their times, and receive theirs."""
        lost = {place for place, block in self._blocks.items() if not block.is_there}
        lost |= {place for place, block in self._speeds.items() if not block.is_there}
        for place in lost:
            self._blocks.pop(place, None)
            self._speeds.pop(place, None)
        self.restarts += len(lost)
        self._new |= lost
        self._active |= lost | {_moved(place, side) for place in lost for side in SIDES} & set(self._times)

    def _neighbours(self, place: Shape) -> list[Shape]:
        return [side for side in SIDES if _moved(place, side) in self._times]

    def _workers(self) -> list[WorkerId]:
        found = [worker for worker in self._group.workers if self._responds(worker)]
        if not found:
            raise InvalidInput("All Device Workers have ended.", remedy="Start the group again.")
        return found

    def _responds(self, worker: WorkerId) -> bool:
        try:
            self._group.links.usage(worker)
        except BlockLost:
            return False
        return True


def split_times(shape: Shape, edge: int, seeds: Mapping[Shape, float]) -> dict[Shape, Callable[[], Voxels]]:
    """Times of a volume in blocks with this edge: those of the seeds, by voxel, and infinite elsewhere."""
    places = [triple(n // edge for n in box.start) for box in Box.whole(shape).tiles((edge, edge, edge))]
    boxes = dict(zip(places, Box.whole(shape).tiles((edge, edge, edge)), strict=True))

    def make(box: Box) -> Voxels:
        times = np.full(box.shape, np.inf, np.float32)
        for voxel, time in seeds.items():
            at = tuple(v - a for v, a in zip(voxel, box.start, strict=True))
            if all(0 <= n < edge for n, edge in zip(at, box.shape, strict=True)):
                times[at] = time
        return times

    return {place: partial(make, box) for place, box in boxes.items()}


def _voxels(source: BlockSource) -> Voxels:
    return source() if callable(source) else source


def _moved(place: Shape, side: Shape) -> Shape:
    return triple(p + s for p, s in zip(place, side, strict=True))
