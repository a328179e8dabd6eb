"""Volumes drawn by kernels: the same pictures as reference, fast.

Here: the marching kernels: composite (one volume, several), projection, isosurface.
Not here: rays and cells (rays), light (lighting), reading voxels (fields.sampling), what is drawn (scene), launches
(renderer).
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

from typing import Any

import warp as wp

from pellucid.fields.sampling import Field, Grid, cell_at, gradient_in, locate, table_row, value_in
from pellucid.rendering.lighting import shaded
from pellucid.rendering.rays import FAR, Layer, Ray, View, cell_of, first_beyond, make_ray, place

wp.set_module_options({"fast_math": True})

OPAQUE = wp.constant(0.996)


@wp.struct
class Gathered:
    """What a ray has seen so far: colour multiplied by opacity, opacity, and where half of it was reached."""

    color: wp.vec3
    opacity: wp.float32
    depth: wp.float32


@wp.func
def nothing_yet():
    gathered = Gathered()
    gathered.depth = FAR
    return gathered


@wp.func
def gather(gathered: Gathered, color: wp.vec3, opacity: wp.float32, distance: wp.float32):
    """Behind what was seen before comes something of a colour and an opacity."""
    weight = (1.0 - gathered.opacity) * opacity
    if gathered.opacity < 0.5 and gathered.opacity + weight >= 0.5:
        gathered.depth = distance
    gathered.color = gathered.color + color * weight
    gathered.opacity = gathered.opacity + weight
    return gathered


@wp.func
def over_scenery(gathered: Gathered, scenery: wp.vec4):
    """What a ray gathered, and behind it what was drawn before."""
    behind = scenery * (1.0 - gathered.opacity)
    color = gathered.color
    return wp.vec4(color[0] + behind[0], color[1] + behind[1], color[2] + behind[2], gathered.opacity + behind[3])


@wp.func
def classified(layer: Layer, value: wp.float32):
    return layer.table[table_row(value, layer.value_low, layer.value_scale, layer.table.shape[0])]


@wp.func
def add_sample(gathered: Gathered, layer: Layer, here: Grid, direction: wp.vec3, at: wp.vec3, distance: wp.float32):
    """One sample of a volume: its colour, lit, and its opacity. here: the voxels of its cell."""
    entry = classified(layer, value_in(here, at))
    if entry[3] <= 0.0:
        return gathered
    base = wp.vec3(entry[0], entry[1], entry[2])
    return gather(gathered, shaded(layer, here, direction, at, base), entry[3], distance)


def composite_with(add: Any) -> Any:
    """The kernel that draws one volume, with the function that adds a sample compiled into its inner loop."""

    @wp.kernel(enable_backward=False, module="unique", module_options={"fast_math": True})
    def composite(
        first: wp.int32,
        view: View,
        layer: Layer,
        color: wp.array2d(dtype=wp.vec4),
        depth: wp.array2d(dtype=wp.float32),
    ):
        """Front to back; cells in which nothing is visible are skipped."""
        row, column = wp.tid()
        row += first
        ray = make_ray(view, layer, row, column)
        gathered = nothing_yet()
        k = ray.k_first
        while k <= ray.k_last and gathered.opacity < OPAQUE:
            cell = cell_of(place(ray, view.step, k), layer.vacancy)
            vacancy = wp.int32(layer.vacancy[cell[2], cell[1], cell[0]])
            k_next = first_beyond(ray, view.step, k, cell, vacancy)
            if vacancy > 0:
                k = k_next
                continue
            here = locate(layer.field, cell, wp.float32(k_next - k) * (1.0 - gathered.opacity))
            while k < k_next and gathered.opacity < OPAQUE:
                distance = (wp.float32(k) + ray.jitter) * view.step
                gathered = add(gathered, layer, here, ray.direction, place(ray, view.step, k), distance)
                k += 1
        color[row, column] = over_scenery(gathered, view.scenery[row, column])
        depth[row, column] = wp.min(gathered.depth, ray.end)

    return composite


def composite_shaded_by(shade: Any) -> Any:
    """The same with a user's shading: shade(value, color, gradient, position, view, light, parameters) -> colour."""

    @wp.func
    def add(gathered: Gathered, layer: Layer, here: Grid, direction: wp.vec3, at: wp.vec3, distance: wp.float32):
        value = value_in(here, at)
        entry = classified(layer, value)
        if entry[3] <= 0.0:
            return gathered
        slope = wp.transpose(layer.to_voxel) * gradient_in(here, at)
        towards = wp.where(layer.light.is_headlight != 0, -direction, layer.light.towards)
        base = wp.vec3(entry[0], entry[1], entry[2])
        color = shade(value, base, slope, at, -direction, towards, layer.parameters)
        return gather(gathered, color, entry[3], distance)

    return composite_with(add)


composite = composite_with(add_sample)


MAXIMUM = wp.constant(0)
MINIMUM = wp.constant(1)
MEAN = wp.constant(2)


@wp.func
def is_beyond(mode: wp.int32, value: wp.float32, found: wp.float32):
    return (mode == MAXIMUM and value > found) or (mode == MINIMUM and value < found)


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
    color[row, column] = view.scenery[row, column]
    if ray.k_last >= ray.k_first:
        count = wp.where(mode == MEAN, wp.float32(ray.k_last - ray.k_first + 1), 1.0)
        entry = classified(layer, found / count)
        color[row, column] = wp.vec4(entry[0], entry[1], entry[2], 1.0)
    depth[row, column] = wp.min(reached, ray.end)


@wp.func
def seen_at(field: Field, at: wp.vec3):
    """The value at a point that a ray sees, which may lie in any cell."""
    return value_in(locate(field, cell_at(field, at), 1.0), at)


@wp.func
def refine(field: Field, ray: Ray, near: wp.float32, far: wp.float32, level: wp.float32):
    """Eight halvings between two samples: where the value passes the level, to 1/256 of a step."""
    is_above = seen_at(field, ray.origin + ray.speed * far) >= level
    for _halving in range(8):
        middle = 0.5 * (near + far)
        if (seen_at(field, ray.origin + ray.speed * middle) >= level) == is_above:
            far = middle
        else:
            near = middle
    return 0.5 * (near + far)


@wp.func
def add_surfaces(
    gathered: Gathered,
    view: View,
    layer: Layer,
    ray: Ray,
    k: wp.int32,
    levels: wp.array(dtype=wp.float32),
    colors: wp.array(dtype=wp.vec4),
    before: wp.float32,
    value: wp.float32,
):
    """The surfaces between sample k - 1 and sample k."""
    far = (wp.float32(k) + ray.jitter) * view.step
    for i in range(levels.shape[0]):
        # A ray that climbs meets the low surfaces first, one that descends the high ones.
        which = wp.where(value < before, levels.shape[0] - 1 - i, i)
        if (before < levels[which]) != (value < levels[which]):
            exact = refine(layer.field, ray, far - view.step, far, levels[which])
            base = wp.vec3(colors[which][0], colors[which][1], colors[which][2])
            at = ray.origin + ray.speed * exact
            here = locate(layer.field, cell_at(layer.field, at), 1.0)
            gathered = gather(gathered, shaded(layer, here, ray.direction, at, base), colors[which][3], exact)
    return gathered


@wp.kernel(enable_backward=False)
def isosurface(
    first: wp.int32,
    view: View,
    layer: Layer,
    levels: wp.array(dtype=wp.float32),
    colors: wp.array(dtype=wp.vec4),
    color: wp.array2d(dtype=wp.vec4),
    depth: wp.array2d(dtype=wp.float32),
):
    """Surfaces where the value passes one of the levels (ascending), refined between samples, lit."""
    row, column = wp.tid()
    row += first
    ray = make_ray(view, layer, row, column)
    gathered = nothing_yet()
    k = ray.k_first
    while k <= ray.k_last and gathered.opacity < OPAQUE:
        cell = cell_of(place(ray, view.step, k), layer.vacancy)
        vacancy = wp.int32(layer.vacancy[cell[2], cell[1], cell[0]])
        k_next = first_beyond(ray, view.step, k, cell, vacancy)
        if vacancy > 0:
            k = k_next
            continue
        before = seen_at(layer.field, place(ray, view.step, wp.max(k - 1, ray.k_first)))
        here = locate(layer.field, cell, wp.float32(k_next - k) * (1.0 - gathered.opacity))
        while k < k_next and gathered.opacity < OPAQUE:
            value = value_in(here, place(ray, view.step, k))
            gathered = add_surfaces(gathered, view, layer, ray, k, levels, colors, before, value)
            before = value
            k += 1
    color[row, column] = over_scenery(gathered, view.scenery[row, column])
    depth[row, column] = wp.min(gathered.depth, ray.end)


MOST_LAYERS = 8
Rows = wp.types.matrix(shape=(MOST_LAYERS, 3), dtype=wp.float32)
Counts = wp.types.vector(length=MOST_LAYERS, dtype=wp.int32)


@wp.struct
class Bundle:
    """One ray through several volumes: its way through each, and the samples from k_first to k_last in any."""

    origins: Rows
    speeds: Rows
    firsts: Counts
    lasts: Counts
    direction: wp.vec3
    jitter: wp.float32
    k_first: wp.int32
    k_last: wp.int32


@wp.func
def make_bundle(view: View, layers: wp.array(dtype=Layer), row: wp.int32, column: wp.int32):
    bundle = Bundle()
    bundle.k_first = 2147483647
    bundle.k_last = -1
    for i in range(layers.shape[0]):
        ray = make_ray(view, layers[i], row, column)
        bundle.origins[i] = ray.origin
        bundle.speeds[i] = ray.speed
        bundle.firsts[i] = ray.k_first
        bundle.lasts[i] = ray.k_last
        bundle.jitter = ray.jitter
        bundle.direction = ray.direction
        if ray.k_last >= ray.k_first:
            bundle.k_first = wp.min(bundle.k_first, ray.k_first)
            bundle.k_last = wp.max(bundle.k_last, ray.k_last)
    return bundle


@wp.func
def next_cells(bundle: Bundle, layers: wp.array(dtype=Layer), step: wp.float32, k: wp.int32):
    """The first sample beyond the cells that hold sample k in any volume; negative where all of them are empty."""
    k_next = bundle.k_last + 1
    sign = wp.int32(-1)
    for i in range(layers.shape[0]):
        if k < bundle.firsts[i] and bundle.lasts[i] >= bundle.firsts[i]:
            k_next = wp.min(k_next, bundle.firsts[i])
        if k >= bundle.firsts[i] and k <= bundle.lasts[i]:
            ray = Ray()
            ray.origin = bundle.origins[i]
            ray.speed = bundle.speeds[i]
            ray.jitter = bundle.jitter
            ray.k_last = bundle.lasts[i]
            cell = cell_of(place(ray, step, k), layers[i].vacancy)
            vacancy = wp.int32(layers[i].vacancy[cell[2], cell[1], cell[0]])
            k_next = wp.min(k_next, first_beyond(ray, step, k, cell, vacancy))
            if vacancy == 0:
                sign = 1
    return sign * wp.max(k_next, k + 1)


@wp.kernel(enable_backward=False)
def composite_many(
    first: wp.int32,
    view: View,
    layers: wp.array(dtype=Layer),
    color: wp.array2d(dtype=wp.vec4),
    depth: wp.array2d(dtype=wp.float32),
):
    """Several volumes, sample by sample at the same places along the ray."""
    row, column = wp.tid()
    row += first
    bundle = make_bundle(view, layers, row, column)
    gathered = nothing_yet()
    k = bundle.k_first
    while k <= bundle.k_last and gathered.opacity < OPAQUE:
        k_next = next_cells(bundle, layers, view.step, k)
        if k_next < 0:
            k_next = -k_next
            k = k_next
        while k < k_next and gathered.opacity < OPAQUE:
            distance = (wp.float32(k) + bundle.jitter) * view.step
            for i in range(layers.shape[0]):
                if k >= bundle.firsts[i] and k <= bundle.lasts[i]:
                    at = bundle.origins[i] + bundle.speeds[i] * distance
                    cell = cell_of(at, layers[i].vacancy)
                    if layers[i].vacancy[cell[2], cell[1], cell[0]] == wp.uint8(0):
                        here = locate(layers[i].field, cell, 1.0 - gathered.opacity)
                        gathered = add_sample(gathered, layers[i], here, bundle.direction, at, distance)
            k += 1
    color[row, column] = over_scenery(gathered, view.scenery[row, column])
    depth[row, column] = wp.min(gathered.depth, view.scenery_depth[row, column])
