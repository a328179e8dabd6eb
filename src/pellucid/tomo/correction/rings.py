"""Ring removal: columns of sinograms that are wrong in every view.

Here: the methods and their settings; the algorithms of Vo, Atwood and Drakopoulos (2018) on a device.
Not here: what they mean (reference.rings), wavelets and regularisation (ring_filters), measuring first
(automatic_rings).

Columns are sorted once. Dividing a column by a factor keeps its order (a negative one turns it around), and so does
replacing it by the median of sorted columns: algorithms 5 and 3 can both work on the ranks of the same sort.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pellucid.choices import check_choice
from pellucid.device import Array, Device, LaunchRange, choose, launch, primitives
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.formats.thread_pool import ThreadPool
from pellucid.tomo.correction.ring_filters import remove_regularized, remove_wavelet
from pellucid.tomo.number_check import check_number
from pellucid.tomo.reference.rings import Floats, Mask, dead_columns, detect, widened

METHODS = ("none", "auto", "vo-sorting", "vo-large", "vo-dead", "vo-all", "fourier-wavelet", "titarenko")
MAX_WINDOW = 127
MAX_SORT = 4096
"""Views that a block of CUDA threads sorts in the memory that it shares, which twice as many just do not fit into; more
are sorted on the CPU."""

_WINDOWS = (31, 63, MAX_WINDOW)


@dataclass(frozen=True)
class RingSettings:
    """How rings are removed.

    snr: how far a column must stand out to count as a ring. large_size, small_size: number of columns in the medians of
    algorithms 5 and 6, and of algorithm 3; None for a share of the detector, because wide medians erode small features.
    drop: share of the views left out when the brightness of a column is judged. level, sigma: of the wavelet method.
    strength: of the regularised method.
    """

    method: str = "vo-all"
    snr: float = 3.0
    large_size: int | None = None
    small_size: int | None = None
    drop: float = 0.1
    level: int = 4
    sigma: float = 1.0
    strength: float = 0.05

    def __post_init__(self) -> None:
        check_choice("ring removal", self.method, METHODS)
        check_number("The snr of ring removal", self.snr, above=0)
        check_number("The drop of ring removal", self.drop, least=0, most=0.5)
        check_number("The level of ring removal", self.level, least=1, is_whole=True)
        check_number("The sigma of ring removal", self.sigma, above=0)
        check_number("The strength of ring removal", self.strength, least=0)
        for size in (self.large_size, self.small_size):
            if size is not None and not (1 <= size <= MAX_WINDOW and size % 2):
                raise InvalidInput(f"Invalid median size of {size} columns.", remedy="Use an odd number below 128.")

    def fitted(self, columns: int) -> "RingSettings":
        """The same with every size given, for a detector of so many columns.

        >>> fitted = RingSettings().fitted(640)
        >>> fitted.large_size, fitted.small_size, RingSettings().fitted(2560).large_size
        (19, 7, 61)
        """
        large = self.large_size or _odd(min(61, max(11, 0.03 * columns)))
        small = self.small_size or _odd(min(21, max(5, 0.01 * columns)))
        return replace(self, large_size=large, small_size=small)


def _odd(size: float) -> int:
    return int(size) // 2 * 2 + 1


def remove_rings(
    sinograms: Array,
    settings: RingSettings,
    device: Device | None = None,
    axes: Voxels | None = None,
    angles_rad: Floats | None = None,
) -> Array:
    """Sinograms (slice, view, column) of a device without rings; everything in them has to be finite.

    axes: the column of the axis of every slice, which "auto" needs to know rings from what is concentric; by default
    the middle. angles_rad: of the views, with which "auto" sees the slice too, and finds more rings.
    """
    device = device or choose()
    settings = settings.fitted(sinograms.shape[2])
    if settings.method == "none":
        return sinograms
    if settings.method == "auto":
        from pellucid.tomo.correction.automatic_rings import remove_measured

        middle = np.full(len(sinograms), (sinograms.shape[2] - 1) / 2)
        return remove_measured(sinograms, settings, middle if axes is None else axes, device, angles_rad)
    if settings.method == "titarenko":
        return remove_regularized(sinograms, settings.strength, device)
    if settings.method == "fourier-wavelet":
        return remove_wavelet(sinograms, settings.level, settings.sigma, device)
    if device.is_cuda:
        return remove_vo(sinograms, settings, device)
    cleaned = np.empty_like(sinograms)
    for index in range(len(sinograms)):  # One at a time: its columns stay in the processor's caches.
        cleaned[index : index + 1] = remove_vo(sinograms[index : index + 1], settings, device)
    return cleaned


def remove_vo(sinograms: Array, settings: RingSettings, device: Device) -> Array:
    from pellucid.tomo.kernels import rings as kernels

    slices, views, columns = sinograms.shape
    room = primitives(device)
    turned = room.empty((slices, columns, views), np.float32)
    launch(kernels.turn, (views, slices, columns), inputs=[sinograms], outputs=[turned], device=device)
    cleaned = room.empty(sinograms.shape, np.float32)
    if settings.method in ("vo-all", "vo-dead"):
        fill_dead(
            sinograms, turned, lambda _, values: dead_columns(values, settings.snr, settings.large_size or 1), device
        )
    if settings.method == "vo-dead":
        launch(kernels.turn, (columns, slices, views), inputs=[turned], outputs=[cleaned], device=device)
        return cleaned
    ranked, order = sort_columns(turned, device)
    divisors = room.to_device(np.ones((slices, columns), np.float32))
    if settings.method in ("vo-all", "vo-large"):
        ranked, divisors = _level_large(ranked, turned, settings, device)
    if settings.method in ("vo-all", "vo-sorting"):
        ranked = running_medians(ranked, settings.small_size or 1, device)
    launch(
        kernels.put_back, (columns, slices, views), inputs=[divisors, order, ranked], outputs=[cleaned], device=device
    )
    return cleaned


# Algorithm 6


def fill_dead(sinograms: Array, turned: Array, find: Callable[[int, Floats], Mask], device: Device) -> None:
    """Interpolate columns of the turned sinograms. find: which of a slice, from how restless each is."""
    from pellucid.tomo.kernels import rings as kernels

    room, (slices, columns, views) = primitives(device), turned.shape
    found = room.empty((slices, columns), np.float64)
    stack = [sinograms, False] if device.is_cuda else [turned, True]
    shape = (-(-columns // kernels.CHUNK), slices, kernels.CHUNK)
    launch(kernels.measure_restlessness, shape, inputs=stack, outputs=[found], device=device)
    masks = [find(place, values) for place, values in enumerate(room.to_host(found))]
    lists = [_beside(mask) for mask in masks]
    places = np.repeat(np.arange(slices, dtype=np.int32), [len(one[0]) for one in lists])
    if len(places):
        wrong, before, after = (np.concatenate(parts) for parts in zip(*lists, strict=True))
        inputs = [room.to_device(array) for array in (places, wrong, before, after)]
        launch(kernels.fill_columns, (views, len(places)), inputs=inputs, outputs=[turned], device=device)


def _beside(mask: Voxels) -> tuple[Voxels, Voxels, Voxels]:
    """The bad columns, and the good ones next to each on the left and on the right."""
    wrong, good = np.flatnonzero(mask), np.flatnonzero(~mask)
    place = np.searchsorted(good, wrong)
    return wrong.astype(np.int32), good[place - 1].astype(np.int32), good[place].astype(np.int32)


# Algorithms 5 and 3


def sort_columns(turned: Array, device: Device) -> tuple[Array, Array]:
    """Every column sorted, and the views in that order; equal values keep theirs."""
    slices, columns, views = turned.shape
    room = primitives(device)
    if not device.is_cuda:
        return _sort_on_cpu(turned)
    from pellucid.tomo.kernels import rings as kernels

    if views > MAX_SORT:
        ranked, order = _sort_on_cpu(room.to_host(turned))
        return room.to_device(ranked), room.to_device(order)
    ranked, order = room.empty(turned.shape, np.float32), room.empty(turned.shape, np.int32)
    length = max(512, 1 << (views - 1).bit_length())
    shape = (slices, columns, kernels.SORT_THREADS)
    outputs = [ranked, order]
    launch(
        kernels.sort_cuda(length),
        shape,
        inputs=[turned],
        outputs=outputs,
        device=device,
        block_dim=kernels.SORT_THREADS,
    )
    return ranked, order


def _sort_on_cpu(turned: Voxels) -> tuple[Voxels, Voxels]:
    """Value and view as one number of 64 bits: NumPy sorts those in vectors, and does not sort pairs."""
    ranked, order = np.empty(turned.shape, np.float32), np.empty(turned.shape, np.int32)
    flat, ranked_rows, order_rows = (array.reshape(-1, turned.shape[2]) for array in (turned, ranked, order))
    places = np.arange(turned.shape[2], dtype=np.int64)

    def sort_rows(rows: slice) -> None:
        bits = flat[rows].view(np.int32)
        # Integers in the order of the numbers: of negative ones, all bits but the sign are turned over.
        bits = bits ^ (bits >> 31 & 0x7FFFFFFF)
        keys = bits.astype(np.int64) << 32 | places
        keys.sort(axis=1)
        order_rows[rows] = keys & 0xFFFFFFFF
        high = (keys >> 32).astype(np.int32)
        ranked_rows[rows] = (high ^ (high >> 31 & 0x7FFFFFFF)).view(np.float32)

    threads = ThreadPool()
    try:
        threads.map(sort_rows, [slice(first, first + 32) for first in range(0, len(flat), 32)])
    finally:
        threads.close()
    return ranked, order


def _level_large(ranked: Array, spare: Array, settings: RingSettings, device: Device) -> tuple[Array, Array]:
    """Ranked columns divided by how much too bright they are, the worst replaced; and those divisors."""
    from pellucid.tomo.kernels import rings as kernels

    room, (slices, columns, views) = primitives(device), ranked.shape
    smooth = running_medians(ranked, settings.large_size or 1, device)
    left_out = int(0.5 * settings.drop * views)
    own, usual = (_sums(stack, left_out, device) for stack in (ranked, smooth))
    factors = np.divide(own, usual, out=np.ones_like(own), where=(usual != 0) & (own != 0))
    masks = np.stack([widened(detect(one, settings.snr)) for one in factors]).astype(np.uint8)
    divisors = room.to_device(np.where(masks, 1.0, factors).astype(np.float32))
    inputs = [divisors, room.to_device(masks), smooth, ranked]
    launch(kernels.level_columns, (columns, slices, views), inputs=inputs, outputs=[spare], device=device)
    return spare, divisors


def _sums(ranked: Array, left_out: int, device: Device) -> Voxels:
    """Per (slice, column): the sum over the ranks, without so many at either end."""
    from pellucid.tomo.kernels import rings as kernels

    room, (slices, columns, _) = primitives(device), ranked.shape
    sums = room.empty((slices, columns), np.float64)
    inputs = [left_out, ranked]
    if device.is_cuda:
        threads = kernels.SUM_THREADS
        shape = (slices, columns, threads)
        launch(kernels.sum_cuda(), shape, inputs=inputs, outputs=[sums], device=device, block_dim=threads)
    else:
        launch(kernels.sum_columns, (columns, slices), inputs=inputs, outputs=[sums], device=device)
    return room.to_host(sums)


def running_medians(ranked: Array, size: int, device: Device) -> Array:
    """The median over neighbouring columns, rank by rank."""
    from pellucid.tomo.kernels import rings as kernels

    slices, columns, ranks = ranked.shape
    smooth = primitives(device).empty(ranked.shape, np.float32)
    window = next(largest for largest in _WINDOWS if size <= largest)
    if device.is_cuda:
        shape = (slices, -(-columns // kernels.SPAN), ranks)
        launch(kernels.median_cuda(window), shape, inputs=[ranked, size], outputs=[smooth], device=device)
    else:
        packets = LaunchRange((-(-ranks // kernels.LANES), slices), heft=kernels.LANES * columns)
        launch(kernels.median_cpu(window), packets, inputs=[ranked, size], outputs=[smooth], device=device)
    return smooth
