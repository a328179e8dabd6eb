"""Shuffles of blocks: Spark sees handles, and voxels go from Worker to Worker.

Here: ShuffleManager: blocks brought together by their keys, and halos filled.
Not here: copying voxels (worker.block_exchange), which voxels a halo is (halos), what is done after a loss (losses).

The driver collects the handles, which runs all operations before them, and decides which Worker has which block. The
result is a new RDD that depends on handles alone: however often a loop shuffles, its lineage does not grow. What is
pulled is pulled by the next action.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pellucid.box import Shape
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.halos import SIDES, HaloPart, append_halo, as_triple, plan_halos
from pellucid.cluster.handles import Handle, WorkerId
from pellucid.errors import InvalidInput

if TYPE_CHECKING:
    from pyspark import RDD

    from pellucid.cluster.spark.application import SparkApplication

Place = Callable[[Any], int]


class ShuffleManager:
    """Shuffles the blocks of a SparkApplication: brings them together by their keys, and fills halos."""

    def __init__(self, application: "SparkApplication") -> None:
        self._application = application

    def shuffle(
        self,
        rdd: "RDD[Any]",
        *,
        halo: int | Shape | None = None,
        sides: Iterable[Shape] = SIDES,
        place: Place | None = None,
    ) -> "RDD[Any]":
        """Turn pairs of keys and blocks into pairs of a key and the list of its blocks, all of them on one Worker.

        place: returns the number of the Worker for a key; by default the one that has most of its blocks. With a halo,
        keys are positions (z, y, x) in a grid, and the result has the same pairs, each block with its halo filled.
        """
        found = rdd.mapValues(_described).collect()
        if halo is not None:
            return self._with_halos(found, as_triple(halo), tuple(sides), rdd.getNumPartitions())
        grouped: dict[Any, list[Handle]] = defaultdict(list)
        for key, (packed, _) in found:
            grouped[key].append(Handle.unpack(packed))
        workers = self._application.workers() if place else []
        planned = [
            (key, workers[place(key) % len(workers)] if place else _nearest(handles), handles)
            for key, handles in grouped.items()
        ]
        return self._parallelized(planned, rdd.getNumPartitions()).map(_moved)

    def _with_halos(
        self, found: list[tuple[Any, tuple[bytes, Shape]]], halo: Shape, sides: tuple[Shape, ...], partitions: int
    ) -> "RDD[Any]":
        blocks = {key: (Handle.unpack(packed), shape) for key, (packed, shape) in found}
        if len(blocks) < len(found):
            remedy = "Use a different place (z, y, x) in the grid for every block."
            raise InvalidInput("Several blocks have the same key.", remedy=remedy)
        planned = [(key, blocks[key][0], parts, halo) for key, parts in plan_halos(blocks, halo, sides).items()]
        return self._parallelized(planned, partitions).map(_filled)

    def _parallelized(self, planned: list[Any], partitions: int) -> "RDD[Any]":
        return self._application.spark.parallelize(planned, max(1, min(partitions, len(planned))))


def _described(block: DeviceBlock) -> tuple[bytes, Shape]:
    return block.handle.pack(), block.shape


def _nearest(handles: list[Handle]) -> WorkerId:
    """The Worker that has most of the blocks."""
    return Counter(handle.worker for handle in handles).most_common(1)[0][0]


def _moved(planned: tuple[Any, WorkerId, list[Handle]]) -> tuple[Any, list[DeviceBlock]]:
    key, worker, handles = planned
    blocks = [DeviceBlock(one) if one.worker == worker else DeviceBlock.moved(one, worker) for one in handles]
    return key, blocks


def _filled(planned: tuple[Any, Handle, tuple[HaloPart, ...], Shape]) -> tuple[Any, DeviceBlock]:
    key, handle, parts, halo = planned
    return key, append_halo(DeviceBlock(handle), parts, halo)
