"""Rays through volumes, as kernels see them: where they go, and which cells they pass.

Here: the structs that describe a view and a volume in it; making rays; going from cell to cell.
Not here: what is gathered on the way (kernels), filling the structs (packing).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.sampling import FieldStruct
from pellucid.fields.sizes import CELL

EDGE = wp.constant(float(CELL))
FAR = wp.constant(3.0e38)
SHADINGS = {"none": 0, "gradient": 1, "user": 2, "shadow": 3, "occlusion": 4, "full": 5, "cinematic": 0}
"""Those from shadow on follow light through the volume. A cinematic image is not drawn by these kernels."""


@wp.struct
class ViewStruct:
    """Rays in world units. corner: ray (or for parallel rays: origin) of pixel (0, 0); across, down: to the next.

    planes: what is cut away lies where normal · point < offset, each as (normal, offset). scenery, scenery_depth: what
    was drawn before and is opaque (slices, points, meshes): rays end there. surface_depths, surface_colors: for every
    pixel the nearest surfaces that are seen through (colour, opacity); without any in the scene there is no third axis.
    jitter_shift: added to every ray's fraction of a step. borders, sides: where only a part of the world is drawn, the
    planes (normal, offset) around it and on which side of each it lies, 1 where normal · point >= offset, else -1;
    before, before_depth: what rays gathered before they came to it; light: the light that they found last, before and
    after it, as (shadow, sky, spent); is_partial: whether they go on in another part.
    """

    eye: wp.vec3
    corner: wp.vec3
    across: wp.vec3
    down: wp.vec3
    forward: wp.vec3
    is_perspective: wp.int32
    is_jittered: wp.int32
    step: wp.float32
    planes: wp.array(dtype=wp.vec4)
    scenery: wp.array2d(dtype=wp.vec4)
    scenery_depth: wp.array2d(dtype=wp.float32)
    surface_depths: wp.array3d(dtype=wp.float32)
    surface_colors: wp.array3d(dtype=wp.vec4)
    jitter_shift: wp.float32
    borders: wp.array(dtype=wp.vec4)
    sides: wp.array(dtype=wp.int32)
    before: wp.array2d(dtype=wp.vec4)
    before_depth: wp.array2d(dtype=wp.float32)
    light: wp.array2d(dtype=wp.vec3)
    is_partial: wp.int32


@wp.struct
class LightStruct:
    """towards: unit vector to the light."""

    towards: wp.vec3
    ambient: wp.float32
    diffuse: wp.float32
    specular: wp.float32
    shininess: wp.float32


@wp.struct
class LightRays:
    """Where light goes in a volume, in voxel coordinates. towards: to the light; around: all around; both as long as
    the shortest edge of a voxel, which is "a voxel" here.

    shadow_table, sky_table: what a step of one voxel, and of sky_step voxels, takes of it, by value; low, scale: from a
    value to a row of them. cuts: what is left where normal · point >= offset. vacancy: as a layer's, for what takes
    light. asking: how much a brick on its way is wanted; share: of a pixel, which the light of one sample serves.
    beyond: of a part of a volume, what the rest leaves of the light along each line to it (drawing.light_parts);
    beyond_first: the place of its first element; part_low, part_high: the part.
    """

    towards: wp.vec3
    around: wp.array(dtype=wp.vec3)
    shadow_table: wp.array(dtype=wp.float32)
    sky_table: wp.array(dtype=wp.float32)
    low: wp.float32
    scale: wp.float32
    sky_step: wp.float32
    cuts: wp.array(dtype=wp.vec4)
    vacancy: wp.array3d(dtype=wp.uint8)
    asking: wp.float32
    share: wp.float32
    beyond: wp.array2d(dtype=wp.float32)
    beyond_first: wp.vec2
    part_low: wp.vec3
    part_high: wp.vec3


@wp.struct
class LayerStruct:
    """A volume and how it is drawn. is_labels: its voxels are rows of the table, never mixed. From the world to voxel
    coordinates: to_voxel * point + shift; low, high: bounds there. table: colour and opacity by value; value_low,
    value_scale: from a value to a row of it; shown: its first and its last row with any opacity. shading: one of
    SHADINGS; light_rays: through the volume, where the shading follows it; firmness: from a gradient to how far it
    is a surface's; parameters: of a user's shading. sums: where whole steps are classified, the table's
    rows summed; edges: where the gradient has a say, its factors, edge_low and edge_scale: from a gradient's magnitude
    to a row of them; step: world units between samples; voxel: along the shortest edge of a voxel. occupancy: of a
    volume that is whole on a CPU, which parts of each cell can be seen (packets/occupancy.cpp).
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
    shown: wp.vec2i
    ranges: wp.array3d(dtype=wp.vec2)
    vacancy: wp.array3d(dtype=wp.uint8)
    occupancy: wp.array3d(dtype=wp.uint64)
    shading: wp.int32
    light_rays: LightRays
    firmness: wp.float32
    parameters: wp.array(dtype=wp.float32)
    light: LightStruct
    sums: wp.array(dtype=wp.vec4d)
    edges: wp.array(dtype=wp.float32)
    edge_low: wp.float32
    edge_scale: wp.float32
    step: wp.float32
    voxel: wp.float32
    is_step_long: wp.int32


@wp.struct
class Ray:
    """origin, speed: in voxel coordinates, per world unit; direction: in the world, unit length; end: where scenery is.
    near, far: between which distances it is inside; start, stop: of that, what one part of the world may have.
    Samples at (k + jitter) * step for k from k_first to k_last; of them in all parts from k_enter to k_leave."""

    origin: wp.vec3
    speed: wp.vec3
    direction: wp.vec3
    jitter: wp.float32
    end: wp.float32
    near: wp.float32
    far: wp.float32
    start: wp.float32
    stop: wp.float32
    k_first: wp.int32
    k_last: wp.int32
    k_enter: wp.int32
    k_leave: wp.int32


@wp.struct
class Stretch:
    """What a ray has in a cell: from near to far from the eye. leave: where it leaves the cell, inside or not; beyond:
    the cell that it enters there."""

    cell: wp.vec3i
    near: wp.float32
    far: wp.float32
    leave: wp.float32
    beyond: wp.vec3i


@wp.func
def pixel_jitter(row: wp.int32, column: wp.int32):
    h = (wp.uint32(row) * wp.uint32(0x1E3779B1)) ^ (wp.uint32(column) * wp.uint32(0x05EBCA77))
    h = (h ^ (h >> wp.uint32(15))) * wp.uint32(0x2C1B3C6D)
    h = (h ^ (h >> wp.uint32(12))) * wp.uint32(0x297A2D39)
    h = h ^ (h >> wp.uint32(15))
    return wp.float32(h >> wp.uint32(8)) / 16777216.0


@wp.func
def through_planes(planes: wp.array(dtype=wp.vec4), eye: wp.vec3, direction: wp.vec3, span: wp.vec2):
    """The part of a ray that no clipping plane cuts away."""
    near = span[0]
    far = span[1]
    for i in range(planes.shape[0]):
        normal = wp.vec3(planes[i][0], planes[i][1], planes[i][2])
        along = wp.dot(normal, direction)
        height = planes[i][3] - wp.dot(normal, eye)
        if wp.abs(along) < 1.0e-9:
            if height > 0.0:
                far = -1.0
        elif along > 0.0:
            near = wp.max(near, height / along)
        else:
            far = wp.min(far, height / along)
    return wp.vec2(near, far)


@wp.func
def on_one_side(ray: Ray, eye: wp.vec3, step: wp.float32, border: wp.vec4, side: wp.int32):
    """Only the samples on one side of a plane; each sample lies on exactly one, however the numbers are rounded."""
    normal = wp.vec3(border[0], border[1], border[2])
    along = wp.dot(normal, ray.direction)
    height = border[3] - wp.dot(normal, eye)
    border_at = wp.float32(FAR)
    beyond = wp.float32(FAR)
    if wp.abs(along) > 1.0e-12:
        border_at = height / along
        beyond = border_at / step - ray.jitter
    elif height <= 0.0:
        border_at = -FAR
        beyond = -FAR
    k_beyond = wp.int32(wp.ceil(wp.clamp(beyond, -1.0e9, 1.0e9)))
    if (along >= -1.0e-12) == (side > 0):
        ray.k_first = wp.max(ray.k_first, k_beyond)
        ray.start = wp.max(ray.start, border_at)
    else:
        ray.k_last = wp.min(ray.k_last, k_beyond - 1)
        ray.stop = wp.min(ray.stop, border_at)
    return ray


@wp.func
def make_ray(view: ViewStruct, layer: LayerStruct, row: wp.int32, column: wp.int32):
    ray = Ray()
    through = view.corner + view.across * wp.float32(column) + view.down * wp.float32(row)
    eye = view.eye
    ray.direction = view.forward
    if view.is_perspective != 0:
        ray.direction = wp.normalize(through)
    else:
        eye = through
    ray.origin = layer.to_voxel * eye + layer.shift
    ray.speed = layer.to_voxel * ray.direction
    ray.jitter = 0.5
    if view.is_jittered != 0:
        shifted = pixel_jitter(row, column) + view.jitter_shift
        ray.jitter = shifted - wp.floor(shifted)
    ray.end = view.scenery_depth[row, column]
    span = through_planes(view.planes, eye, ray.direction, wp.vec2(0.0, ray.end))
    near = span[0]
    far = span[1]
    for axis in range(3):
        if wp.abs(ray.speed[axis]) > 1.0e-12:
            a = (layer.low[axis] - ray.origin[axis]) / ray.speed[axis]
            b = (layer.high[axis] - ray.origin[axis]) / ray.speed[axis]
            near = wp.max(near, wp.min(a, b))
            far = wp.min(far, wp.max(a, b))
        elif ray.origin[axis] < layer.low[axis] or ray.origin[axis] > layer.high[axis]:
            far = -1.0
    ray.near = near
    ray.far = far
    ray.start = near
    ray.stop = far
    ray.k_first = 0
    ray.k_last = -1
    if far > near:
        ray.k_first = wp.int32(wp.ceil(near / view.step - ray.jitter))
        ray.k_last = wp.int32(wp.floor(far / view.step - ray.jitter))
    ray.k_enter = ray.k_first
    ray.k_leave = ray.k_last
    for i in range(view.borders.shape[0]):
        ray = on_one_side(ray, eye, view.step, view.borders[i], view.sides[i])
    return ray


@wp.func
def leaves_cells(ray: Ray, at: wp.vec3, cell: wp.vec3i, around: wp.int32):
    """How far in world units from a point along the ray to the border of its cell and so many cells around it."""
    distance = wp.float32(FAR)
    for axis in range(3):
        if ray.speed[axis] > 1.0e-12:
            border = wp.float32(cell[axis] + 1 + around) * EDGE - 0.5
            distance = wp.min(distance, (border - at[axis]) / ray.speed[axis])
        elif ray.speed[axis] < -1.0e-12:
            border = wp.float32(cell[axis] - around) * EDGE - 0.5
            distance = wp.min(distance, (border - at[axis]) / ray.speed[axis])
    return distance


@wp.func
def cell_of(at: wp.vec3, vacancy: wp.array3d(dtype=wp.uint8)):
    x = wp.clamp(wp.int32((at[0] + 0.5) / EDGE), 0, vacancy.shape[2] - 1)
    y = wp.clamp(wp.int32((at[1] + 0.5) / EDGE), 0, vacancy.shape[1] - 1)
    z = wp.clamp(wp.int32((at[2] + 0.5) / EDGE), 0, vacancy.shape[0] - 1)
    return wp.vec3i(x, y, z)


@wp.func
def first_beyond(ray: Ray, step: wp.float32, k: wp.int32, cell: wp.vec3i, vacancy: wp.int32):
    """The first sample after k that may lie in another cell, or where nothing is visible, in one that may be.

    A little short of the border, so that rounding never takes a sample of the next cell with it.
    """
    distance = (wp.float32(k) + ray.jitter) * step
    around = wp.max(vacancy - 1, 0)
    border = distance + leaves_cells(ray, ray.origin + ray.speed * distance, cell, around)
    beyond = wp.int32(wp.ceil(border / step - ray.jitter - 1.0e-3))
    return wp.min(wp.max(k + 1, beyond), ray.k_last + 1)


@wp.func
def crosses(ray: Ray, axis: wp.int32, cell: wp.int32, side: wp.int32):
    """The distance from the eye at which the ray crosses the border of a cell across an axis; side: 0 low, 1 high."""
    return (wp.float32(cell + side) * EDGE - 0.5 - ray.origin[axis]) / ray.speed[axis]


@wp.func
def enters_cell(ray: Ray, cell: wp.vec3i):
    """The distance from the eye at which the ray enters a cell."""
    distance = -FAR
    for axis in range(3):
        if wp.abs(ray.speed[axis]) > 1.0e-12:
            distance = wp.max(distance, crosses(ray, axis, cell[axis], wp.where(ray.speed[axis] > 0.0, 0, 1)))
    return distance


@wp.func
def stretch_in(ray: Ray, cell: wp.vec3i, enter: wp.float32):
    """What a ray has in a cell that it enters at a distance.

    Where it leaves follows from the cell alone: rays that begin elsewhere cross the same borders at the same distances.
    """
    stretch = Stretch()
    stretch.cell = cell
    stretch.leave = FAR
    through = wp.int32(0)
    way = wp.int32(0)
    for axis in range(3):
        side = wp.where(ray.speed[axis] > 0.0, 1, 0)
        if wp.abs(ray.speed[axis]) > 1.0e-12:
            at = crosses(ray, axis, cell[axis], side)
            if at < stretch.leave:
                stretch.leave = at
                through = axis
                way = 2 * side - 1
    stretch.beyond = cell
    stretch.beyond[through] = cell[through] + way
    stretch.near = wp.max(enter, ray.near)
    stretch.far = wp.min(stretch.leave, ray.far)
    return stretch


@wp.func
def is_in_part(ray: Ray, stretch: Stretch):
    """Whether what a ray has in a cell belongs to the part of the world that is drawn, as its middle does."""
    middle = 0.5 * (stretch.near + stretch.far)
    return stretch.far > stretch.near and middle >= ray.start and middle <= ray.stop


@wp.func
def is_cell(layer: LayerStruct, cell: wp.vec3i):
    x = cell[0] >= 0 and cell[0] < layer.ranges.shape[2]
    y = cell[1] >= 0 and cell[1] < layer.ranges.shape[1]
    return x and y and cell[2] >= 0 and cell[2] < layer.ranges.shape[0]


@wp.func
def place(ray: Ray, step: wp.float32, k: wp.int32):
    """Where sample k lies, in voxel coordinates."""
    return ray.origin + ray.speed * ((wp.float32(k) + ray.jitter) * step)
