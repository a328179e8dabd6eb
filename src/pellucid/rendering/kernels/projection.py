"""The largest, smallest or mean value along every ray.

Here: the kernel.
Not here: rays and cells (rays), reading voxels (fields.sampling).
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.sampling import locate, value_in
from pellucid.rendering.kernels.gathering import classified, nothing_yet, over_scenery
from pellucid.rendering.kernels.rays import FAR, Layer, View, cell_of, first_beyond, make_ray, place
from pellucid.rendering.kernels.surfaces import meet_surfaces

wp.set_module_options({"fast_math": True})

MAXIMUM = wp.constant(0)
MINIMUM = wp.constant(1)
MEAN = wp.constant(2)


@wp.func
def is_beyond(mode: wp.int32, value: wp.float32, found: wp.float32):
    return (mode == MAXIMUM and value > found) or (mode == MINIMUM and value < found)


@wp.func
def laid_over(view: View, row: wp.int32, column: wp.int32, entry: wp.vec4, lies_at: wp.float32):
    """A projection where it was found: surfaces before it, and what is behind it, as far as it lets that through."""
    before, passed = meet_surfaces(nothing_yet(), view, row, column, 0, lies_at)
    rest, _passed = meet_surfaces(nothing_yet(), view, row, column, passed, view.scenery_depth[row, column])
    behind = over_scenery(rest, view.scenery[row, column])
    solid = wp.vec4(entry[0], entry[1], entry[2], 1.0)
    return over_scenery(before, solid * entry[3] + (behind + solid * (1.0 - behind[3])) * (1.0 - entry[3]))


@wp.kernel(enable_backward=False)
def project(
    first: wp.int32,
    view: View,
    layer: Layer,
    mode: wp.int32,
    color: wp.array2d(dtype=wp.vec4),
    depth: wp.array2d(dtype=wp.float32),
):
    """The largest, smallest or mean value along every ray; cells that cannot change it are skipped."""
    row, column = wp.tid()
    row += first
    ray = make_ray(view, layer, row, column)
    found = wp.where(mode == MAXIMUM, -FAR, wp.where(mode == MINIMUM, FAR, 0.0))
    reached = wp.float32(FAR)
    if view.before.shape[0] > 0:
        found = view.before[row, column][0]
        reached = view.before_depth[row, column]
    k = ray.k_first
    while k <= ray.k_last:
        cell = cell_of(place(ray, view.step, k), layer.vacancy)
        k_next = first_beyond(ray, view.step, k, cell, 0)
        span = layer.ranges[cell[2], cell[1], cell[0]]
        if mode != MEAN and not is_beyond(mode, wp.where(mode == MAXIMUM, span[1], span[0]), found):
            k = k_next
            continue
        here = locate(layer.field, cell, wp.float32(k_next - k))
        while k < k_next:
            value = value_in(here, place(ray, view.step, k))
            if mode == MEAN:
                found += value
            elif is_beyond(mode, value, found):
                found = value
                reached = (wp.float32(k) + ray.jitter) * view.step
            k += 1
    if view.is_partial != 0:
        color[row, column] = wp.vec4(found, 0.0, 0.0, 0.0)
    elif ray.k_leave >= ray.k_enter:
        count = wp.where(mode == MEAN, wp.float32(ray.k_leave - ray.k_enter + 1), 1.0)
        lies_at = wp.where(mode == MEAN, (wp.float32(ray.k_enter) + ray.jitter) * view.step, reached)
        color[row, column] = laid_over(view, row, column, classified(layer, found / count), lies_at)
    else:
        gathered, _passed = meet_surfaces(nothing_yet(), view, row, column, 0, ray.end)
        color[row, column] = over_scenery(gathered, view.scenery[row, column])
    depth[row, column] = wp.min(reached, ray.end)
