"""Paths of light through a scene, followed backwards from the eye by chance, and their mean.

Here: the kernel that follows them: camera with an aperture, collisions, lamps, environment.
Not here: walking through media (media), scattering, surfaces, the mean without noise (denoising).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

from typing import Any

import warp as wp

from pellucid.rendering.kernels.path_tracing.denoising import begin_filter, filter_once, finish_filter, light_shown_as
from pellucid.rendering.kernels.path_tracing.media import PathRay, clipped, find_majorants
from pellucid.rendering.kernels.path_tracing.scattering import (
    PI,
    Scattering,
    SurfaceStruct,
    around,
    environment_light,
    leave_surface,
    phase,
    phase_cosine,
    surface_share,
)
from pellucid.rendering.kernels.path_tracing.scenes import (
    TracedScene,
    collision_met,
    firm_slope,
    light_left,
    surface_met,
)
from pellucid.rendering.kernels.rays import FAR, ViewStruct

__all__ = ["TracedScene", "begin_filter", "filter_once", "find_majorants", "finish_filter", "trace"]

wp.set_module_options({"fast_math": True})

WANTED = wp.constant(1.0e-3)
"""How much a brick is wanted that only scattered light passes."""
CERTAIN = wp.constant(3)
"""Collisions after which a path goes on by chance, the less likely the less light it carries."""


@wp.struct
class TraceOptions:
    """first_sample, samples: which of each pixel's paths are followed; seed: of chance. most: collisions of a path.

    surface: how far a gradient makes a surface, 0 to 1; anisotropy: of the phase function. lens: radius of the
    aperture in world units; focus: distance that is sharp, over that of the target. towards: unit vector to the lamp;
    cone: cosine of half the angle that it is seen under; lamp: its light. sky_frame: from the world to the environment;
    strength: of its light. exposure: of the image. nearest: world units that a path starts before a surface.
    """

    first_sample: wp.int32
    samples: wp.int32
    seed: wp.int32
    most: wp.int32
    surface: wp.float32
    coat: SurfaceStruct
    anisotropy: wp.float32
    lens: wp.float32
    focus: wp.float32
    towards: wp.vec3
    cone: wp.float32
    lamp: wp.vec3
    sky_frame: wp.mat33
    strength: wp.float32
    exposure: wp.float32
    nearest: wp.float32


@wp.struct
class Vertex:
    """Where a path has come to. kind: 0 nothing, 1 a medium, 2 a surface, 3 what is shown as it is. random: the state
    of chance."""

    distance: wp.float32
    kind: wp.int32
    place: wp.vec3
    normal: wp.vec3
    color: wp.vec3
    random: wp.uint32


@wp.struct
class Going:
    """A path on its way. carried: what it takes of light that it meets; light: what it has met; count: collisions;
    random: as above."""

    path: PathRay
    carried: wp.vec3
    light: wp.vec3
    count: wp.int32
    random: wp.uint32


@wp.struct
class Setting:
    """How a path begins. slice: colour and distance of what hides all behind it; random: as above."""

    path: PathRay
    slice: wp.vec4
    random: wp.uint32


@wp.struct
class PathLight:
    """What a path brings to the eye. kind: what it met first; distance, normal, color: of that. random: as above."""

    light: wp.vec3
    kind: wp.int32
    distance: wp.float32
    normal: wp.vec3
    color: wp.vec3
    random: wp.uint32


@wp.struct
class PathSums:
    """Sums over the paths of every pixel. light: and how many met something; squares: of the brightness; guides: colour
    and distance of what they met first; normals."""

    light: wp.array2d(dtype=wp.vec4)
    squares: wp.array2d(dtype=wp.float32)
    guides: wp.array2d(dtype=wp.vec4)
    normals: wp.array2d(dtype=wp.vec3)


@wp.func
def turned_to(normal: wp.vec3, direction: wp.vec3):
    """A normal on the side from which a ray comes."""
    return wp.where(wp.dot(normal, direction) > 0.0, -normal, normal)


@wp.func
def next_vertex(scene: Any, options: TraceOptions, path: PathRay, weight: wp.float32, random: wp.uint32):
    """Where a ray collides next: with a surface, or with a medium before it."""
    vertex = Vertex()
    hit = surface_met(scene, path, random)
    collision = collision_met(scene, path, wp.min(path.far, hit.distance), weight, hit.random)
    random = collision.random
    vertex.distance = collision.distance
    if collision.medium >= 0:
        vertex.kind = 1
        vertex.color = collision.color
        if options.surface > 0.0:
            slope = firm_slope(scene, collision)
            length = wp.length(slope)
            # Beside voxels that are no numbers there is no gradient, and no comparison with it is true.
            if length > 1.0e-6 and length < 1.0e18:
                vertex.normal = turned_to(slope / length, path.direction)
                if wp.randf(random) < options.surface * wp.min(length, 1.0):
                    vertex.kind = 2
    elif hit.distance < path.far:
        vertex.distance = hit.distance
        vertex.kind = wp.where(hit.is_lit != 0, 2, 3)
        vertex.color = hit.color
        if hit.is_lit == 0:
            vertex.color = unlit(hit.color, options.exposure)
        vertex.normal = turned_to(hit.normal, path.direction)
    vertex.place = path.eye + path.direction * vertex.distance
    if collision.medium < 0:
        vertex.place -= path.direction * options.nearest
    vertex.random = random
    return vertex


@wp.func
def lamp_light(scene: Any, options: TraceOptions, vertex: Vertex, direction: wp.vec3, random: wp.uint32):
    """What the lamp sends to the eye by way of a vertex. direction: of the ray that came to it."""
    found = Scattering()
    share = wp.randf(random)
    to_lamp = around(options.towards, 1.0 - share * (1.0 - options.cone), wp.randf(random))
    part = vertex.color * phase(options.anisotropy, wp.dot(direction, to_lamp))
    if vertex.kind == 2:
        part = surface_share(options.coat, vertex.normal, -direction, to_lamp, vertex.color)
    if part[0] + part[1] + part[2] > 0.0:
        path = clipped(scene.planes, vertex.place, to_lamp, FAR)
        hit = surface_met(scene, path, random)
        random = hit.random
        if hit.distance >= path.far:
            passage = light_left(scene, path, WANTED, random)
            random = passage.random
            found.weight = wp.cw_mul(part, options.lamp) * passage.light
    found.random = random
    return found


@wp.func
def scattered(options: TraceOptions, vertex: Vertex, direction: wp.vec3, random: wp.uint32):
    """Where a path goes on from a vertex."""
    if vertex.kind == 2:
        return leave_surface(options.coat, vertex.normal, -direction, vertex.color, random)
    going = Scattering()
    cosine = phase_cosine(options.anisotropy, wp.randf(random))
    going.direction = around(direction, cosine, wp.randf(random))
    going.weight = vertex.color
    going.random = random
    return going


@wp.func
def begin(path: PathRay, random: wp.uint32):
    """A path that has met nothing yet."""
    going = Going()
    going.path = path
    going.carried = wp.vec3(1.0, 1.0, 1.0)
    going.random = random
    return going


@wp.func
def onward(scene: Any, options: TraceOptions, going: Going, vertex: Vertex):
    """A path after a vertex; where no more light comes from, it has all its collisions."""
    random = vertex.random
    direction = going.path.direction
    if vertex.kind == 0:
        if going.count > 0:
            sky = environment_light(scene.sky, options.sky_frame, direction)
            going.light += wp.cw_mul(going.carried, sky) * options.strength
        going.count = options.most
    elif vertex.kind == 3:
        going.light += wp.cw_mul(going.carried, vertex.color)
        going.count = options.most
    else:
        going.count += 1
        lit = lamp_light(scene, options, vertex, direction, random)
        going.light += wp.cw_mul(going.carried, lit.weight)
        leaving = scattered(options, vertex, direction, lit.random)
        random = leaving.random
        carried = wp.cw_mul(going.carried, leaving.weight)
        strongest = wp.max(carried[0], wp.max(carried[1], carried[2]))
        if going.count > CERTAIN:
            if wp.randf(random) < strongest:
                carried /= wp.min(strongest, 1.0)
            else:
                strongest = 0.0
        if strongest <= 0.0:
            going.count = options.most
        going.carried = carried
        going.path = clipped(scene.planes, vertex.place, leaving.direction, FAR)
    going.random = random
    return going


@wp.func
def follow(scene: Any, options: TraceOptions, path: PathRay, random: wp.uint32):
    """One path, from the eye to where no more light comes from."""
    brought = PathLight()
    going = begin(path, random)
    while going.count < options.most:
        is_first = going.count == 0
        vertex = next_vertex(scene, options, going.path, wp.where(is_first, 1.0, WANTED), going.random)
        if is_first:
            brought.kind = vertex.kind
            brought.distance = vertex.distance
            brought.normal = vertex.normal
            brought.color = vertex.color
        going = onward(scene, options, going, vertex)
    brought.light = going.light
    brought.random = going.random
    return brought


@wp.func
def first_ray(view: ViewStruct, planes: Any, options: TraceOptions, row: float, column: float, lens: wp.vec2):
    """From a place in the image through a place of the lens, both by chance."""
    through = view.corner + view.across * column + view.down * row
    eye = view.eye
    direction = view.forward
    if view.is_perspective != 0:
        direction = wp.normalize(through)
    else:
        eye = through
    if options.lens > 0.0:
        sharp = eye + through * options.focus
        if view.is_perspective == 0:
            sharp = eye + direction * options.focus
        radius = options.lens * wp.sqrt(lens[0])
        angle = 2.0 * PI * lens[1]
        eye += (wp.normalize(view.across) * wp.cos(angle) + wp.normalize(view.down) * wp.sin(angle)) * radius
        direction = wp.normalize(sharp - eye)
    return clipped(planes, eye, direction, FAR)


@wp.func
def nearest_slice(view: ViewStruct, row: wp.int32, column: wp.int32, random: wp.uint32):
    """Of the slices in a pixel, the distance and colour of the first that hides what is behind it, by chance."""
    for i in range(view.surface_depths.shape[2]):
        if view.surface_depths[row, column, i] < view.scenery_depth[row, column]:
            color = view.surface_colors[row, column, i]
            if wp.randf(random) < color[3]:
                return wp.vec4(color[0], color[1], color[2], view.surface_depths[row, column, i])
    color = view.scenery[row, column]
    return wp.vec4(color[0], color[1], color[2], view.scenery_depth[row, column])


@wp.func
def set_out(view: ViewStruct, planes: wp.array(dtype=wp.vec4), options: TraceOptions, which: wp.vec3i):
    """The beginning of a path; which: row, column and number of it."""
    start = Setting()
    row = which[0]
    column = which[1]
    # By its number, so that it does not matter which paths are followed together.
    random = wp.rand_init(options.seed + 7919 * which[2], row * 16384 + column)
    y = wp.float32(row) + wp.randf(random) - 0.5
    x = wp.float32(column) + wp.randf(random) - 0.5
    lens = wp.vec2(wp.randf(random), wp.randf(random))
    start.path = first_ray(view, planes, options, y, x, lens)
    start.slice = nearest_slice(view, row, column, random)
    start.path.far = wp.min(start.path.far, start.slice[3])
    start.random = wp.rand_init(wp.int32(random), 1)
    return start


@wp.func
def unlit(color: wp.vec3, exposure: wp.float32):
    """The light of what is shown in its own colour."""
    red = light_shown_as(color[0], exposure)
    green = light_shown_as(color[1], exposure)
    return wp.vec3(red, green, light_shown_as(color[2], exposure))


@wp.kernel(enable_backward=False)
def trace(first: wp.int32, view: ViewStruct, scene: TracedScene, options: TraceOptions, sums: PathSums):
    """Follow some more paths of every pixel."""
    row, column = wp.tid()
    row += first
    light = wp.vec4()
    squares = wp.float32(0.0)
    guides = wp.vec4()
    normals = wp.vec3()
    for n in range(options.samples):
        setting = set_out(view, scene.planes, options, wp.vec3i(row, column, options.first_sample + n))
        slice = setting.slice
        path = setting.path
        brought = follow(scene, options, path, setting.random)
        if brought.kind == 0 and slice[3] < FAR and path.far >= slice[3]:
            brought.kind = 3
            brought.distance = slice[3]
            brought.color = wp.vec3(slice[0], slice[1], slice[2])
            brought.light = unlit(brought.color, options.exposure)
        if brought.kind > 0:
            light += wp.vec4(brought.light[0], brought.light[1], brought.light[2], 1.0)
            bright = 0.2126 * brought.light[0] + 0.7152 * brought.light[1] + 0.0722 * brought.light[2]
            squares += bright * bright
            guides += wp.vec4(brought.color[0], brought.color[1], brought.color[2], brought.distance)
            normals += brought.normal
    sums.light[row, column] += light
    sums.squares[row, column] += squares
    sums.guides[row, column] += guides
    sums.normals[row, column] += normals
