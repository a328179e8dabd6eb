"""A volume of a file, in blocks that Workers have read.

Here: VolumeBlocks: which Worker has which block; blocks that were lost are read again, and no others.
Not here: reading (compute.reading), images of blocks (frames), which Workers there are (viewer.cluster_file).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from math import ceil

from pellucid.box import Box, Shape, triple
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.context import current_context
from pellucid.cluster.functions import persist_gpu, read_block
from pellucid.cluster.halos import as_triple
from pellucid.cluster.handles import WorkerId
from pellucid.cluster.images.frames import GRADIENT_HALO
from pellucid.cluster.worker.device_buffers import array_bytes
from pellucid.device import never_cancelled
from pellucid.errors import BlockLost, Cancelled, NotEnoughMemory
from pellucid.volume.volume import Volume

BLOCKS_PER_WORKER = 4
"""So many, that several Workers take over what one of them had."""
SHARE = 0.8
"""Of the Workers' memory; the rest is for images."""
POLL_S = 0.2


class VolumeBlocks:
    """volume: the finest level of it that the Workers have room for; its blocks are read when they are needed, with a
    halo of so many voxels."""

    def __init__(self, volume: Volume, workers: Sequence[WorkerId], halo: int = GRADIENT_HALO) -> None:
        self.halo = halo
        self.volume = _fitting(volume, workers, as_triple(halo))
        self.boxes = cut(self.volume.shape, BLOCKS_PER_WORKER * len(workers))
        self._blocks: list[DeviceBlock | None] = [None] * len(self.boxes)
        self.reads = 0

    @property
    def is_full_resolution(self) -> bool:
        return self.volume.location.number("level") in (None, 0)

    def blocks(
        self, workers: Sequence[WorkerId], is_cancelled: Callable[[], bool] = never_cancelled
    ) -> list[DeviceBlock]:
        """All of them; those that are missing are read first, by all Workers at the same time."""
        missing = [number for number, block in enumerate(self._blocks) if block is None]
        if missing:
            with ThreadPoolExecutor(len(missing)) as pool:
                reading = [pool.submit(self._read, number, workers) for number in missing]
                _wait(reading, is_cancelled)
        return [block for block in self._blocks if block is not None]

    def forget_lost(self) -> int:
        """Blocks that are not there any more are read again when they are needed; how many these are."""
        before = [number for number, block in enumerate(self._blocks) if block is not None]
        lost = [number for number in before if not _is_there(self._blocks[number])]
        for number in lost:
            self._blocks[number] = None
        return len(lost)

    def release(self) -> None:
        """Give the memory of all blocks back."""
        for block in self._blocks:
            if block is not None and block.is_there:
                block.release()
        self._blocks = [None] * len(self.boxes)

    def _read(self, number: int, workers: Sequence[WorkerId]) -> None:
        worker = workers[number * len(workers) // len(self.boxes)]
        source = str(self.volume.location.absolute)
        block = persist_gpu(read_block(source, self.boxes[number], self.volume.dtype, as_triple(self.halo), worker))
        if block.handle:
            self._blocks[number] = block
            self.reads += 1


def cut(shape: Shape, count: int) -> list[Box]:
    """A regular grid of at least so many blocks, as far as there are voxels, with edges as equal as possible."""
    grid = [1, 1, 1]
    while grid[0] * grid[1] * grid[2] < count:
        axis = max(range(3), key=lambda a: shape[a] / grid[a])
        if shape[axis] < 2 * grid[axis]:
            break
        grid[axis] += 1
    edges = triple(ceil(n / g) for n, g in zip(shape, grid, strict=True))
    return list(Box.whole(shape).tiles(edges))


def _fitting(volume: Volume, workers: Sequence[WorkerId], halo: Shape) -> Volume:
    """The finest level for which there is room."""
    links = current_context().links
    room = int(SHARE * sum(links.usage(worker)["budget_bytes"] for worker in workers))
    count = BLOCKS_PER_WORKER * len(workers)
    for number in range(len(volume.levels)):
        level = volume.at_level(number) if number else volume
        needs = sum(array_bytes(box.shape, level.dtype, halo) for box in cut(level.shape, count))
        if needs <= room:
            return level
    remedy = "Use more Workers, or add coarser levels with pellucid pyramid."
    raise NotEnoughMemory(needs=needs, has=room, remedy=remedy)


def _is_there(block: DeviceBlock | None) -> bool:
    return block is not None and block.is_there


def _wait(futures: list["Future[None]"], is_cancelled: Callable[[], bool]) -> None:
    """For all; what is cancelled meanwhile is read nevertheless, because the next image needs it."""
    is_stopped = False
    while wait(futures, timeout=POLL_S).not_done:
        is_stopped = is_cancelled() or is_stopped
    errors = [error for future in futures if (error := future.exception()) is not None]
    lost = [error for error in errors if isinstance(error, BlockLost)]
    if errors:
        raise next((error for error in errors if error not in lost), errors[0])
    if is_stopped:
        raise Cancelled("Reading blocks")
