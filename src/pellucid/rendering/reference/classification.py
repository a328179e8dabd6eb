"""The definition of colour and opacity by values and gradients, in plain NumPy.

Here: a sample by its value; the gradient as second axis; steps that take all values between their ends.
Not here: rays and light (reference.volumes), speed (kernels.classification).

A step reaches half of its length to both sides of its sample, and the value goes evenly from one end to the other. The
step is cut into PARTS, each of which has the mean density of the rows that it passes and their mean colour, weighted by
density: the opacity is exact, and colours in front hide those behind.
"""

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.rendering.transfer import EDGE_TABLE_SIZE, Edges, TransferFunction, summed

PARTS = 4

NEAR_ROWS = 1e-3
"""Where the ends of a step differ by less than this many rows of the table, their mean value decides."""

REACH_ROWS = 1e9
"""Values further than this many rows from the table count as this far."""


def by_value(transfer: TransferFunction, table: Voxels, values: Voxels) -> Voxels:
    """(n, 4): colour and opacity of samples, by the rows of a table."""
    return table[transfer.index(values)].astype(float)


def edge_factor(edges: Edges, slopes: Voxels) -> Voxels:
    """(n,): how much of the material counts. slopes: magnitudes of gradients, change of the value per voxel."""
    low, high = edges.gradient_range
    rows = np.nan_to_num((slopes - low) * ((EDGE_TABLE_SIZE - 1) / (high - low)) + 0.5)
    factors: Voxels = edges.table()[np.clip(rows, 0, EDGE_TABLE_SIZE - 1).astype(int)].astype(float)
    return factors


def thinned(samples: Voxels, factor: Voxels) -> Voxels:
    """Samples of which only a part of the material counts."""
    thin = samples.copy()
    thin[:, 3] = 1 - (1 - samples[:, 3]) ** factor
    return thin


def by_steps(transfer: TransferFunction, table: Voxels, fronts: Voxels, backs: Voxels) -> Voxels:
    """(n, 4): colour and opacity of steps, by the values (n,) at their ends."""
    sums = summed(table)
    front, back = _place(transfer, fronts, len(table)), _place(transfer, backs, len(table))
    is_near = np.abs(back - front) <= NEAR_ROWS
    way = np.where(is_near, 1.0, back - front) / PARTS
    color, opacity = np.zeros((len(front), 3)), np.zeros(len(front))
    for part in range(PARTS):
        mean = (_sum_before(sums, front + way * (part + 1)) - _sum_before(sums, front + way * part)) / way[:, None]
        weight = (1 - opacity) * (1 - np.exp(-np.maximum(mean[:, 3], 0) / PARTS))
        color += mean[:, :3] / np.maximum(mean[:, 3:], 1e-30) * weight[:, None]
        opacity += weight
    steps = np.concatenate([color / np.maximum(opacity, 1e-12)[:, None], opacity[:, None]], axis=1)
    return np.where(is_near[:, None], by_value(transfer, table, (fronts + backs) / 2), steps)


def _place(transfer: TransferFunction, values: Voxels, rows: int) -> Voxels:
    """Where values lie among the rows of a table; row i reaches from i to i + 1."""
    low, high = transfer.value_range
    place = (np.asarray(values, float) - low) * ((rows - 1) / (high - low)) + 0.5
    return np.clip(np.where(np.isnan(place), 0.0, place), -REACH_ROWS, REACH_ROWS)


def _sum_before(sums: Voxels, place: Voxels) -> Voxels:
    """The rows before places, summed; beyond the table its first and last row go on."""
    row = np.clip(place.astype(np.int64), 0, len(sums) - 2)
    before: Voxels = sums[row] + (sums[row + 1] - sums[row]) * (place - row)[:, None]
    return before
