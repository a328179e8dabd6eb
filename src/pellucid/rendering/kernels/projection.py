"""The largest, smallest or mean value along every ray.

Here: the kernel.
Not here: rays and cells (rays), the largest value inside a cell (fields.kernels.extremes), reading voxels
(fields.kernels.sampling).

The largest and the smallest are those of the trilinear field itself and depend on no step; the mean is that of samples.
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.extremes import largest_between
from pellucid.fields.kernels.sampling import locate, value_in
from pellucid.rendering.kernels.accumulation import classified, empty, over_opaque
from pellucid.rendering.kernels.rays import (
    FAR,
    LayerStruct,
    Ray,
    Stretch,
    ViewStruct,
    cell_of,
    enters_cell,
    first_beyond,
    is_cell,
    is_in_part,
    make_ray,
    place,
    stretch_in,
)
from pellucid.rendering.kernels.surfaces import meet_surfaces

wp.set_module_options({"fast_math": True})

MINIMUM = wp.constant(1)
MEAN = wp.constant(2)


@wp.struct
class Extreme:
    """The largest value of sign * field so far (sign: -1 for the smallest), and its distance from the eye."""

    sign: wp.float32
    value: wp.float32
    distance: wp.float32


@wp.func
def promise_of(layer: LayerStruct, cell: wp.vec3i, sign: wp.float32):
    """What sign * field cannot exceed in a cell."""
    span = layer.ranges[cell[2], cell[1], cell[0]]
    return wp.where(sign > 0.0, span[1], -span[0])


@wp.func
def looked_into(view: ViewStruct, layer: LayerStruct, ray: Ray, stretch: Stretch, found: Extreme):
    """What is found once the part of a ray in a cell is known too."""
    here = locate(layer.field, stretch.cell, (stretch.far - stretch.near) / view.step)
    begin = ray.origin + ray.speed * stretch.near
    end = ray.origin + ray.speed * stretch.far
    is_nearer = wp.where(stretch.near < found.distance, 1, 0)
    larger = largest_between(here, found.sign, begin, end, found.value, is_nearer)
    if larger[1] >= 0.0:
        found.value = larger[0]
        found.distance = stretch.near + (stretch.far - stretch.near) * larger[1]
    return found


@wp.func
def most_promising(layer: LayerStruct, ray: Ray, start: wp.vec3i, found: Extreme):
    """The nearest of the cells along a ray that promise most; its far end before its near one where none does."""
    best = Stretch()
    best.far = -1.0
    promised = found.value
    stretch = stretch_in(ray, start, enters_cell(ray, start))
    while stretch.near < ray.stop and is_cell(layer, stretch.cell):
        promise = promise_of(layer, stretch.cell, found.sign)
        if promise > promised and is_in_part(ray, stretch):
            promised = promise
            best = stretch
        stretch = stretch_in(ray, stretch.beyond, stretch.leave)
    return best


@wp.func
def extreme_along(view: ViewStruct, layer: LayerStruct, ray: Ray, found: Extreme):
    """First the cell that promises most, so that most others need no look; then those that still promise more."""
    start = cell_of(ray.origin + ray.speed * ray.start, layer.vacancy)
    best = most_promising(layer, ray, start, found)
    if best.far < best.near:
        return found
    found = looked_into(view, layer, ray, best, found)
    stretch = stretch_in(ray, start, enters_cell(ray, start))
    while stretch.near < ray.stop and is_cell(layer, stretch.cell):
        promise = promise_of(layer, stretch.cell, found.sign)
        may_be_nearer = promise == found.value and stretch.near < found.distance
        is_new = is_in_part(ray, stretch) and stretch.near != best.near
        if is_new and (promise > found.value or may_be_nearer):
            found = looked_into(view, layer, ray, stretch, found)
        stretch = stretch_in(ray, stretch.beyond, stretch.leave)
    return found


@wp.func
def sum_along(view: ViewStruct, layer: LayerStruct, ray: Ray, total: wp.float32):
    """All samples of a ray, added up."""
    k = ray.k_first
    while k <= ray.k_last:
        cell = cell_of(place(ray, view.step, k), layer.vacancy)
        k_next = first_beyond(ray, view.step, k, cell, 0)
        here = locate(layer.field, cell, wp.float32(k_next - k))
        while k < k_next:
            total += value_in(here, place(ray, view.step, k))
            k += 1
    return total


@wp.func
def laid_over(view: ViewStruct, row: wp.int32, column: wp.int32, entry: wp.vec4, lies_at: wp.float32):
    """A projection where it was found: surfaces before it, and what is behind it, as far as it lets that through."""
    before, passed = meet_surfaces(empty(), view, row, column, 0, lies_at)
    rest, _passed = meet_surfaces(empty(), view, row, column, passed, view.scenery_depth[row, column])
    behind = over_opaque(rest, view.scenery[row, column])
    solid = wp.vec4(entry[0], entry[1], entry[2], 1.0)
    return over_opaque(before, solid * entry[3] + (behind + solid * (1.0 - behind[3])) * (1.0 - entry[3]))


@wp.kernel(enable_backward=False)
def project(
    first: wp.int32,
    view: ViewStruct,
    layer: LayerStruct,
    mode: wp.int32,
    color: wp.array2d(dtype=wp.vec4),
    depth: wp.array2d(dtype=wp.float32),
):
    """The largest, smallest or mean value along every ray."""
    row, column = wp.tid()
    row += first
    ray = make_ray(view, layer, row, column)
    found = Extreme()
    found.sign = wp.where(mode == MINIMUM, -1.0, 1.0)
    found.value = wp.where(mode == MEAN, 0.0, -FAR)
    found.distance = FAR
    if view.before.shape[0] > 0:
        found.value = view.before[row, column][0]
        found.distance = view.before_depth[row, column]
    is_hit = ray.far > ray.near
    lies_at = wp.float32(FAR)
    value = wp.float32(0.0)
    if mode == MEAN:
        found.value = sum_along(view, layer, ray, found.value)
        is_hit = ray.k_leave >= ray.k_enter
        lies_at = (wp.float32(ray.k_enter) + ray.jitter) * view.step
        value = found.value / wp.float32(wp.max(ray.k_leave - ray.k_enter + 1, 1))
    elif is_hit:
        found = extreme_along(view, layer, ray, found)
        lies_at = found.distance
        # Where no voxel is a number, it is drawn like the lowest.
        value = wp.where(found.value > -FAR, found.sign * found.value, -FAR)
    if view.is_partial != 0:
        color[row, column] = wp.vec4(found.value, 0.0, 0.0, 0.0)
    elif is_hit:
        color[row, column] = laid_over(view, row, column, classified(layer, value), lies_at)
    else:
        gathered, _passed = meet_surfaces(empty(), view, row, column, 0, ray.end)
        color[row, column] = over_opaque(gathered, view.scenery[row, column])
    depth[row, column] = wp.min(found.distance, ray.end)
