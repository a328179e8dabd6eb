"""How much light reaches a point through the volume around it.

Here: following light from where a ray sees something, and for how long what was found holds.
Not here: the numbers (drawing.light_rays), what light does to a colour (shading).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.sampling import Grid, gradient_in, locate, table_row, value_in
from pellucid.rendering.drawing import light_rays
from pellucid.rendering.kernels.rays import (
    FAR,
    SHADINGS,
    LayerStruct,
    Ray,
    ViewStruct,
    cell_of,
    first_beyond,
    place,
    through_planes,
)

wp.set_module_options({"fast_math": True})

BEFORE = wp.constant(light_rays.BEFORE)
MIN_OPEN = wp.constant(light_rays.MIN_OPEN)
FIRST = wp.constant(light_rays.FIRST)
STEPS = wp.constant(float(light_rays.SKY_STEPS))
DARK = wp.constant(light_rays.DARK)
SKY = wp.constant(light_rays.OPEN_SKY)
MANY = wp.constant(1.0e9)
SHADOW = wp.constant(SHADINGS["shadow"])
OCCLUSION = wp.constant(SHADINGS["occlusion"])


@wp.struct
class FoundLight:
    """What reaches a sample: shadow: of one light; sky: of the light from all around. spent: how much of the pixel was
    lit by it since."""

    shadow: wp.float32
    sky: wp.float32
    spent: wp.float32


@wp.func
def no_light():
    """Nothing was found yet."""
    return FoundLight(1.0, 1.0, 1.0)


@wp.func
def light_before(view: ViewStruct, row: wp.int32, column: wp.int32):
    """What a ray found in the part of the world before this one."""
    if view.light.shape[0] > 0:
        light = view.light[row, column]
        return FoundLight(light[0], light[1], light[2])
    return no_light()


@wp.func
def keep_light(view: ViewStruct, row: wp.int32, column: wp.int32, found: FoundLight):
    """For the part after this one."""
    if view.light.shape[0] > 0:
        view.light[row, column] = wp.vec3(found.shadow, found.sky, found.spent)


@wp.func
def thinned(opacity: wp.float32, edges: wp.array(dtype=wp.float32), row: wp.int32):
    """The opacity of what the gradient leaves of a material."""
    factor = edges[row]
    return wp.where(factor > 0.0, 1.0 - wp.pow(1.0 - opacity, factor), 0.0)


@wp.func
def light_ray(layer: LayerStruct, start: wp.vec3, towards: wp.vec3, step: wp.float32, reach: wp.float32):
    """A ray in voxel coordinates: its samples lie inside the volume, where nothing cuts it away, and within reach."""
    ray = Ray()
    ray.origin = start
    ray.speed = towards
    ray.jitter = FIRST
    span = through_planes(layer.light_rays.cuts, start, towards, wp.vec2(0.0, reach))
    near = span[0]
    far = span[1]
    for axis in range(3):
        if wp.abs(towards[axis]) > 1.0e-12:
            a = (layer.low[axis] - start[axis]) / towards[axis]
            b = (layer.high[axis] - start[axis]) / towards[axis]
            near = wp.max(near, wp.min(a, b))
            far = wp.min(far, wp.max(a, b))
        elif start[axis] < layer.low[axis] or start[axis] > layer.high[axis]:
            far = -1.0
    ray.k_first = wp.max(wp.int32(wp.ceil(wp.min(near / step - FIRST, 1.0e9))), 0)
    ray.k_last = wp.int32(wp.floor(wp.min(far / step - FIRST, 1.0e9)))
    return ray


@wp.func
def taken_at(layer: LayerStruct, here: Grid, at: wp.vec3, table: wp.array(dtype=wp.float32)):
    """What a step takes of the light at a point of a grid."""
    opacity = table[table_row(value_in(here, at), layer.light_rays.low, layer.light_rays.scale, table.shape[0])]
    if opacity > 0.0 and layer.edges.shape[0] > 0:
        length = wp.length(wp.transpose(layer.to_voxel) * gradient_in(here, at))
        row = table_row(length, layer.edge_low, layer.edge_scale, layer.edges.shape[0])
        opacity = thinned(opacity, layer.edges, row)
    return opacity


@wp.func
def passes(
    layer: LayerStruct,
    start: wp.vec3,
    towards: wp.vec3,
    step: wp.float32,
    reach: wp.float32,
    table: wp.array(dtype=wp.float32),
    wanted: wp.float32,
):
    """The part of the light that reaches a point along a ray. wanted: how much the bricks on it are."""
    ray = light_ray(layer, start, towards, step, reach)
    light = wp.float32(1.0)
    k = ray.k_first
    while k <= ray.k_last and light > DARK:
        cell = cell_of(place(ray, step, k), layer.light_rays.vacancy)
        vacancy = wp.int32(layer.light_rays.vacancy[cell[2], cell[1], cell[0]])
        k_next = first_beyond(ray, step, k, cell, vacancy)
        if vacancy > 0:
            k = k_next
            continue
        here = locate(layer.field, cell, wanted * light)
        while k < k_next and light > DARK:
            light *= 1.0 - taken_at(layer, here, place(ray, step, k), table)
            k += 1
    return light


@wp.func
def passes_until(layer: LayerStruct, start: wp.vec3, reach: wp.float32, wanted: wp.float32):
    """The part of the one light that reaches a point from within so many voxels, to a fraction of one."""
    rays = layer.light_rays
    count = wp.max(wp.floor(reach - FIRST + 0.5), 0.0)
    light = passes(layer, start, rays.towards, 1.0, FIRST + count - 0.75, rays.shadow_table, wanted)
    rest = reach - FIRST + 0.5 - count
    if rest > 0.0 and count < MANY:
        ray = light_ray(layer, start, rays.towards, 1.0, FIRST + count + 0.25)
        k = wp.int32(count)
        if ray.k_first <= k and ray.k_last >= k:
            at = place(ray, 1.0, k)
            here = locate(layer.field, cell_of(at, rays.vacancy), wanted * light)
            light *= wp.pow(1.0 - taken_at(layer, here, at, rays.shadow_table), rest)
    return light


@wp.func
def main_axis(towards: wp.vec3):
    """Along which the light comes most of all: lines to it cross planes across this axis."""
    axis = wp.where(wp.abs(towards[1]) > wp.abs(towards[0]), 1, 0)
    return wp.where(wp.abs(towards[2]) > wp.abs(towards[axis]), 2, axis)


@wp.func
def line_through(at: wp.vec3, towards: wp.vec3):
    """Where the line to the light through a point crosses the plane through the origin, along the other two axes."""
    axis = main_axis(towards)
    crossing = at - towards * (at[axis] / towards[axis])
    return wp.vec2(crossing[wp.where(axis == 0, 1, 0)], crossing[wp.where(axis == 2, 1, 2)])


@wp.func
def light_from_beyond(layer: LayerStruct, at: wp.vec3):
    """What the other parts of the volume leave of the light along the line through a point."""
    rays = layer.light_rays
    line = line_through(at, rays.towards) - rays.beyond_first
    x = wp.clamp(line[0], 0.0, wp.float32(rays.beyond.shape[1] - 1))
    y = wp.clamp(line[1], 0.0, wp.float32(rays.beyond.shape[0] - 1))
    column = wp.int32(x)
    row = wp.int32(y)
    right = wp.min(column + 1, rays.beyond.shape[1] - 1)
    below = wp.min(row + 1, rays.beyond.shape[0] - 1)
    upper = wp.lerp(rays.beyond[row, column], rays.beyond[row, right], x - wp.float32(column))
    lower = wp.lerp(rays.beyond[below, column], rays.beyond[below, right], x - wp.float32(column))
    return wp.lerp(upper, lower, y - wp.float32(row))


@wp.func
def leaves_part(layer: LayerStruct, start: wp.vec3):
    """How far it is from a point to where its way to the light leaves the part."""
    rays = layer.light_rays
    reach = wp.float32(FAR)
    for axis in range(3):
        if rays.towards[axis] > 1.0e-12:
            reach = wp.min(reach, (rays.part_high[axis] - start[axis]) / rays.towards[axis])
        elif rays.towards[axis] < -1.0e-12:
            reach = wp.min(reach, (rays.part_low[axis] - start[axis]) / rays.towards[axis])
    return reach


@wp.func
def light_of_all(layer: LayerStruct, start: wp.vec3, wanted: wp.float32):
    """The part of the one light that reaches a point through the whole volume."""
    reach = wp.float32(FAR)
    is_part = layer.light_rays.beyond.shape[0] > 0
    if is_part:
        reach = leaves_part(layer, start)
    light = passes_until(layer, start, reach, wanted)
    if is_part and reach < MANY:
        light *= light_from_beyond(layer, start)
    return light


@wp.func
def find_light(layer: LayerStruct, direction: wp.vec3, at: wp.vec3, weight: wp.float32):
    """The light on a sample. direction: of the ray; weight: of the sample in its pixel."""
    to_eye = -layer.to_voxel * direction * layer.voxel
    start = at + to_eye * BEFORE
    found = FoundLight(1.0, 1.0, 0.0)
    wanted = layer.light_rays.asking * weight
    if layer.shading != OCCLUSION:
        found.shadow = light_of_all(layer, start, wanted)
    if layer.shading != SHADOW:
        step = layer.light_rays.sky_step
        reach = (STEPS + 1.0) * step
        open = passes(layer, start, to_eye, step, reach, layer.light_rays.sky_table, wanted)
        total = wp.float32(0.0)
        for i in range(layer.light_rays.around.shape[0]):
            total += passes(layer, start, layer.light_rays.around[i], step, reach, layer.light_rays.sky_table, wanted)
        found.sky = wp.min(SKY * total / (wp.float32(layer.light_rays.around.shape[0]) * wp.max(open, MIN_OPEN)), 1.0)
    return found
