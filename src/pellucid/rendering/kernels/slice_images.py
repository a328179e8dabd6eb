"""Images of slices drawn by kernels: values at the places of pixels, of several slices one value, through the colours.

Here: the kernels, for fields whose voxels are one array or texture and for those in bricks.
Not here: the definition (reference.slice_images), planes in the 3D image (kernels.slices).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.
# Without fast_math, which would take every number to be finite.

from typing import Any

import warp as wp

from pellucid.fields.kernels.label_sampling import label_in
from pellucid.fields.kernels.sampling import SWITCH, FieldStruct, Grid, cell_at, locate, table_row, value_in
from pellucid.fields.sizes import TEXTURED
from pellucid.rendering.kernels.pixels import as_byte

MEAN, MAXIMUM = wp.constant(0), wp.constant(1)
FIRST_TEXTURE = wp.constant(TEXTURED)


@wp.struct
class PlaneStruct:
    """The pixels of an image, in voxel coordinates. corner: the middle of the first one; across, down: to the next;
    through: from slice to slice. low, high: where the volume is. slices: how many, and projection, how they become one
    value; samples: along each edge of a pixel. is_nearest: voxels are not interpolated; is_labels: they are rows of the
    table. want_every: pixels from one that asks for its brick to the next, 0 where none does. is_over: another layer
    is below. value_low, value_scale: from a value to a row of the table."""

    corner: wp.vec3
    across: wp.vec3
    down: wp.vec3
    through: wp.vec3
    low: wp.vec3
    high: wp.vec3
    slices: wp.int32
    projection: wp.int32
    samples: wp.int32
    is_nearest: wp.int32
    is_labels: wp.int32
    want_every: wp.int32
    is_over: wp.int32
    value_low: wp.float32
    value_scale: wp.float32


@wp.func
def is_between(at: wp.vec3, low: wp.vec3, high: wp.vec3):
    is_above = at[0] >= low[0] and at[1] >= low[1] and at[2] >= low[2]
    return is_above and at[0] <= high[0] and at[1] <= high[1] and at[2] <= high[2]


@wp.func_native(
    """
    const long long x = wp::min(wp::max((int)floorf(at[0] + 0.5f), 0), grid.shape[0] - 1);
    const long long y = wp::min(wp::max((int)floorf(at[1] + 0.5f), 0), grid.shape[1] - 1);
    const long long z = wp::min(wp::max((int)floorf(at[2] + 0.5f), 0), grid.shape[2] - 1);
    const long long place = z * grid.plane + y * grid.row + x;
    auto body = [&](const auto* s) -> float { return (float)(s[place]); };
"""
    + SWITCH
)
def voxel_in(grid: Grid, at: wp.vec3) -> wp.float32:
    """The nearest voxel's value, where voxels are one array in memory."""
    return 0.0


@wp.func
def value_of(grid: Grid, plane: PlaneStruct, at: wp.vec3, weight: wp.float32):
    if plane.is_labels != 0:
        return label_in(grid, at)
    if plane.is_nearest == 0:
        return value_in(grid, at)
    if grid.kind < FIRST_TEXTURE:
        return voxel_in(grid, at)
    return value_in(grid, wp.vec3(wp.floor(at[0] + 0.5), wp.floor(at[1] + 0.5), wp.floor(at[2] + 0.5)))


@wp.func
def value_of(  # noqa: F811  Warp chooses by the type of the first argument.
    field: FieldStruct, plane: PlaneStruct, at: wp.vec3, weight: wp.float32
):
    here = locate(field, cell_at(field, at), weight)
    if plane.is_labels != 0:
        return label_in(here, at)
    if plane.is_nearest != 0:
        return value_in(here, wp.vec3(wp.floor(at[0] + 0.5), wp.floor(at[1] + 0.5), wp.floor(at[2] + 0.5)))
    return value_in(here, at)


@wp.func
def pixel_value(field: Any, plane: PlaneStruct, at: wp.vec3, weight: wp.float32):
    """The mean of the samples in a pixel of one slice; NaN where none has a value."""
    if plane.samples == 1:
        if is_between(at, plane.low, plane.high):
            return value_of(field, plane, at, weight)
        return wp.nan
    total, count = wp.float32(0.0), wp.float32(0.0)
    step = 1.0 / wp.float32(plane.samples)
    for j in range(plane.samples):
        for i in range(plane.samples):
            beside = plane.across * ((wp.float32(i) + 0.5) * step - 0.5)
            sample = at + beside + plane.down * ((wp.float32(j) + 0.5) * step - 0.5)
            if is_between(sample, plane.low, plane.high):
                value = value_of(field, plane, sample, weight)
                if not wp.isnan(value):
                    total += value
                    count += 1.0
    return total / count


@wp.func
def slab_value(field: Any, plane: PlaneStruct, at: wp.vec3, weight: wp.float32):
    """What the slices of a slab have together; NaN where none has a value."""
    if plane.slices == 1:
        return pixel_value(field, plane, at, weight)
    total, count, best = wp.float32(0.0), wp.float32(0.0), wp.float32(0.0)
    for k in range(plane.slices):
        value = pixel_value(field, plane, at + plane.through * wp.float32(k - plane.slices // 2), weight)
        if not wp.isnan(value):
            is_better = value < best
            if plane.projection == MAXIMUM:
                is_better = value > best
            if is_better or count == 0.0:
                best = value
            total += value
            count += 1.0
    if plane.projection == MEAN or count == 0.0:
        return total / count
    return best


@wp.func
def blended(entry: wp.vec4, opacity: wp.float32, behind: wp.vec4ub):
    rest = (1.0 - opacity) / 255.0
    red = as_byte(entry[0] * opacity + rest * wp.float32(behind[0]))
    green = as_byte(entry[1] * opacity + rest * wp.float32(behind[1]))
    return wp.vec4ub(red, green, as_byte(entry[2] * opacity + rest * wp.float32(behind[2])), wp.uint8(255))


@wp.func
def draw_pixel(
    field: Any,
    table: wp.array(dtype=wp.vec4),
    plane: PlaneStruct,
    row: wp.int32,
    column: wp.int32,
    image: wp.array2d(dtype=wp.vec4ub),
):
    """The first layer is opaque where its volume is; those over it as opaque as their labels are."""
    at = plane.corner + plane.across * wp.float32(column) + plane.down * wp.float32(row)
    if is_between(at, plane.low, plane.high):
        weight = wp.float32(0.0)
        if plane.want_every > 0 and row % plane.want_every == 0 and column % plane.want_every == 0:
            weight = wp.float32(1.0)
        value = slab_value(field, plane, at, weight)
        entry = table[table_row(value, plane.value_low, plane.value_scale, table.shape[0])]
        opacity = entry[3]
        if plane.is_over == 0 and plane.is_labels == 0:
            opacity = 1.0
        image[row, column] = blended(entry, opacity, image[row, column])


@wp.kernel(enable_backward=False)
def draw_whole(
    first: wp.int32,
    grid: Grid,
    table: wp.array(dtype=wp.vec4),
    plane: PlaneStruct,
    image: wp.array2d(dtype=wp.vec4ub),
):
    """Of a field whose voxels are one array or texture."""
    row, column = wp.tid()
    draw_pixel(grid, table, plane, row + first, column, image)


@wp.kernel(enable_backward=False)
def draw_bricks(
    first: wp.int32,
    field: FieldStruct,
    table: wp.array(dtype=wp.vec4),
    plane: PlaneStruct,
    image: wp.array2d(dtype=wp.vec4ub),
):
    """Of a field in bricks, as fine as they are there."""
    row, column = wp.tid()
    draw_pixel(field, table, plane, row + first, column, image)
