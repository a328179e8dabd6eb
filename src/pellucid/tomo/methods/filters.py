"""Filters of back projection, built in real space, and filtering sinograms with them.

Here: the taps and the response of each filter, padding of truncated sinograms, filter_sinograms.
Not here: back projection; what filtering means (reference.projection.filter_rows).

Taps are those of a detector with columns one apart. Built in real space they keep the small response at zero frequency
that a ramp sampled in frequency loses, and with it the level of the image.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy  # Its parts load when they are used, and a viewer that only names them starts sooner.

from pellucid.choices import check_choice
from pellucid.device import Array, Device, choose, launch, primitives
from pellucid.tomo.scan import Floats

PADDINGS = ("auto", "none", "edge")
FIT_SHARE, MIN_FIT = 1 / 16, 4
"""Of the columns, and the least of them, that an ellipse is fitted to at each border."""

MIN_APART = 0.2
"""Widths of the detector: a border that is nearer to the axis counts as this far from it."""

MAX_WIDENING = 0.75
"""How far a fitted ellipse may reach: the square root of what the squares of its half width and of half the detector
differ by, in widths of the detector. Such an ellipse ends 0.4 widths behind the border."""

NOTHING, FADING, ELLIPSE = 0, 1, 2
"""What is behind the border of a slice."""

TRUNCATED = 0.3
"""A sinogram whose border columns are brighter than this share of its mean is taken to be cut off there."""

BATCH_BYTES = {"cpu": 2**23, "cuda": 2**28}
"""Of padded rows that are transformed at once: on the CPU as many as its caches hold, but whole slices."""


def taps(name: str, count: int) -> Floats:
    """Taps 0 to count - 1 of an even filter.

    >>> taps("ramachandran", 3).round(6).tolist(), taps("chesler", 2).round(6).tolist()
    ([0.25, -0.101321, 0.0], [0.074339, 0.011839])
    """
    check_choice("filter", name, FILTERS)
    return FILTERS[name](np.arange(count, dtype=np.float64))


def response(name: str, length: int) -> Floats:
    """What a filter does to the frequencies 0 to length // 2 of rows of an (even) length: real numbers."""
    half = taps(name, length // 2 + 1)
    return np.asarray(np.fft.rfft(np.concatenate([half, half[-2:0:-1]])).real)


def smoothed_response(name: str, length: int) -> Floats:
    """The same, less what linear interpolation takes away: for methods that do not interpolate between columns.

    So a filter's name stands for the same noise and sharpness, whatever the method. At a share t between two columns, a
    wave of f cycles per column keeps |1 - t + t exp 2πif|² of its power, and (2 + cos 2πf) / 3 over all shares.
    """
    frequency = np.arange(length // 2 + 1) / length
    return response(name, length) * np.sqrt((2 + np.cos(2 * np.pi * frequency)) / 3)


def _ramp(place: Floats) -> Floats:
    """|f| up to half a cycle per column, in real space, at any place."""
    safe = np.where(place == 0, 1.0, np.pi * place)
    values = np.sin(safe) / (2 * safe) + (np.cos(safe) - 1) / (2 * safe**2)
    return np.where(place == 0, 0.25, values)


def _ramachandran(n: Floats) -> Floats:
    odd = -1 / (np.pi * np.where(n == 0, 1, n)) ** 2
    return np.where(n == 0, 0.25, np.where(n % 2 == 1, odd, 0.0))


def _shepp_logan(n: Floats) -> Floats:
    return 2 / (np.pi**2 * (1 - 4 * n**2))


def _raised_cosine(level: float) -> Callable[[Floats], Floats]:
    """|f| (level + (1 - level) cos 2πf): neighbouring taps of the ramp, mixed."""

    def mixed(n: Floats) -> Floats:
        beside = _ramachandran(np.abs(n - 1)) + _ramachandran(n + 1)
        return level * _ramachandran(n) + (1 - level) / 2 * beside

    return mixed


def _cosine(n: Floats) -> Floats:
    """|f| cos πf."""
    return (_ramp(n - 0.5) + _ramp(n + 0.5)) / 2


def _parzen(n: Floats) -> Floats:
    """|f| times Parzen's window, by a transform so fine that what wraps round is below 1e-12."""
    length = 64 * 2 ** int(np.ceil(np.log2(max(len(n), 512))))
    share = np.arange(length // 2 + 1) / (length // 2)
    window = np.where(share <= 0.5, 1 - 6 * share**2 * (1 - share), 2 * (1 - share) ** 3)
    return np.asarray(scipy.fft.irfft(share / 2 * window, length)[: len(n)])


FILTERS: dict[str, Callable[[Floats], Floats]] = {
    "ramachandran": _ramachandran,
    "shepp-logan": _shepp_logan,
    "chesler": _raised_cosine(0.5),  # The same as Hann's window on the ramp.
    "cosine": _cosine,
    "hamming": _raised_cosine(0.54),
    "hann": _raised_cosine(0.5),
    "parzen": _parzen,
}


def padded_length(columns: int, padding: str) -> int:
    """Length of the transforms: no sum may wrap round into the columns that are kept.

    >>> padded_length(1024, "none"), padded_length(1024, "auto")
    (2048, 3072)
    """
    check_choice("padding", padding, PADDINGS)
    length = 2 * columns if padding == "none" else 2 * (columns + columns // 2)
    fast = scipy.fft.next_fast_len(length, real=True)
    while fast % 2:
        fast = scipy.fft.next_fast_len(fast + 1, real=True)
    return int(fast)


@dataclass(frozen=True, eq=False)
class RowEnds:
    """edges: what is behind the border of every slice. axes: the column of the axis in every slice, by default the
    middle."""

    edges: Array | None = None
    axes: Floats | None = None


def filter_sinograms(
    sinograms: Array,
    name: str,
    *,
    padding: str = "auto",
    device: Device | None = None,
    out: Array | None = None,
    ends: RowEnds | None = None,
) -> Array:
    """Sinograms (slice, view, column) of a device, filtered along their columns.

    padding: "edge" continues rows beyond the detector, fading out over half its width; "auto" continues slices that are
    cut off at the border by ellipses about the axis, each slice judged by itself. ends: what is
    known of them already. out: where to put them; may be the sinograms.
    """
    device, ends = device or choose(), ends or RowEnds()
    room = primitives(device)
    slices, views, columns = sinograms.shape
    length = padded_length(columns, padding)
    gains = room.to_device(response(name, length).astype(np.float32))
    kept = room.empty(sinograms.shape, np.float32) if out is None else out
    batch = batch_slices(views, length, device)
    for start in range(0, slices, batch):
        part = slice(start, min(slices, start + batch))
        known = border_flags(sinograms[part], padding, device) if ends.edges is None else ends.edges[part]
        rows = extended(sinograms[part], length, known, device, None if ends.axes is None else ends.axes[part])
        spectrum = room.rfft(rows)
        _multiply(spectrum, gains, device)
        _keep(room.irfft(spectrum, (length,)), kept[part], device)
    return kept


def batch_slices(views: int, length: int, device: Device) -> int:
    """Slices whose rows are transformed at once."""
    return max(1, BATCH_BYTES[device.kind] // (4 * views * length))


def extended(sinograms: Array, length: int, edges: Array, device: Device, axes: Floats | None = None) -> Array:
    """Rows of the transforms' length: behind the detector what ``edges`` says of every slice."""
    from pellucid.tomo.kernels import filtering

    rows = primitives(device).zeros((*sinograms.shape[:2], length), np.float32)
    views_first = (sinograms.shape[1], len(sinograms))
    inputs = [sinograms, edges, border_fits(sinograms, edges, device, axes)]
    launch(filtering.extend, views_first, inputs=inputs, outputs=[rows], device=device)
    return rows


def border_fits(sinograms: Array, edges: Array, device: Device, axes: Floats | None = None) -> Array:
    """(slice, view, 6): the ellipses that continue rows, first on the left and then on the right, each as its square at
    the border and how fast that falls; then how far both borders are from the axis. 0 where no slice is continued so.
    axes: the column of the axis in every slice, by default the middle."""
    from pellucid.tomo.kernels import filtering

    room, (slices, views, columns) = primitives(device), sinograms.shape
    borders = room.zeros((slices, views, 6), np.float32)
    if (room.to_host(edges) == ELLIPSE).any():
        middles = np.full(slices, (columns - 1) / 2) if axes is None else axes
        inputs = [
            sinograms,
            room.to_device(middles.astype(np.float32)),
            fitted_columns(columns),
            MIN_APART,
            MAX_WIDENING,
        ]
        launch(filtering.fit_borders, (views, slices), inputs=inputs, outputs=[borders], device=device)
    return borders


def fitted_columns(columns: int) -> int:
    """Columns at each border that an ellipse is fitted to."""
    return min(columns, max(MIN_FIT, int(FIT_SHARE * columns)))


def border_flags(sinograms: Array, padding: str, device: Device) -> Array:
    """Per slice: what is behind its border."""
    room, slices = primitives(device), len(sinograms)
    if padding == "auto":
        return room.to_device(truncated(*border_sums(sinograms, device)))
    return room.to_device(np.full(slices, FADING if padding == "edge" else NOTHING, np.int32))


def border_sums(sinograms: Array, device: Device) -> tuple[Floats, Floats, Floats]:
    """Per slice, over all views and without signs: the mean of the columns, the first column and the last one."""
    from pellucid.tomo.kernels import filtering

    room, (slices, views, columns) = primitives(device), sinograms.shape
    sums, borders = (room.empty((slices, views, *more), np.float32) for more in ((filtering.LANES,), (2,)))
    shape = (views, slices, filtering.LANES)
    launch(filtering.sum_rows, shape, inputs=[sinograms], outputs=[sums, borders], device=device)
    level = room.to_host(sums).sum(axis=(1, 2), dtype=np.float64) / columns
    left, right = room.to_host(borders).sum(axis=1, dtype=np.float64).T
    return level, left, right


def truncated(level: Floats, left: Floats, right: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    """What is behind the border of slices with such sums: an ellipse where one border is clearly not air.

    >>> truncated(np.array([1.0, 1.0]), np.array([0.1, 0.0]), np.array([0.1, 0.5])).tolist()
    [0, 2]
    """
    return np.where(np.maximum(left, right) > TRUNCATED * level, ELLIPSE, NOTHING).astype(np.int32)


def _multiply(spectrum: Array, gains: Array, device: Device) -> None:
    if not device.is_cuda:  # NumPy does it in vectors, and a kernel of ours number by number.
        np.multiply(spectrum, gains, out=spectrum)
        return
    from pellucid.tomo.kernels import filtering

    numbers = spectrum.view(np.float32)
    shape = (numbers.shape[1], len(numbers), numbers.shape[2])
    launch(filtering.multiply, shape, inputs=[gains], outputs=[numbers], device=device)


def _keep(rows: Array, kept: Array, device: Device) -> None:
    if not device.is_cuda:
        np.copyto(kept, rows[:, :, : kept.shape[2]])
        return
    from pellucid.tomo.kernels import filtering

    shape = (kept.shape[1], len(kept), kept.shape[2])
    launch(filtering.keep, shape, inputs=[rows], outputs=[kept], device=device)
