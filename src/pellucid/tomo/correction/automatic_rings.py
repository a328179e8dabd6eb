"""Ring removal that measures first: it corrects the columns that are wrong, and leaves the others as they are.

Here: the method "auto" on a device.
Not here: what is measured, and what it means (reference.stripes, reference.slice_rings), the other methods (rings).

Columns that do not follow the sample are replaced first, like Vo's algorithm 6 does. Of the others, each wrong one
loses its offset, and nothing else changes.
"""

import numpy as np

from pellucid.device import Array, Device, LaunchRange, launch, primitives
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.rings import RingSettings, fill_dead, running_medians, sort_columns
from pellucid.tomo.methods.filters import RowEnds, filter_sinograms
from pellucid.tomo.reference.rings import Floats, Mask
from pellucid.tomo.reference.slice_rings import LEVEL_COLUMNS, AxisLines, SliceRings
from pellucid.tomo.reference.stripes import (
    PARTS,
    Stripes,
    erratic_columns,
    good_columns_around,
    good_neighbours,
    ignores_sample,
)


def remove_measured(
    sinograms: Array, settings: RingSettings, axes: Voxels, device: Device, angles_rad: Floats | None = None
) -> Array:
    """Sinograms (slice, view, column) without rings. axes: the column of the axis, of every slice. angles_rad: of the
    views; without them rings are only measured in the sinograms."""
    size, views = settings.large_size or 1, sinograms.shape[1]
    sinograms = _without_erratic(sinograms, size, axes, device)
    steps, spreads = _measured(sinograms, device)
    facts = zip(steps, spreads, axes.tolist(), strict=True)
    found = [Stripes.of(step, spread, size, views, axis) for step, spread, axis in facts]
    if angles_rad is not None:
        lines = AxisLines.of(angles_rad)
        circles = zip(found, _circles(sinograms, lines, axes, device), axes.tolist(), strict=True)
        found = [SliceRings.of(circle, lines, size, axis).corrected(stripes) for stripes, circle, axis in circles]
    offsets = np.stack([stripes.rough_offsets for stripes in found]).astype(np.float32)
    _find_offsets(sinograms, found, offsets, device)
    return _less(sinograms, offsets, device)


def _without_erratic(sinograms: Array, size: int, axes: Voxels, device: Device) -> Array:
    from pellucid.tomo.kernels import rings as kernels

    room, (slices, views, columns) = primitives(device), sinograms.shape
    turned, cleaned = room.empty((slices, columns, views), np.float32), room.empty(sinograms.shape, np.float32)
    launch(kernels.turn, (views, slices, columns), inputs=[sinograms], outputs=[turned], device=device)

    def find(place: int, restless: Floats) -> Mask:
        found = erratic_columns(restless, size, float(axes[place]))
        wrong, left, right = good_neighbours(found)
        if len(wrong):
            values = np.asarray(room.to_host(turned[place : place + 1])[0], np.float64)
            found[wrong] = ignores_sample(values[wrong], values[left], values[right])
        return found

    fill_dead(sinograms, turned, find, device)
    launch(kernels.turn, (columns, slices, views), inputs=[turned], outputs=[cleaned], device=device)
    return cleaned


def _measured(sinograms: Array, device: Device) -> tuple[Voxels, Voxels]:
    """reference.stripes.measured of every slice, as (slice, part, column) and (slice, column)."""
    from pellucid.tomo.kernels import rings as kernels

    room, (slices, views, columns) = primitives(device), sinograms.shape
    middles, spreads = [], []
    for part in np.array_split(np.arange(views), min(PARTS, views)):
        steps = room.empty((slices, columns, len(part)), np.float32)
        inputs = [sinograms, int(part[0])]
        launch(kernels.step_columns, (columns, slices, len(part)), inputs=inputs, outputs=[steps], device=device)
        ranked, _ = sort_columns(steps, device)
        low, middle, high = (_rank(ranked, share, device) for share in (0.25, 0.5, 0.75))
        middles.append(middle)
        spreads.append(high - low)
    return np.stack(middles, axis=1), np.median(spreads, axis=0)


def _circles(sinograms: Array, lines: AxisLines, axes: Voxels, device: Device) -> Voxels:
    """reference.slice_rings.along_circles of every slice, as (slice, 1 + part, column)."""
    level = _level_lines(sinograms, lines, axes, device)
    count = level.shape[2]
    parts = [np.arange(count), *np.array_split(np.arange(count), min(PARTS, count))]
    middles = []
    for part in parts:
        ranked, _ = sort_columns(level[:, :, part[0] : part[-1] + 1].copy(), device)
        middles.append(_rank(ranked, 0.5, device))
    return np.stack(middles, axis=1).astype(np.float64)


def _level_lines(sinograms: Array, lines: AxisLines, axes: Voxels, device: Device) -> Array:
    """The slices along lines through the axis less their running medians, as (slice, column, line)."""
    from pellucid.tomo.kernels import axis_lines as kernels
    from pellucid.tomo.kernels.rings import turn

    room, (slices, _, columns) = primitives(device), sinograms.shape
    filtered = filter_sinograms(sinograms, "ramachandran", device=device, ends=RowEnds(axes=axes))
    count = len(lines.cosines)
    values = room.empty((slices, count, columns), np.float32)
    kind = np.float32 if device.is_cuda else np.float64
    places = [room.to_device(array.astype(kind)) for array in (axes, lines.cosines)]
    inputs = [filtered, *places, room.to_device(lines.weights.astype(np.float32))]
    if device.is_cuda:
        launch(kernels.sum_places, (count, slices, columns), inputs=inputs, outputs=[values], device=device)
    else:
        some = LaunchRange((count, slices), heft=sinograms[0].size)
        launch(kernels.sum_lines_cpu(), some, inputs=inputs, outputs=[values], device=device)
    turned, level = (room.empty((slices, columns, count), np.float32) for _ in range(2))
    launch(turn, (count, slices, columns), inputs=[values], outputs=[turned], device=device)
    medians = running_medians(turned, LEVEL_COLUMNS, device)
    launch(kernels.subtract, (columns, slices, count), inputs=[turned, medians], outputs=[level], device=device)
    return level


def _find_offsets(sinograms: Array, found: list[Stripes], offsets: Voxels, device: Device) -> None:
    """Fill in the offsets (slice, column) of wrong columns; slices with too many of them are left."""
    from pellucid.tomo.kernels import rings as kernels

    room, views = primitives(device), sinograms.shape[1]
    columns = [good_columns_around(stripes.is_wrong & (not stripes.are_dense)) for stripes in found]
    slices = np.repeat(np.arange(len(found)), [len(wrong) for wrong, *_ in columns])
    if not len(slices):
        return
    wrong, around, weights = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    numbers = [array.astype(np.int32) for array in (slices, wrong, around)] + [weights.astype(np.float32)]
    away = room.empty((1, len(slices), views), np.float32)
    inputs = [sinograms, *(room.to_device(array) for array in numbers)]
    launch(kernels.compare_columns, (len(slices), views), inputs=inputs, outputs=[away], device=device)
    ranked, _ = sort_columns(away, device)
    offsets[slices, wrong] = _rank(ranked, 0.5, device)[0]


def _rank(ranked: Array, share: float, device: Device) -> Voxels:
    """The value at a share of the sorted views, as (slice, column)."""
    views = ranked.shape[2]
    # As NumPy's closest_observation has it: halves to the even one, counted from 1.
    place = min(max(round(share * views) - 1, 0), views - 1)
    return np.asarray(primitives(device).to_host(ranked[:, :, place : place + 1])[:, :, 0])


def _less(sinograms: Array, stripes: Voxels, device: Device) -> Array:
    """Every view less one number per (slice, column)."""
    from pellucid.tomo.kernels import ring_filters as kernels

    room, (slices, views, columns) = primitives(device), sinograms.shape
    cleaned = room.empty(sinograms.shape, np.float32)
    inputs = [room.to_device(stripes), sinograms]
    launch(kernels.subtract_columns, (views, slices, columns), inputs=inputs, outputs=[cleaned], device=device)
    return cleaned
