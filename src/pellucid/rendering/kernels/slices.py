"""Slices drawn by kernels: the value of a volume where a plane cuts it, through the colours.

Here: the kernel.
Not here: the definition (reference.slices), reading voxels (fields.kernels.sampling), what lies along a ray with it
(surfaces).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.sampling import cell_at, locate
from pellucid.rendering.kernels.accumulation import classified, sampled
from pellucid.rendering.kernels.rays import LayerStruct, ViewStruct
from pellucid.rendering.kernels.spheres.sphere_bvh import pixel_ray
from pellucid.rendering.kernels.surfaces import add_surface

wp.set_module_options({"fast_math": True})


@wp.func
def is_inside(at: wp.vec3, low: wp.vec3, high: wp.vec3):
    inside = True
    for axis in range(3):
        if at[axis] < low[axis] or at[axis] > high[axis]:
            inside = False
    return inside


@wp.kernel(enable_backward=False)
def draw_slice(
    first: wp.int32,
    view: ViewStruct,
    layer: LayerStruct,
    point: wp.vec3,
    normal: wp.vec3,
    opacity: wp.float32,
    is_solid: wp.int32,
):
    """Where the plane is nearer than opaque scenery, or at the same place."""
    row, column = wp.tid()
    row += first
    look = pixel_ray(view, row, column)
    along = wp.dot(look.direction, normal)
    if wp.abs(along) < 1.0e-9:
        return
    distance = wp.dot(point - look.eye, normal) / along
    if distance < look.near or distance > look.far:
        return
    at = layer.to_voxel * (look.eye + look.direction * distance) + layer.shift
    if not is_inside(at, layer.low, layer.high):
        return
    here = locate(layer.field, cell_at(layer.field, at), 1.0)
    entry = classified(layer, sampled(layer, here, at))
    if is_solid == 0 and entry[3] <= 0.0:
        return
    if layer.is_labels != 0:
        opacity *= entry[3]
    add_surface(view, row, column, distance, wp.vec3(entry[0], entry[1], entry[2]), opacity)
