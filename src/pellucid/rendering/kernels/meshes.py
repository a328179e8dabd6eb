"""Meshes drawn by kernels: for every pixel the nearest triangle, with normals that turn smoothly over it.

Here: the kernel.
Not here: the mesh on the device (meshes), rays and light (sphere_bvh, shading).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.rendering.kernels.accumulation import OPAQUE
from pellucid.rendering.kernels.rays import LightStruct, ViewStruct
from pellucid.rendering.kernels.shading import lit_surface
from pellucid.rendering.kernels.spheres.sphere_bvh import pixel_ray
from pellucid.rendering.kernels.surfaces import add_surface
from pellucid.rendering.reference.surfaces import CLOSEST

wp.set_module_options({"fast_math": True})

BEYOND = wp.constant(1.0 + CLOSEST)


@wp.func
def smooth_normal(mesh: wp.uint64, normals: wp.array(dtype=wp.vec3), hit: wp.MeshQueryRay):
    """Between the normals of a triangle's corners; the triangle's own where they cancel out."""
    a = normals[wp.mesh_get_index(mesh, 3 * hit.face)]
    b = normals[wp.mesh_get_index(mesh, 3 * hit.face + 1)]
    c = normals[wp.mesh_get_index(mesh, 3 * hit.face + 2)]
    mixed = a * hit.u + b * hit.v + c * (1.0 - hit.u - hit.v)
    length = wp.length(mixed)
    if length < 1.0e-6:
        return hit.normal
    return mixed / length


@wp.kernel(enable_backward=False)
def draw_mesh(
    first: wp.int32,
    view: ViewStruct,
    light: LightStruct,
    is_lit: wp.int32,
    mesh: wp.uint64,
    normals: wp.array(dtype=wp.vec3),
    base: wp.vec3,
    opacity: wp.float32,
):
    """Into the view's scenery: triangles that are nearer than what is there; where they are seen through, several."""
    row, column = wp.tid()
    row += first
    look = pixel_ray(view, row, column)
    near = look.near
    left = wp.where(opacity >= OPAQUE, 1, view.surface_depths.shape[2])
    while left > 0 and look.far > near:
        hit = wp.mesh_query_ray(mesh, look.eye + look.direction * near, look.direction, look.far - near)
        left -= 1
        if hit.result:
            color = base
            if is_lit != 0:
                color = lit_surface(light, smooth_normal(mesh, normals, hit), look.direction, base, 1.0)
            add_surface(view, row, column, near + hit.t, color, opacity)
            near = (near + hit.t) * BEYOND
        else:
            left = 0
