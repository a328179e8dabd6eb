"""Surfaces of equal value, met by rays.

Here: the kernel, and finding where exactly a ray meets a surface.
Not here: surfaces as meshes (geometry.isosurfaces), light (shading).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.sampling import FieldStruct, cell_at, exactly, locate, value_in
from pellucid.rendering.kernels.accumulation import OPAQUE, Accumulated, accumulate, over_opaque, seen_before
from pellucid.rendering.kernels.rays import LayerStruct, Ray, ViewStruct, cell_of, first_beyond, make_ray, place
from pellucid.rendering.kernels.shading import light_on, shaded
from pellucid.rendering.kernels.surfaces import meet_surfaces

wp.set_module_options({"fast_math": True})


@wp.func
def seen_at(field: FieldStruct, at: wp.vec3):
    """The value at a point that a ray sees, which may lie in any cell."""
    return value_in(locate(field, cell_at(field, at), 1.0), at)


@wp.func
def exactly_at(field: FieldStruct, at: wp.vec3):
    """The same, exact also where the voxels are a texture."""
    return value_in(exactly(locate(field, cell_at(field, at), 1.0)), at)


@wp.func
def refine(field: FieldStruct, ray: Ray, near: wp.float32, far: wp.float32, level: wp.float32, is_above: wp.bool):
    """Eight halvings between two samples: where the value passes the level, to 1/256 of a step.

    is_above: whether the far one reaches it, as those who found it between them saw them.
    """
    for _halving in range(8):
        middle = 0.5 * (near + far)
        if (exactly_at(field, ray.origin + ray.speed * middle) >= level) == is_above:
            far = middle
        else:
            near = middle
    return 0.5 * (near + far)


@wp.func
def add_surfaces(
    gathered: Accumulated,
    view: ViewStruct,
    layer: LayerStruct,
    ray: Ray,
    pixel: wp.vec2i,
    passed: wp.int32,
    k: wp.int32,
    levels: wp.array(dtype=wp.float32),
    colors: wp.array(dtype=wp.vec4),
    before: wp.float32,
    value: wp.float32,
):
    """The surfaces of equal value between sample k - 1 and sample k, and those of the scene before each of them."""
    far = (wp.float32(k) + ray.jitter) * view.step
    for i in range(levels.shape[0]):
        # A ray that climbs meets the low surfaces first, one that descends the high ones.
        which = wp.where(value < before, levels.shape[0] - 1 - i, i)
        level = levels[which]
        # In so many words: where a value is NaN, there is no surface.
        if (before < level and value >= level) or (before >= level and value < level):
            exact = refine(layer.field, ray, far - view.step, far, level, value >= level)
            base = wp.vec3(colors[which][0], colors[which][1], colors[which][2])
            at = ray.origin + ray.speed * exact
            gathered, passed = meet_surfaces(gathered, view, pixel[0], pixel[1], passed, exact)
            here = exactly(locate(layer.field, cell_at(layer.field, at), 1.0))
            gathered.light = light_on(gathered.light, layer, ray.direction, at, 1.0)
            color = shaded(layer, here, ray.direction, at, base, gathered.light)
            gathered = accumulate(gathered, color, colors[which][3], exact)
    return gathered, passed


@wp.kernel(enable_backward=False)
def isosurface(
    first: wp.int32,
    view: ViewStruct,
    layer: LayerStruct,
    levels: wp.array(dtype=wp.float32),
    colors: wp.array(dtype=wp.vec4),
    color: wp.array2d(dtype=wp.vec4),
    depth: wp.array2d(dtype=wp.float32),
):
    """Surfaces where the value passes one of the levels (ascending), refined between samples, lit."""
    row, column = wp.tid()
    row += first
    ray = make_ray(view, layer, row, column)
    gathered = seen_before(view, row, column)
    passed = wp.int32(0)
    k = ray.k_first
    while k <= ray.k_last and gathered.opacity < OPAQUE:
        cell = cell_of(place(ray, view.step, k), layer.vacancy)
        vacancy = wp.int32(layer.vacancy[cell[2], cell[1], cell[0]])
        k_next = first_beyond(ray, view.step, k, cell, vacancy)
        if vacancy > 0:
            k = k_next
            continue
        before = seen_at(layer.field, place(ray, view.step, wp.max(k - 1, ray.k_enter)))
        here = locate(layer.field, cell, wp.float32(k_next - k) * (1.0 - gathered.opacity))
        while k < k_next and gathered.opacity < OPAQUE:
            value = value_in(here, place(ray, view.step, k))
            gathered, passed = add_surfaces(
                gathered, view, layer, ray, wp.vec2i(row, column), passed, k, levels, colors, before, value
            )
            before = value
            k += 1
    gathered, passed = meet_surfaces(gathered, view, row, column, passed, ray.end)
    color[row, column] = over_opaque(gathered, view.scenery[row, column])
    depth[row, column] = wp.min(gathered.depth, ray.end)
