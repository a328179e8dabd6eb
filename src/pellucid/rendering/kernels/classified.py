"""One volume through a transfer function with a second axis, or with whole steps instead of samples.

Here: the colour and opacity of a step by values and gradient, and the kernel that draws with them.
Not here: one value, one row of the table (gathering), the definition (reference.classification).
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.sampling import Grid, gradient_in, sample, table_row, value_in
from pellucid.rendering.kernels.composite import composite_with
from pellucid.rendering.kernels.gathering import Gathered, classified, gather
from pellucid.rendering.kernels.lighting import shaded
from pellucid.rendering.kernels.rays import Layer
from pellucid.rendering.reference.classification import NEAR_ROWS, PARTS, REACH_ROWS

NEAR = wp.constant(wp.float64(NEAR_ROWS))
REACH = wp.constant(wp.float64(REACH_ROWS))
COUNT = wp.constant(PARTS)
SHARE = wp.constant(wp.float64(1 / PARTS))


@wp.func
def edge_factor(layer: Layer, here: Grid, at: wp.vec3):
    """How much of the material counts, by the gradient."""
    if layer.edges.shape[0] == 0:
        return wp.float32(1.0)
    slope = wp.length(wp.transpose(layer.to_voxel) * gradient_in(here, at))
    return layer.edges[table_row(slope, layer.edge_low, layer.edge_scale, layer.edges.shape[0])]


@wp.func
def row_place(layer: Layer, at: wp.vec3):
    """Where the value at a point lies among the rows of the table; row i reaches from i to i + 1."""
    place = wp.float64((sample(layer.field, at) - layer.value_low) * layer.value_scale) + wp.float64(0.5)
    place = wp.where(place > -REACH, place, wp.float64(0.0))  # also where it is not a number
    return wp.min(place, REACH)


@wp.func
def sum_before(sums: wp.array(dtype=wp.vec4d), place: wp.float64):
    """The rows before a place, summed; beyond the table its first and last row go on."""
    last = sums.shape[0] - 2
    row = wp.clamp(wp.int32(place), 0, last)
    return sums[row] + (sums[row + 1] - sums[row]) * (place - wp.float64(row))


@wp.func
def between(layer: Layer, front: wp.float64, back: wp.float64, factor: wp.float32):
    """Colour and opacity of a step in which the value goes evenly from one place of the table to another."""
    way = (back - front) * SHARE
    color = wp.vec3()
    opacity = wp.float32(0.0)
    before = sum_before(layer.sums, front)
    for part in range(COUNT):
        after = sum_before(layer.sums, front + way * wp.float64(part + 1))
        mean = (after - before) / way
        before = after
        if mean[3] > wp.float64(0.0):
            taken = 1.0 - wp.exp(-factor * wp.float32(mean[3] * SHARE))
            weight = (1.0 - opacity) * taken
            tint = wp.vec3(wp.float32(mean[0] / mean[3]), wp.float32(mean[1] / mean[3]), wp.float32(mean[2] / mean[3]))
            color += tint * weight
            opacity += weight
    color = color / wp.max(opacity, 1.0e-12)
    return wp.vec4(color[0], color[1], color[2], opacity)


@wp.func
def thinned(entry: wp.vec4, factor: wp.float32):
    """Some part of a material."""
    opacity = wp.where(factor < 1.0, 1.0 - wp.pow(1.0 - entry[3], factor), entry[3])
    return wp.vec4(entry[0], entry[1], entry[2], wp.where(factor > 0.0, opacity, 0.0))


@wp.func
def classified_step(layer: Layer, here: Grid, direction: wp.vec3, at: wp.vec3):
    """Colour and opacity of the step around a point."""
    if layer.sums.shape[0] > 0:
        half = layer.to_voxel * direction * (0.5 * layer.step)
        front = row_place(layer, at - half)
        back = row_place(layer, at + half)
        if wp.abs(back - front) > NEAR:
            if sum_before(layer.sums, back)[3] == sum_before(layer.sums, front)[3]:
                return wp.vec4()
            return between(layer, front, back, edge_factor(layer, here, at))
    entry = classified(layer, value_in(here, at))
    if entry[3] <= 0.0:
        return wp.vec4()
    return thinned(entry, edge_factor(layer, here, at))


@wp.func
def add_step(gathered: Gathered, layer: Layer, here: Grid, direction: wp.vec3, at: wp.vec3, distance: wp.float32):
    """What add_sample does, for every kind of transfer function."""
    entry = classified_step(layer, here, direction, at)
    if entry[3] <= 0.0:
        return gathered
    base = wp.vec3(entry[0], entry[1], entry[2])
    return gather(gathered, shaded(layer, here, direction, at, base), entry[3], distance)


composite_classified = composite_with(add_step)
