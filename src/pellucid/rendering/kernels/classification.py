"""One volume with a transfer function over value and gradient, or with pre-integration.

Here: the colour and opacity of a step by values and gradient, and the kernel that draws with them.
Not here: one value, one row of the table (accumulation), the definition (reference.classification).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

from typing import Any

import warp as wp

from pellucid.fields.kernels.sampling import Grid, gradient_in, sample, table_row, value_in
from pellucid.rendering.kernels.accumulation import Accumulated, accumulate
from pellucid.rendering.kernels.composite import composite_with
from pellucid.rendering.kernels.light_rays import FoundLight, thinned
from pellucid.rendering.kernels.rays import SHADINGS, LayerStruct
from pellucid.rendering.kernels.shading import light_on, shaded_along
from pellucid.rendering.reference.classification import NEAR_ROWS, PARTS, REACH_ROWS

NEAR = wp.constant(wp.float64(NEAR_ROWS))
REACH = wp.constant(wp.float64(REACH_ROWS))
UNLIT = wp.constant(SHADINGS["none"])
COUNT = wp.constant(PARTS)
SHARE = wp.constant(wp.float64(1 / PARTS))


@wp.func
def row_place(value: wp.float32, low: wp.float32, scale: wp.float32):
    """Where a value lies among the rows of the table; row i reaches from i to i + 1."""
    place = wp.float64((value - low) * scale) + wp.float64(0.5)
    place = wp.where(place > -REACH, place, wp.float64(0.0))  # also where it is not a number
    return wp.min(place, REACH)


@wp.func
def sum_before(sums: wp.array(dtype=wp.vec4d), place: wp.float64):
    """The rows before a place, summed; beyond the table its first and last row go on."""
    row = wp.clamp(wp.int32(place), 0, sums.shape[0] - 2)
    return sums[row] + (sums[row + 1] - sums[row]) * (place - wp.float64(row))


@wp.func
def between(sums: wp.array(dtype=wp.vec4d), front: wp.float64, back: wp.float64):
    """Colour and opacity of a step in which the value goes evenly from one place of the table to another."""
    way = (back - front) * SHARE
    color = wp.vec3()
    light = wp.float32(1.0)
    place = front
    before = sum_before(sums, front)
    part = wp.int32(0)
    while part < COUNT:  # A "for" would be written out, and the function be too large to become part of the loop.
        place += way
        after = sum_before(sums, place)
        mean = (after - before) / way
        before = after
        if mean[3] > wp.float64(0.0):
            taken = light * (1.0 - wp.exp(-wp.float32(mean[3] * SHARE)))
            tint = wp.vec3(wp.float32(mean[0]), wp.float32(mean[1]), wp.float32(mean[2])) / wp.float32(mean[3])
            color += tint * taken
            light -= taken
        part += 1
    color = color / wp.max(1.0 - light, 1.0e-12)
    return wp.vec4(color[0], color[1], color[2], 1.0 - light)


def step_colored_by(color_of: Any) -> Any:
    """What add_sample does, for every kind of transfer function, with the function that colours it compiled into it.

    color_of(layer, slope, direction, at, value, base, found) -> colour in the light; slope: the gradient in voxels;
    found: the light on the sample. Voxels are read in as few places as can be: else this becomes no part of the loop,
    and the layer is copied for every sample.
    """

    @wp.func
    def add(
        gathered: Accumulated, layer: LayerStruct, here: Grid, direction: wp.vec3, at: wp.vec3, distance: wp.float32
    ):
        way = layer.to_voxel * direction * layer.step
        spot = at
        ends = wp.int32(1)
        if layer.sums.shape[0] > 0:
            spot = at - 0.5 * way
            ends = 2
        front = wp.float32(0.0)
        value = wp.float32(0.0)
        end = wp.int32(0)
        while end < ends:
            front = value
            if layer.is_step_long != 0:  # noqa: SIM108 - Warp would work both out.
                value = sample(layer.field, spot)
            else:
                value = value_in(here, spot)
            spot += way
            end += 1
        first_row = row_place(front, layer.value_low, layer.value_scale)
        last_row = row_place(value, layer.value_low, layer.value_scale)
        value = wp.where(ends == 2, 0.5 * (front + value), value)
        entry = layer.table[table_row(value, layer.value_low, layer.value_scale, layer.table.shape[0])]
        if ends == 2 and wp.abs(last_row - first_row) > NEAR:
            entry = between(layer.sums, first_row, last_row)
        if entry[3] <= 0.0:
            return gathered
        slope, opacity = wp.vec3(), entry[3]
        if layer.edges.shape[0] > 0 or layer.shading != UNLIT:
            slope = gradient_in(here, at)
        if layer.edges.shape[0] > 0:
            length = wp.length(wp.transpose(layer.to_voxel) * slope)
            row = table_row(length, layer.edge_low, layer.edge_scale, layer.edges.shape[0])
            opacity = thinned(opacity, layer.edges, row)
        gathered.light = light_on(gathered.light, layer, direction, at, opacity * (1.0 - gathered.opacity))
        base = wp.vec3(entry[0], entry[1], entry[2])
        color = color_of(layer, slope, direction, at, value, base, gathered.light)
        return accumulate(gathered, color, opacity, distance)

    return add


@wp.func
def in_the_light(
    layer: LayerStruct,
    slope: wp.vec3,
    direction: wp.vec3,
    at: wp.vec3,
    value: wp.float32,
    base: wp.vec3,
    found: FoundLight,
):
    """What shading.shaded gives."""
    return shaded_along(layer, slope, direction, base, found)


add_step = step_colored_by(in_the_light)
composite_classified = composite_with(add_step)
