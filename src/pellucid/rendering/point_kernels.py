"""Spheres drawn by kernels: for every pixel the nearest one, found through a tree of boxes.

Here: the kernel, and where a ray meets a sphere.
Not here: the tree and its arrays (points), the definition (reference_geometry).
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.rendering.lighting import lit_surface
from pellucid.rendering.rays import FAR, Light, View, through_planes

wp.set_module_options({"fast_math": True})


@wp.struct
class Look:
    """A pixel's ray in the world, unit length, and the part of it that is drawn."""

    eye: wp.vec3
    direction: wp.vec3
    near: wp.float32
    far: wp.float32


@wp.func
def look_through(view: View, row: wp.int32, column: wp.int32):
    """The ray of a pixel, up to what is drawn there already."""
    look = Look()
    through = view.corner + view.across * wp.float32(column) + view.down * wp.float32(row)
    look.eye = view.eye
    look.direction = view.forward
    if view.is_perspective != 0:
        look.direction = wp.normalize(through)
    else:
        look.eye = through
    span = through_planes(view.planes, look.eye, look.direction, wp.vec2(0.0, view.scenery_depth[row, column]))
    look.near = span[0]
    look.far = span[1]
    return look


@wp.func
def meets_sphere(look: Look, sphere: wp.vec4):
    """The distance at which a ray enters a sphere or, from within it, leaves it; FAR where it does neither."""
    to_centre = wp.vec3(sphere[0], sphere[1], sphere[2]) - look.eye
    along = wp.dot(to_centre, look.direction)
    aside = to_centre - look.direction * along
    inside = sphere[3] * sphere[3] - wp.dot(aside, aside)
    if inside < 0.0:
        return FAR
    half = wp.sqrt(inside)
    if along - half >= look.near:
        return along - half
    return wp.where(along + half >= look.near, along + half, FAR)


@wp.kernel(enable_backward=False)
def draw_spheres(
    first: wp.int32,
    view: View,
    light: Light,
    is_lit: wp.int32,
    tree: wp.uint64,
    spheres: wp.array(dtype=wp.vec4),
    colors: wp.array(dtype=wp.vec3),
):
    """Into the view's scenery: spheres (x, y, z, radius) that are nearer than what is there."""
    row, column = wp.tid()
    row += first
    look = look_through(view, row, column)
    nearest = look.far
    found = wp.int32(-1)
    candidate = wp.int32(0)
    query = wp.bvh_query_ray(tree, look.eye, look.direction)
    while wp.bvh_query_next(query, candidate, nearest):
        distance = meets_sphere(look, spheres[candidate])
        if distance < nearest:
            nearest = distance
            found = candidate
    if found >= 0:
        sphere = spheres[found]
        base = colors[found]
        if is_lit != 0:
            at = look.eye + look.direction * nearest
            normal = (at - wp.vec3(sphere[0], sphere[1], sphere[2])) / sphere[3]
            base = lit_surface(light, normal, look.direction, base)
        view.scenery[row, column] = wp.vec4(base[0], base[1], base[2], 1.0)
        view.scenery_depth[row, column] = nearest
