"""Spheres drawn by kernels: for every pixel the nearest one, found through a tree of boxes.

Here: the kernel.
Not here: walking through the tree (sphere_bvh), the tree and its arrays (spheres), the definition (reference.geometry).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.rendering.kernels.rays import LightStruct, ViewStruct
from pellucid.rendering.kernels.shading import lit_surface
from pellucid.rendering.kernels.spheres.sphere_bvh import nearest_sphere, pixel_ray, sphere_distance

wp.set_module_options({"fast_math": True})


@wp.kernel(enable_backward=False)
def draw_spheres(
    first: wp.int32,
    view: ViewStruct,
    light: LightStruct,
    is_lit: wp.int32,
    tree: wp.uint64,
    spheres: wp.array(dtype=wp.vec4),
    colors: wp.array(dtype=wp.vec3),
):
    """Into the view's scenery: spheres (x, y, z, radius) that are nearer than what is there."""
    row, column = wp.tid()
    row += first
    look = pixel_ray(view, row, column)
    found = nearest_sphere(tree, look, spheres)
    if found >= 0:
        sphere = spheres[found]
        nearest = sphere_distance(look, sphere)
        base = colors[found]
        if is_lit != 0:
            at = look.eye + look.direction * nearest
            normal = (at - wp.vec3(sphere[0], sphere[1], sphere[2])) / sphere[3]
            base = lit_surface(light, normal, look.direction, base, 1.0)
        view.scenery[row, column] = wp.vec4(base[0], base[1], base[2], 1.0)
        view.scenery_depth[row, column] = nearest
