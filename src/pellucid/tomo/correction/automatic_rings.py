"""Ring removal that measures first: it corrects the columns that are wrong, and leaves the others as they are.

Here: the method "auto" on a device.
Not here: what is measured, and what it means (reference.stripes), the other methods (rings).

Columns that do not follow the sample are replaced first, like Vo's algorithm 6 does. Of the others, each wrong one
loses its offset, and nothing else changes.
"""

import numpy as np

from pellucid.device import Array, Device, launch, primitives
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.rings import RingSettings, fill_dead, sort_columns
from pellucid.tomo.reference.rings import Floats, Mask
from pellucid.tomo.reference.stripes import PARTS, Stripes, erratic_columns, good_neighbours, ignores_sample


def remove_measured(sinograms: Array, settings: RingSettings, axes: Voxels, device: Device) -> Array:
    """Sinograms (slice, view, column) without rings. axes: the column of the axis, of every slice."""
    size, views = settings.large_size or 1, sinograms.shape[1]
    sinograms = _without_erratic(sinograms, size, device)
    steps, spreads = _measured(sinograms, device)
    facts = zip(steps, spreads, axes.tolist(), strict=True)
    found = [Stripes.of(step, spread, size, views, axis) for step, spread, axis in facts]
    offsets = np.stack([stripes.rough_offsets for stripes in found]).astype(np.float32)
    _find_offsets(sinograms, found, offsets, device)
    return _less(sinograms, offsets, device)


def _without_erratic(sinograms: Array, size: int, device: Device) -> Array:
    from pellucid.tomo.kernels import rings as kernels

    room, (slices, views, columns) = primitives(device), sinograms.shape
    turned, cleaned = room.empty((slices, columns, views), np.float32), room.empty(sinograms.shape, np.float32)
    launch(kernels.turn, (views, slices, columns), inputs=[sinograms], outputs=[turned], device=device)

    def find(place: int, restless: Floats) -> Mask:
        found = erratic_columns(restless, size)
        wrong, left, right, _ = good_neighbours(found)
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


def _find_offsets(sinograms: Array, found: list[Stripes], offsets: Voxels, device: Device) -> None:
    """Fill in the offsets (slice, column) of wrong columns; slices with too many of them are left."""
    from pellucid.tomo.kernels import rings as kernels

    room, views = primitives(device), sinograms.shape[1]
    columns = [good_neighbours(stripes.is_wrong & (not stripes.are_dense)) for stripes in found]
    slices = np.repeat(np.arange(len(found)), [len(wrong) for wrong, *_ in columns])
    if not len(slices):
        return
    wrong, left, right, share = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    sample = np.stack([stripes.concentric for stripes in found])
    between = (1 - share) * sample[slices, left] + share * sample[slices, right]
    numbers = [array.astype(np.int32) for array in (slices, wrong, left, right)]
    numbers += [array.astype(np.float32) for array in (share, sample[slices, wrong] - between)]
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
