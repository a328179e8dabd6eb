"""How large the windows of a network are: what memory allows, and what takes the least time.

Here: plan_windows, choose_halo, choose_batch.
Not here: where the windows are (windows), what a window takes (memory).
"""

from dataclasses import replace
from itertools import product
from math import prod

import numpy as np

from pellucid.box import Shape, triple
from pellucid.errors import InvalidInput, NotEnoughMemory
from pellucid.infer.memory import MemoryModel, NetworkCost, WindowSpeeds
from pellucid.infer.network_files.network import Network
from pellucid.infer.windows import Windows

MAX_WINDOW_VOXELS = 2**24
"""Larger windows save nothing, and progress is shown window by window."""
MAX_BATCH, MAX_BATCH_VOXELS = 16, 2**22
"""Windows that a GPU computes at a time, and their voxels: that many keep it busy, and the layers of a network still
have fewer than 2^31 values, up to which convolutions are fast."""


MIN_GAIN = 0.1
"""Smaller windows than those that compute least have to save that share of the time, which is known so well."""


def plan_windows(
    network: Network, shape: Shape, cost: NetworkCost, budget_bytes: int, requested: Shape | None = None
) -> Windows:
    """The fastest windows that fit; an error where none does. requested: the window that the user chose."""
    memory = cost.memory
    halo = choose_halo(network)
    step = network.step
    full = triple(-(-n // s) * s for n, s in zip(shape, step, strict=True))
    if not network.is_3d:
        full = (1, full[1], full[2])
    is_blended = not is_exact(network, halo)
    if network.fixed_window is not None:
        fixed = Windows(network.fixed_window, halo, step, is_fixed=True, is_blended=is_blended)
        return _checked(fixed, full, memory, budget_bytes)
    if requested is not None:
        size = triple(min(-(-n // s) * s, f) for n, s, f in zip(requested, step, full, strict=True))
        return _checked(Windows(size, halo, step, is_blended=is_blended), full, memory, budget_bytes)
    limit = min(MAX_WINDOW_VOXELS, int((budget_bytes - memory.base_bytes) / memory.bytes_per_voxel))
    windows = _fitted(Windows(full, halo, step, is_blended=is_blended), full, limit, cost.speeds)
    return _checked(windows, full, memory, budget_bytes)


def choose_halo(network: Network) -> Shape:
    """The user's, else the receptive radius, else the manifest's."""
    choices = (network.form.halo, network.radius, network.form.stated_halo)
    halo = next((one for one in choices if one is not None), None)
    if halo is None:
        named = ", ".join(network.facts.unknown)
        raise InvalidInput(
            f"The receptive field of {network.name} is unknown, because of {named}.",
            remedy="Pass the halo that it needs, such as --halo 16.",
        )
    return halo if network.is_3d else (0, halo[1], halo[2])


def is_exact(network: Network, halo: Shape) -> bool:
    """Whether windows with this halo give the result of the whole volume."""
    radius = network.radius
    covered = radius is not None and all(h >= r for h, r in zip(halo, radius, strict=True))
    return covered and not network.facts.window_statistics


def _fitted(windows: Windows, full: Shape, limit: int, speeds: WindowSpeeds) -> Windows:
    """Of all divisions whose windows have few enough voxels, the fastest; else the finest. Where times are about the
    same, the one that computes least, and of these the one with the largest windows."""
    choices = [_divisions(windows, axis, full[axis]) for axis in range(3)]
    fitting = [
        (whole_z * whole_y * whole_x, (z, y, x))
        for (z, whole_z), (y, whole_y), (x, whole_x) in product(*choices)
        if z * y * x <= limit
    ]
    if not fitting:
        return replace(windows, size=triple(one[-1][0] for one in choices))
    fitting.sort(key=lambda one: one[1])  # Of equals, the one with the fewest slices: a block has whole slices.
    sizes = np.array([prod(size) for _, size in fitting])
    computed = np.array([whole for whole, _ in fitting])
    seconds = computed * speeds.seconds(sizes)
    least, fastest = (int(np.lexsort((-sizes, one))[0]) for one in (computed, seconds))
    chosen = fastest if seconds[fastest] < (1 - MIN_GAIN) * seconds[least] else least
    return replace(windows, size=fitting[chosen][1])


def _divisions(windows: Windows, axis: int, full: int) -> list[tuple[int, int]]:
    """How an axis may be divided, coarsest first: the length of the windows, and what they compute together."""
    step, margin = windows.step[axis], windows.margin[axis]
    found = [(full, full)]
    for parts in range(2, full // step + 1):
        computed = full + 2 * margin * (parts - 1)
        size = -(-computed // (parts * step)) * step
        if size < windows.min_size[axis] or size >= full:
            break
        if size < found[-1][0]:
            found.append((size, computed))
    return found


def _checked(windows: Windows, full: Shape, memory: MemoryModel, budget_bytes: int) -> Windows:
    needs = memory.cost(prod(windows.size))
    if needs > budget_bytes:
        raise NotEnoughMemory(
            needs=needs, has=budget_bytes, remedy="Raise the memory budget (--memory), or pass a smaller --halo."
        )
    for size, least, whole in zip(windows.size, windows.min_size, full, strict=True):
        if size < least and size < whole:
            raise InvalidInput(
                f"Windows of {windows.size} (z, y, x) are too small for halos of {windows.halo}.",
                remedy=f"Use windows of at least {windows.min_size} (z, y, x), or pass a smaller --halo.",
            )
    return windows


def choose_batch(network: Network, windows: Windows, memory: MemoryModel, budget_bytes: int, *, is_gpu: bool) -> int:
    """Windows at a time: on the CPU one, which keeps its caches; on a GPU as many as fit, up to its full use."""
    if not is_gpu:
        return 1
    fitting = int((budget_bytes - memory.base_bytes) / (memory.bytes_per_voxel * prod(windows.size)))
    useful = MAX_BATCH_VOXELS // prod(windows.size)
    return max(1, min(fitting, useful, MAX_BATCH, network.max_batch or MAX_BATCH))
