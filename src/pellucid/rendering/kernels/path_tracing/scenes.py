"""What light meets on its way, whatever a scene is made of.

Here: scenes of any media and surfaces, and of one volume in a texture alone; what a path asks of either.
Not here: how they are walked through (media, texture_walk, surfaces), the path (the package itself).
"""

# mypy: ignore-errors
# ruff: noqa: F811
# Kernels are written in Warp's language, which a checker of Python's types cannot follow, and whose functions may share
# a name: the type of the scene says which one is meant.

import warp as wp

from pellucid.fields.kernels.label_sampling import label_gradient_in
from pellucid.fields.kernels.sampling import cell_at, gradient_in, locate
from pellucid.rendering.kernels.path_tracing.media import (
    Collision,
    MediumStruct,
    PathRay,
    first_collision,
    light_through,
)
from pellucid.rendering.kernels.path_tracing.surfaces import SurfaceHit, TracedMesh, TracedSpheres, first_surface
from pellucid.rendering.kernels.path_tracing.texture_walk import (
    TexturedMedium,
    collide_textured,
    passes_textured,
    slope_textured,
)
from pellucid.rendering.kernels.rays import FAR

wp.set_module_options({"fast_math": True})


@wp.struct
class TracedScene:
    """What light meets. media, meshes, clouds; planes: what they cut away meets nothing; sky: light from all around."""

    media: wp.array(dtype=MediumStruct)
    meshes: wp.array(dtype=TracedMesh)
    clouds: wp.array(dtype=TracedSpheres)
    planes: wp.array(dtype=wp.vec4)
    sky: wp.array2d(dtype=wp.vec3)


@wp.struct
class TexturedScene:
    """The same of one volume that is whole and in a texture, without labels or edges, where nothing else is."""

    only: TexturedMedium
    planes: wp.array(dtype=wp.vec4)
    sky: wp.array2d(dtype=wp.vec3)


@wp.func
def surface_met(scene: TracedScene, path: PathRay, random: wp.uint32):
    """The nearest surface along a ray."""
    return first_surface(scene.meshes, scene.clouds, path, random)


@wp.func
def surface_met(scene: TexturedScene, path: PathRay, random: wp.uint32):
    """None."""
    nearest = SurfaceHit()
    nearest.distance = FAR
    nearest.random = random
    return nearest


@wp.func
def collision_met(scene: TracedScene, path: PathRay, far: wp.float32, weight: wp.float32, random: wp.uint32):
    """Where a ray meets a medium; weight: how much the bricks along the ray are needed."""
    return first_collision(scene.media, path, far, weight, random)


@wp.func
def collision_met(scene: TexturedScene, path: PathRay, far: wp.float32, weight: wp.float32, random: wp.uint32):
    """The same, all of whose bricks are there."""
    return collide_textured(scene.only, path, far, random)


@wp.func
def light_left(scene: TracedScene, path: PathRay, weight: wp.float32, random: wp.uint32):
    """The share of light that passes through all media."""
    return light_through(scene.media, path, weight, random)


@wp.func
def light_left(scene: TexturedScene, path: PathRay, weight: wp.float32, random: wp.uint32):
    """The same through the only one."""
    return passes_textured(scene.only, path, random)


@wp.func
def firm_slope(scene: TracedScene, collision: Collision):
    """The gradient of the medium that was met, per world unit, in what makes it a surface; of labels, the label's."""
    medium = scene.media[collision.medium]
    here = locate(medium.field, cell_at(medium.field, collision.at), 0.0)
    if medium.is_labels != 0:
        slope = label_gradient_in(here, collision.at, collision.value)
        return wp.transpose(medium.to_voxel) * slope * medium.firmness
    return wp.transpose(medium.to_voxel) * gradient_in(here, collision.at) * medium.firmness


@wp.func
def firm_slope(scene: TexturedScene, collision: Collision):
    """The same of the only one."""
    return slope_textured(scene.only, collision.at) * scene.only.medium.firmness
