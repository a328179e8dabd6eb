"""A volume of values, a volume of labels, or labels over values, with translucent surfaces.

Here: the kernel for what is drawn most of all that is not one volume alone.
Not here: one volume of values alone (composite), other volumes together (multi_volume), what is gathered
(accumulation).

What it draws, the kernel for several volumes draws as well, bit for bit, in 2.6 times the time: there a layer is copied
for every sample. Here each function is called from one place, on a volume with a name, and becomes part of the loop.
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.sampling import Grid, locate
from pellucid.rendering.kernels.accumulation import OPAQUE, add_sample, over_opaque, seen_before
from pellucid.rendering.kernels.labels import add_label
from pellucid.rendering.kernels.rays import LayerStruct, Ray, ViewStruct, cell_of, first_beyond, make_ray, place
from pellucid.rendering.kernels.surfaces import meet_surface, meet_surfaces, next_surface

wp.set_module_options({"fast_math": True})

NEVER = wp.constant(2147483647)


@wp.func
def look_ahead(ray: Ray, vacancy: wp.array3d(dtype=wp.uint8), step: wp.float32, k: wp.int32):
    """Whether something may be visible at sample k, and the first sample after it for which that may be otherwise."""
    if ray.k_last < ray.k_first or k > ray.k_last:
        return False, wp.int32(NEVER)
    if k < ray.k_first:
        return False, ray.k_first
    cell = cell_of(place(ray, step, k), vacancy)
    distance = wp.int32(vacancy[cell[2], cell[1], cell[0]])
    return distance == 0, first_beyond(ray, step, k, cell, distance)


@wp.kernel(enable_backward=False)
def composite_overlay(
    first: wp.int32,
    view: ViewStruct,
    values: LayerStruct,
    labels: LayerStruct,
    has_values: wp.int32,
    has_labels: wp.int32,
    color: wp.array2d(dtype=wp.vec4),
    depth: wp.array2d(dtype=wp.float32),
):
    """Sample by sample at the same places along the ray; surfaces come where they lie between two of them."""
    row, column = wp.tid()
    row += first
    ray = make_ray(view, values, row, column)
    other = make_ray(view, labels, row, column)
    ray.k_last = wp.where(has_values != 0, ray.k_last, ray.k_first - 1)
    other.k_last = wp.where(has_labels != 0, other.k_last, other.k_first - 1)
    gathered = seen_before(view, row, column)
    passed = wp.int32(0)
    surface = next_surface(view, row, column, passed)
    here = Grid()
    there = Grid()
    k = wp.int32(0)
    while k < NEVER and gathered.opacity < OPAQUE:
        sees_values, next_values = look_ahead(ray, values.vacancy, view.step, k)
        sees_labels, next_labels = look_ahead(other, labels.vacancy, view.step, k)
        k_next = wp.min(next_values, next_labels)
        if not (sees_values or sees_labels):
            k = k_next
            continue
        weight = wp.float32(k_next - k) * (1.0 - gathered.opacity)
        if sees_values:
            here = locate(values.field, cell_of(place(ray, view.step, k), values.vacancy), weight)
        if sees_labels:
            there = locate(labels.field, cell_of(place(other, view.step, k), labels.vacancy), weight)
        while k < k_next and gathered.opacity < OPAQUE:
            distance = (wp.float32(k) + ray.jitter) * view.step
            while surface <= distance:
                gathered = meet_surface(gathered, view, row, column, passed)
                passed += 1
                surface = next_surface(view, row, column, passed)
            if sees_values:
                gathered = add_sample(gathered, values, here, ray.direction, place(ray, view.step, k), distance)
            if sees_labels:
                gathered = add_label(gathered, labels, there, ray.direction, place(other, view.step, k), distance)
            k += 1
    gathered, passed = meet_surfaces(gathered, view, row, column, passed, ray.end)
    color[row, column] = over_opaque(gathered, view.scenery[row, column])
    depth[row, column] = wp.min(gathered.depth, ray.end)
