"""Meshes and spheres on the way of light.

Here: the structs of both, the nearest of them along a ray, how much light passes them.
Not here: their trees (layers), what they do to light (scattering).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.rendering.kernels.meshes import smooth_normal
from pellucid.rendering.kernels.path_tracing.media import PathRay
from pellucid.rendering.kernels.rays import FAR
from pellucid.rendering.kernels.spheres.sphere_bvh import PixelRay, nearest_sphere, sphere_distance

wp.set_module_options({"fast_math": True})

MAX_LAYERS = wp.constant(64)
"""Translucent triangles that one ray passes, at the most."""
ASIDE = wp.constant(1.0e-5)
"""Of the way to a surface: what lies nearer behind it is the same surface."""


@wp.struct
class TracedMesh:
    """A mesh in the world. color: as light; is_lit: 0 where the colour is shown as it is."""

    mesh: wp.uint64
    normals: wp.array(dtype=wp.vec3)
    color: wp.vec3
    opacity: wp.float32
    is_lit: wp.int32


@wp.struct
class TracedSpheres:
    """Opaque spheres (x, y, z, radius) and their tree. colors, is_lit: as a mesh's."""

    tree: wp.uint64
    spheres: wp.array(dtype=wp.vec4)
    colors: wp.array(dtype=wp.vec3)
    is_lit: wp.int32


@wp.struct
class SurfaceHit:
    """The nearest surface along a ray: FAR where there is none. random: the state of chance."""

    distance: wp.float32
    normal: wp.vec3
    color: wp.vec3
    is_lit: wp.int32
    random: wp.uint32


@wp.func
def hit_mesh(mesh: TracedMesh, path: PathRay, nearest: SurfaceHit):
    """With a mesh's nearest triangle, if it is nearer; light passes translucent ones by chance."""
    near = path.near
    end = wp.min(path.far, nearest.distance)
    random = nearest.random
    count = wp.int32(0)
    while near < end and count < MAX_LAYERS:
        count += 1
        hit = wp.mesh_query_ray(mesh.mesh, path.eye + path.direction * near, path.direction, end - near)
        if not hit.result:
            near = end
        elif wp.randf(random) < mesh.opacity:
            nearest.distance = near + hit.t
            nearest.normal = smooth_normal(mesh.mesh, mesh.normals, hit)
            nearest.color = mesh.color
            nearest.is_lit = mesh.is_lit
            near = end
        else:
            near = (near + hit.t) * (1.0 + ASIDE) + ASIDE * hit.t
    nearest.random = random
    return nearest


@wp.func
def hit_spheres(cloud: TracedSpheres, path: PathRay, nearest: SurfaceHit):
    """With a cloud's nearest sphere, if it is nearer."""
    look = PixelRay()
    look.eye = path.eye
    look.direction = path.direction
    look.near = path.near
    look.far = wp.min(path.far, nearest.distance)
    found = nearest_sphere(cloud.tree, look, cloud.spheres)
    if found >= 0:
        sphere = cloud.spheres[found]
        nearest.distance = sphere_distance(look, sphere)
        at = path.eye + path.direction * nearest.distance
        nearest.normal = (at - wp.vec3(sphere[0], sphere[1], sphere[2])) / sphere[3]
        nearest.color = cloud.colors[found]
        nearest.is_lit = cloud.is_lit
    return nearest


@wp.func
def first_surface(
    meshes: wp.array(dtype=TracedMesh), clouds: wp.array(dtype=TracedSpheres), path: PathRay, random: wp.uint32
):
    """The nearest of all surfaces."""
    nearest = SurfaceHit()
    nearest.distance = FAR
    nearest.random = random
    for i in range(meshes.shape[0]):
        nearest = hit_mesh(meshes[i], path, nearest)
    for i in range(clouds.shape[0]):
        nearest = hit_spheres(clouds[i], path, nearest)
    return nearest
