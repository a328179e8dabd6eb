"""How large a block may be, and how many fit into memory at once.

Here: choose_block, max_workers, worker_contexts, and the refusals before anything runs.
Not here: what a voxel of a block costs (each task says that itself).
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pellucid.box import Shape, triple
from pellucid.engines.task import Task, TaskContext
from pellucid.errors import ChunkConflict, InvalidInput, NotEnoughMemory
from pellucid.jobs.resources import Resources
from pellucid.volume.blocks import Block

if TYPE_CHECKING:
    from pellucid.engines.engine import EngineOptions

SMALLER = "Raise the memory budget (--memory), or choose smaller output chunks or shards."


def choose_block(
    shape: Shape, output_chunk: Shape, requested: Shape, cost: Callable[[Shape], int], budget_bytes: int
) -> Shape:
    """The block that covers the preferred shape as far as the budget allows, in whole output chunks.

    preferred: the chunks of the input. cost: bytes that a block of a shape takes.
    """
    block = triple(min(g, n) for g, n in zip(output_chunk, shape, strict=True))
    if cost(block) > budget_bytes:
        raise NotEnoughMemory(needs=cost(block), has=budget_bytes, remedy=SMALLER)
    while larger := _grown(block, shape, output_chunk, requested):
        fitting = [candidate for candidate in larger if cost(candidate) <= budget_bytes]
        if not fitting:
            break
        block = fitting[0]
    return block


def _grown(block: Shape, shape: Shape, output_chunk: Shape, requested: Shape) -> list[Shape]:
    """The block, longer along one axis by doubling, the axis that covers least of the preferred shape first."""
    lacking = [axis for axis in (2, 1, 0) if block[axis] < min(requested[axis], shape[axis])]
    lacking.sort(key=lambda axis: block[axis] / requested[axis])
    return [_doubled(block, axis, shape, output_chunk, requested) for axis in lacking]


def _doubled(block: Shape, axis: int, shape: Shape, output_chunk: Shape, requested: Shape) -> Shape:
    needed = min(-(-requested[axis] // output_chunk[axis]) * output_chunk[axis], shape[axis])
    return triple(min(n * 2, needed) if i == axis else n for i, n in enumerate(block))


def max_workers(task: Task, blocks: Sequence[Block], options: "EngineOptions") -> int:
    """How many blocks may be worked on at once; at least one, since larger ones were refused before."""
    if not blocks:
        return 1
    needs = largest_need(task, blocks)
    by_memory = options.memory_bytes // max(1, needs.memory_bytes)
    by_devices = len(options.devices) if needs.gpus else len(blocks)
    return max(1, min(options.workers // max(1, needs.cores), by_memory, by_devices, len(blocks)))


def worker_contexts(task: Task, blocks: Sequence[Block], options: "EngineOptions") -> list[TaskContext]:
    """What each worker that may run at once offers: an equal share, and a device of its own if blocks need one."""
    count = max_workers(task, blocks, options)
    needs_device = bool(blocks) and largest_need(task, blocks).gpus > 0
    devices = options.devices[:count] if needs_device else ("cpu",) * count
    threads, memory_bytes = max(1, options.workers // count), options.memory_bytes // count
    return [TaskContext(device, threads, memory_bytes) for device in devices]


def largest_need(task: Task, blocks: Sequence[Block]) -> Resources:
    return max((task.needs(block) for block in blocks), key=lambda needs: needs.memory_bytes)


def check_fits(task: Task, blocks: Sequence[Block], capacity: Resources) -> None:
    """Refuse, before anything runs, what cannot be done."""
    if not blocks:
        return
    needs = largest_need(task, blocks)
    if needs.memory_bytes > capacity.memory_bytes:
        raise NotEnoughMemory(needs=needs.memory_bytes, has=capacity.memory_bytes, remedy=SMALLER)
    if needs.gpus > capacity.gpus:
        raise InvalidInput(
            f"Each block needs {needs.gpus} GPU(s), but a worker has {capacity.gpus}.",
            remedy="Run it on the CPU, or choose an engine whose workers have GPUs.",
        )


def check_chunk_alignment(blocks: Sequence[Block], output_chunk: Shape) -> None:
    """Refuse blocks of which two would write into one chunk or shard of the output."""
    end = triple(max(block.core.stop[axis] for block in blocks) for axis in range(3)) if blocks else (0, 0, 0)
    for block in blocks:
        starts_whole = all(start % g == 0 for start, g in zip(block.core.start, output_chunk, strict=True))
        stops_whole = all(
            stop % g == 0 or stop == last for stop, g, last in zip(block.core.stop, output_chunk, end, strict=True)
        )
        if not (starts_whole and stops_whole):
            raise ChunkConflict(block.core.shape, output_chunk)
