"""How much light reaches a point through the volume around it.

Here: following light from where a ray sees something, and for how long what was found holds.
Not here: the numbers (drawing.light_rays), what light does to a colour (shading).
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.sampling import gradient_in, locate, table_row, value_in
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
            at = place(ray, step, k)
            opacity = table[table_row(value_in(here, at), layer.light_rays.low, layer.light_rays.scale, table.shape[0])]
            if opacity > 0.0 and layer.edges.shape[0] > 0:
                length = wp.length(wp.transpose(layer.to_voxel) * gradient_in(here, at))
                row = table_row(length, layer.edge_low, layer.edge_scale, layer.edges.shape[0])
                opacity = thinned(opacity, layer.edges, row)
            light *= 1.0 - opacity
            k += 1
    return light


@wp.func
def find_light(layer: LayerStruct, direction: wp.vec3, at: wp.vec3, weight: wp.float32):
    """The light on a sample. direction: of the ray; weight: of the sample in its pixel."""
    to_eye = -layer.to_voxel * direction * layer.voxel
    start = at + to_eye * BEFORE
    found = FoundLight(1.0, 1.0, 0.0)
    wanted = layer.light_rays.asking * weight
    if layer.shading != OCCLUSION:
        found.shadow = passes(layer, start, layer.light_rays.towards, 1.0, FAR, layer.light_rays.shadow_table, wanted)
    if layer.shading != SHADOW:
        step = layer.light_rays.sky_step
        reach = (STEPS + 1.0) * step
        open = passes(layer, start, to_eye, step, reach, layer.light_rays.sky_table, wanted)
        total = wp.float32(0.0)
        for i in range(layer.light_rays.around.shape[0]):
            total += passes(layer, start, layer.light_rays.around[i], step, reach, layer.light_rays.sky_table, wanted)
        found.sky = wp.min(SKY * total / (wp.float32(layer.light_rays.around.shape[0]) * wp.max(open, MIN_OPEN)), 1.0)
    return found
