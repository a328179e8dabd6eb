"""Volumes as media that scatter light: where a ray collides next, and how much light passes along a way.

Here: the structs of media, delta tracking and ratio tracking over the majorants of cells; finding the majorants.
Not here: what happens at a collision (scattering), surfaces (surfaces), a whole path (the package itself).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.label_sampling import label_in
from pellucid.fields.kernels.sampling import FieldStruct, Grid, gradient_in, locate, table_row, value_in
from pellucid.rendering.kernels.rays import FAR, Ray, cell_of, leaves_cells, through_planes

wp.set_module_options({"fast_math": True})

BEYOND = wp.constant(1.0e-3)
"""In voxels: so far beyond a cell's border a walk goes on, or rounding would keep it there."""
RESOLUTION = wp.constant(1.2e-7)
"""Of float32, at least: a walk goes on by this share of its distance, or far from the eye it would stay where it is."""
FAINT = wp.constant(0.1)
"""Of light: from here on it goes on by chance, and with more."""
SURVIVES = wp.constant(0.25)


@wp.struct
class MediumStruct:
    """A volume. From the world to voxel coordinates: to_voxel * point + shift; low, high: bounds there. table: albedo,
    and extinction per world unit, by value; value_low, value_scale: from a value to a row of it. majorants: of every
    cell, the largest extinction in it; vacancy: as a layer's. firmness: from a gradient to how far it is a surface's.
    edges, edge_low, edge_scale: as a layer's. voxel: world units along the shortest edge of a voxel.
    """

    field: FieldStruct
    is_labels: wp.int32
    to_voxel: wp.mat33
    shift: wp.vec3
    low: wp.vec3
    high: wp.vec3
    table: wp.array(dtype=wp.vec4)
    value_low: wp.float32
    value_scale: wp.float32
    ranges: wp.array3d(dtype=wp.vec2)
    majorants: wp.array3d(dtype=wp.float32)
    vacancy: wp.array3d(dtype=wp.uint8)
    firmness: wp.float32
    edges: wp.array(dtype=wp.float32)
    edge_low: wp.float32
    edge_scale: wp.float32
    voxel: wp.float32


@wp.struct
class PathRay:
    """A ray in the world, unit length, and the part of it that nothing cuts away. random: the state of chance."""

    eye: wp.vec3
    direction: wp.vec3
    near: wp.float32
    far: wp.float32


@wp.struct
class Collision:
    """Where light meets a medium: distance along the ray, FAR where it does not; which one; the place in its voxel
    coordinates, and what is there. random: the state of chance after it."""

    distance: wp.float32
    medium: wp.int32
    at: wp.vec3
    value: wp.float32
    color: wp.vec3
    random: wp.uint32


@wp.struct
class Crossing:
    """A cell on a ray, left at the distance leave. vacancy: as the field counts it, 0 where something may be visible.
    majorant: the largest extinction in the cell."""

    cell: wp.vec3i
    vacancy: wp.int32
    leave: wp.float32
    majorant: wp.float32


@wp.struct
class Passage:
    """How much light passes along a ray. random: as a collision's."""

    light: wp.float32
    random: wp.uint32


@wp.func
def value_of(medium: MediumStruct, here: Grid, at: wp.vec3):
    """The value at a place; of labels, the nearest voxel's."""
    if medium.is_labels != 0:
        return label_in(here, at)
    return value_in(here, at)


@wp.func
def ray_inside(medium: MediumStruct, path: PathRay, far: wp.float32):
    """A path's ray in the voxel coordinates of a medium, and the part of it that is inside."""
    ray = Ray()
    ray.origin = medium.to_voxel * path.eye + medium.shift
    ray.speed = medium.to_voxel * path.direction
    ray.near = path.near
    ray.far = far
    for axis in range(3):
        if wp.abs(ray.speed[axis]) > 1.0e-12:
            a = (medium.low[axis] - ray.origin[axis]) / ray.speed[axis]
            b = (medium.high[axis] - ray.origin[axis]) / ray.speed[axis]
            ray.near = wp.max(ray.near, wp.min(a, b))
            ray.far = wp.min(ray.far, wp.max(a, b))
        elif ray.origin[axis] < medium.low[axis] or ray.origin[axis] > medium.high[axis]:
            ray.far = -1.0
    return ray


@wp.func
def matter_at(medium: MediumStruct, here: Grid, at: wp.vec3, value: wp.float32):
    """Albedo and extinction at a place."""
    matter = medium.table[table_row(value, medium.value_low, medium.value_scale, medium.table.shape[0])]
    if medium.edges.shape[0] > 0 and matter[3] > 0.0:
        length = wp.length(wp.transpose(medium.to_voxel) * gradient_in(here, at))
        matter[3] = (
            matter[3] * medium.edges[table_row(length, medium.edge_low, medium.edge_scale, medium.edges.shape[0])]
        )
    return matter


@wp.func
def crossed_cell(medium: MediumStruct, ray: Ray, t: wp.float32):
    """The cell that a ray is in."""
    at = ray.origin + ray.speed * t
    found = Crossing()
    found.cell = cell_of(at, medium.vacancy)
    found.vacancy = wp.int32(medium.vacancy[found.cell[2], found.cell[1], found.cell[0]])
    across = wp.max(leaves_cells(ray, at, found.cell, wp.max(found.vacancy - 1, 0)), 0.0)
    found.leave = wp.min(t + across + BEYOND * medium.voxel, ray.far)
    found.majorant = medium.majorants[found.cell[2], found.cell[1], found.cell[0]]
    return found


@wp.struct
class Walk:
    """How far a path has come, and the optical depth that is left to the next place where it may collide."""

    t: wp.float32
    depth: wp.float32


@wp.func
def is_past(part: Crossing, walk: Walk):
    """Whether a path leaves a cell before it may collide in it."""
    return part.vacancy > 0 or walk.depth >= part.majorant * (part.leave - walk.t)


@wp.func
def beyond(part: Crossing, walk: Walk, aside: wp.float32):
    """The path behind a cell."""
    left = Walk()
    left.t = wp.max(part.leave, walk.t + aside)
    left.depth = walk.depth
    if part.vacancy == 0:
        left.depth = walk.depth - part.majorant * (part.leave - walk.t)
    return left


@wp.func
def collide(medium: MediumStruct, path: PathRay, far: wp.float32, weight: wp.float32, random: wp.uint32):
    """Delta tracking: the first collision before a distance. weight: how much the bricks along the ray are needed."""
    found = Collision()
    found.distance = FAR
    found.medium = -1
    ray = ray_inside(medium, path, far)
    aside = wp.max(BEYOND * medium.voxel, ray.far * RESOLUTION)
    walk = Walk()
    walk.t = ray.near
    walk.depth = -wp.log(1.0 - wp.randf(random))
    while walk.t < ray.far:
        part = crossed_cell(medium, ray, walk.t)
        if is_past(part, walk):
            walk = beyond(part, walk, aside)
            continue
        here = locate(medium.field, part.cell, weight)
        inside = wp.int32(1)
        while inside > 0:
            walk.t += wp.max(walk.depth / part.majorant, walk.t * RESOLUTION)
            walk.depth = -wp.log(1.0 - wp.randf(random))
            at = ray.origin + ray.speed * walk.t
            value = value_of(medium, here, at)
            matter = matter_at(medium, here, at, value)
            if wp.randf(random) * part.majorant < matter[3]:
                found.distance = walk.t
                found.medium = 0
                found.at = at
                found.value = value
                found.color = wp.vec3(matter[0], matter[1], matter[2])
                walk.t = FAR
                inside = 0
            elif is_past(part, walk):
                walk = beyond(part, walk, aside)
                inside = 0
    found.random = random
    return found


@wp.func
def passes(medium: MediumStruct, path: PathRay, weight: wp.float32, light: wp.float32, random: wp.uint32):
    """Ratio tracking: the share of light that is left at the end of the ray."""
    ray = ray_inside(medium, path, path.far)
    aside = wp.max(BEYOND * medium.voxel, ray.far * RESOLUTION)
    walk = Walk()
    walk.t = ray.near
    walk.depth = -wp.log(1.0 - wp.randf(random))
    while walk.t < ray.far and light > 0.0:
        part = crossed_cell(medium, ray, walk.t)
        if is_past(part, walk):
            walk = beyond(part, walk, aside)
            continue
        here = locate(medium.field, part.cell, weight)
        inside = wp.int32(1)
        while inside > 0:
            walk.t += wp.max(walk.depth / part.majorant, walk.t * RESOLUTION)
            walk.depth = -wp.log(1.0 - wp.randf(random))
            at = ray.origin + ray.speed * walk.t
            matter = matter_at(medium, here, at, value_of(medium, here, at))
            light *= wp.max(1.0 - matter[3] / part.majorant, 0.0)
            if light < FAINT:
                light = wp.where(wp.randf(random) < SURVIVES, light / SURVIVES, 0.0)
            if light <= 0.0:
                inside = 0
            elif is_past(part, walk):
                walk = beyond(part, walk, aside)
                inside = 0
    return Passage(light, random)


@wp.func
def first_collision(
    media: wp.array(dtype=MediumStruct), path: PathRay, far: wp.float32, weight: wp.float32, random: wp.uint32
):
    """With any of the media: each scatters as if it were alone, and what comes first has happened."""
    nearest = Collision()
    nearest.distance = FAR
    nearest.medium = -1
    nearest.random = random
    end = far
    for i in range(media.shape[0]):
        found = collide(media[i], path, end, weight, nearest.random)
        nearest.random = found.random
        if found.distance < end:
            nearest = found
            nearest.medium = i
            end = found.distance
    return nearest


@wp.func
def light_through(media: wp.array(dtype=MediumStruct), path: PathRay, weight: wp.float32, random: wp.uint32):
    """The share of light that passes through all media."""
    passage = Passage(1.0, random)
    for i in range(media.shape[0]):
        if passage.light > 0.0:
            passage = passes(media[i], path, weight, passage.light, passage.random)
    return passage


@wp.func
def clipped(planes: wp.array(dtype=wp.vec4), eye: wp.vec3, direction: wp.vec3, far: wp.float32):
    """A ray up to a distance, without what the planes cut away."""
    span = through_planes(planes, eye, direction, wp.vec2(0.0, far))
    path = PathRay()
    path.eye = eye
    path.direction = direction
    path.near = span[0]
    path.far = span[1]
    return path


@wp.kernel(enable_backward=False)
def find_majorants(
    first: wp.int32,
    ranges: wp.array3d(dtype=wp.vec2),
    low: wp.float32,
    scale: wp.float32,
    largest: wp.array2d(dtype=wp.float32),
    majorants: wp.array3d(dtype=wp.float32),
):
    """The largest extinction in every cell. largest[n, i]: of 2ⁿ rows of the table from row i on."""
    z, y, x = wp.tid()
    z += first
    lowest = table_row(ranges[z, y, x][0], low, scale, largest.shape[1])
    highest = table_row(ranges[z, y, x][1], low, scale, largest.shape[1])
    power = wp.int32(0)
    while (2 << power) <= highest - lowest + 1:
        power += 1
    majorants[z, y, x] = wp.max(largest[power, lowest], largest[power, highest + 1 - (1 << power)])


@wp.kernel(enable_backward=False)
def join_cells(
    first: wp.int32,
    majorants: wp.array3d(dtype=wp.float32),
    vacancy: wp.array3d(dtype=wp.uint8),
    cells: wp.array3d(dtype=wp.float32),
):
    """Both in one number: minus the distance where nothing is visible."""
    z, y, x = wp.tid()
    z += first
    empty = wp.float32(vacancy[z, y, x])
    cells[z, y, x] = wp.where(empty > 0.0, -empty, majorants[z, y, x])
