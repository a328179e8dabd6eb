"""How much memory the slices of a slab need, on the CPU and on a GPU, and how many fit at once.

Here: SlabSize, slab_bytes (held by tests to what is used); slices_at_once, and device_budget, which remembers it.
Not here: the steps that take it (slabs), how slabs share the memory of a machine (engines).
"""

import threading
from dataclasses import dataclass, replace
from functools import cache

from pellucid.device import Device, choose
from pellucid.errors import NotEnoughMemory
from pellucid.tomo.methods import gridding_cpu, gridding_cuda
from pellucid.tomo.methods.filters import BATCH_BYTES, batch_slices, padded_length
from pellucid.tomo.methods.gridding_window import grid_size
from pellucid.tomo.recipe import Recipe

SLICES_AT_ONCE = 16
"""Slices whose sinograms are in memory at once: as many as lie side by side in a vector."""

CUDA_SHARE = 0.9
"""Of a card's free memory that is planned for: transforms take room of their own."""

MAX_WAITING = 11
"""Others on a card whose slices are on their way to it or back while those of one are computed."""

MAX_TURNS = 2
"""Threads that compute on a card at once: one queues kernels while the card works on those of the other."""

RING_COPIES = 6
"""Of the sinograms, while rings are removed: turned, sorted, their order, two medians, the result."""

_LOCK = threading.Lock()


@dataclass(frozen=True)
class SlabSize:
    """What memory depends on.

    slices: of a slab. views, columns: of the scan. edge: columns of a slice, more than those of the scan where opposite
    views are joined. raw_itemsize, itemsize: bytes of a raw and of a written voxel.
    """

    slices: int
    views: int
    columns: int
    edge: int
    raw_itemsize: int
    itemsize: int

    @property
    def at_once(self) -> int:
        return min(self.slices, SLICES_AT_ONCE)

    @property
    def joined_views(self) -> int:
        return self.views // 2 if self.edge > self.columns else self.views


def slab_bytes(size: SlabSize, recipe: Recipe) -> int:
    """What making a slab on the CPU takes at its peak: raw rows, written voxels, and the slices under work."""
    raw = size.slices * size.views * size.columns * size.raw_itemsize
    frames = 4 * (3 * size.slices + SLICES_AT_ONCE) * size.columns  # Flats and darks, while they are averaged.
    work = work_bytes(size, recipe)
    if size.edge > size.columns:
        joined = 4 * size.at_once * size.joined_views * size.edge
        work = max(work, 4 * size.at_once * size.views * size.columns + joined)
    return raw + size.slices * size.edge**2 * size.itemsize + frames + work


def work_bytes(size: SlabSize, recipe: Recipe) -> int:
    """What the slices that are worked on at once take, from their sinograms on."""
    views, at_once = size.joined_views, size.at_once
    sinograms, slices = 4 * at_once * views * size.edge, 4 * at_once * size.edge**2
    length = padded_length(size.edge, recipe.padding)
    packed = 4 * SLICES_AT_ONCE * views * (size.edge + 3)
    if recipe.method == "gridding":
        return sinograms + slices + gridding_cpu.work_bytes(views, size.edge, (length, grid_size(size.edge)))
    lines = 4 * SLICES_AT_ONCE * size.edge * (size.edge + 3)  # Slices side by side, while they are projected.
    if recipe.method == "sirt":
        return 2 * sinograms + slices + packed + max(lines, slices) + (sinograms + slices) // at_once
    if recipe.method == "cgls":
        return 2 * sinograms + 2 * slices + packed + max(sinograms + lines, slices)
    batch = min(at_once, batch_slices(views, length, choose("cpu")))
    return sinograms + max(12 * batch * views * length, packed + slices)


# On a card


@dataclass(frozen=True, eq=False)
class DeviceBudget:
    """How slabs of one kind are put through a card. at_once: slices. slots: held while slices are on the device. turns:
    threads that compute on it at once."""

    at_once: int
    slots: threading.BoundedSemaphore
    turns: int


def device_budget(size: SlabSize, recipe: Recipe, device: Device) -> DeviceBudget:
    """What fits was found out when the first such slab was made: later, the memory is in use, and used again."""
    with _LOCK:
        return _card(replace(size, slices=SLICES_AT_ONCE), recipe, device)


@cache
def _card(size: SlabSize, recipe: Recipe, device: Device) -> DeviceBudget:
    free_bytes = device.free_bytes()
    at_once = slices_at_once(size, recipe, free_bytes)
    computing = card_bytes(size, recipe, at_once)
    waiting = at_once * (size.views * size.columns * size.raw_itemsize + 4 * size.edge**2)
    budget = int(CUDA_SHARE * free_bytes)
    turns = MAX_TURNS if MAX_TURNS * (computing + waiting) <= budget else 1
    spare = budget - turns * computing
    return DeviceBudget(at_once, threading.BoundedSemaphore(1 + min(MAX_WAITING, spare // waiting)), turns)


def slices_at_once(size: SlabSize, recipe: Recipe, free_bytes: int) -> int:
    """How many slices a card with so much free memory can work on; neither more nor fewer change their values.

    >>> size = SlabSize(slices=8, views=6000, columns=13000, edge=13000, raw_itemsize=2, itemsize=4)
    >>> slices_at_once(size, Recipe(method="gridding"), 139 * 2**30), slices_at_once(size, Recipe(), 8 * 2**30)
    (8, 4)
    """
    budget = int(CUDA_SHARE * free_bytes)
    for count in (16, 8, 4, 2, 1):
        if card_bytes(size, recipe, count) <= budget:
            return min(count, size.slices)
    remedy = "Bin the projections (--bin 2), choose another --method, or use --device cpu."
    raise NotEnoughMemory(needs=card_bytes(size, recipe, 1), has=budget, remedy=remedy)


def card_bytes(size: SlabSize, recipe: Recipe, count: int) -> int:
    """What so many slices take on a card, from raw rows to slices, at the step that takes most."""
    count = min(count, size.slices)
    own = 4 * count * size.views * size.columns
    joined = 4 * count * size.joined_views * size.edge
    correcting = count * size.views * size.columns * size.raw_itemsize + own
    cleaning = own * (1 + (RING_COPIES if recipe.rings.method != "none" else 0) + (1 if recipe.zingers else 0))
    if recipe.rings.method == "auto":  # The sinograms, those in work and filtered ones, and their transforms.
        length = padded_length(size.columns, "auto")
        cleaning = max(cleaning, 4 * own + 3 * max(BATCH_BYTES["cuda"], 4 * size.views * length))
    joining = own + joined if size.edge > size.columns else 0
    return max(correcting, cleaning, joining, joined + 4 * count * size.edge**2 + _card_work(size, recipe, count))


def _card_work(size: SlabSize, recipe: Recipe, count: int) -> int:
    """Besides sinograms and slices."""
    views, length = size.joined_views, padded_length(size.edge, recipe.padding)
    if recipe.method == "gridding":
        return gridding_cuda.work_bytes(count, views, length, grid_size(size.edge))
    packed = 4 * (-(-count // 8) * 8) * views * (size.edge + 3)
    if recipe.method in ("sirt", "cgls"):
        sinograms, slices = 4 * count * views * size.edge, 4 * count * size.edge**2
        lanes = 4 * (-(-count // 8) * 8) * (size.edge + 3) ** 2
        return sinograms + slices + max(sinograms + lanes, slices + packed) + (sinograms + slices) // count
    return max(packed, 3 * max(BATCH_BYTES["cuda"], 4 * views * length))
