"""Several volumes, labels and translucent surfaces in one image, composited sample by sample.

Here: the kernel, and one ray through all of them.
Not here: one volume alone (composite), what is gathered (accumulation, labels), the surfaces (surfaces).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.sampling import Grid, locate
from pellucid.rendering.kernels.accumulation import OPAQUE, Accumulated, over_opaque, seen_before
from pellucid.rendering.kernels.classification import add_step
from pellucid.rendering.kernels.labels import MASK, add_label, is_drawn_at
from pellucid.rendering.kernels.light_rays import FoundLight
from pellucid.rendering.kernels.rays import LayerStruct, Ray, ViewStruct, cell_of, first_beyond, make_ray, place
from pellucid.rendering.kernels.surfaces import meet_surface, meet_surfaces, next_surface
from pellucid.rendering.validation import MAX_VOLUMES

wp.set_module_options({"fast_math": True})

Rows = wp.types.matrix(shape=(MAX_VOLUMES, 3), dtype=wp.float32)
Counts = wp.types.vector(length=MAX_VOLUMES, dtype=wp.int32)


@wp.struct
class RayBundle:
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
def make_bundle(view: ViewStruct, layers: wp.array(dtype=LayerStruct), row: wp.int32, column: wp.int32):
    bundle = RayBundle()
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
def next_cells(bundle: RayBundle, layers: wp.array(dtype=LayerStruct), step: wp.float32, k: wp.int32):
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


@wp.func
def bits_of(layers: wp.array(dtype=LayerStruct), kind: wp.int32):
    """A bit for each layer of a kind: 0 of values, 1 of labels, MASK."""
    bits = wp.int32(0)
    for i in range(layers.shape[0]):
        if layers[i].is_labels == kind:
            bits |= 1 << i
    return bits


@wp.func
def add_any(
    gathered: Accumulated, layer: LayerStruct, here: Grid, direction: wp.vec3, at: wp.vec3, distance: wp.float32
):
    """One sample of a volume of values or of labels."""
    if layer.is_labels != 0:
        return add_label(gathered, layer, here, direction, at, distance)
    return add_step(gathered, layer, here, direction, at, distance)


@wp.kernel(enable_backward=False)
def composite_many(
    first: wp.int32,
    view: ViewStruct,
    layers: wp.array(dtype=LayerStruct),
    color: wp.array2d(dtype=wp.vec4),
    depth: wp.array2d(dtype=wp.float32),
):
    """Sample by sample at the same places along the ray; surfaces come where they lie between two of them."""
    row, column = wp.tid()
    row += first
    bundle, gathered = make_bundle(view, layers, row, column), seen_before(view, row, column)
    # The voxels of each volume, and the light that was found last in it.
    grids, lights = wp.zeros(shape=MAX_VOLUMES, dtype=Grid), Rows(wp.float32(1.0))
    masks, values, passed = bits_of(layers, MASK), bits_of(layers, 0), wp.int32(0)
    surface = next_surface(view, row, column, passed)
    k = bundle.k_first
    while k <= bundle.k_last and gathered.opacity < OPAQUE:
        k_next = next_cells(bundle, layers, view.step, k)
        if k_next < 0:
            k = -k_next
            continue
        # In which volumes something is visible, a bit for each: up to the next cells this stays so.
        visible = wp.int32(0)
        for i in range(layers.shape[0]):
            if k >= bundle.firsts[i] and k <= bundle.lasts[i]:
                at = bundle.origins[i] + bundle.speeds[i] * ((wp.float32(k) + bundle.jitter) * view.step)
                cell = cell_of(at, layers[i].vacancy)
                if layers[i].vacancy[cell[2], cell[1], cell[0]] == wp.uint8(0):
                    grids[i] = locate(layers[i].field, cell, wp.float32(k_next - k) * (1.0 - gathered.opacity))
                    visible |= 1 << i
        while k < k_next and gathered.opacity < OPAQUE:
            distance, drawn = (wp.float32(k) + bundle.jitter) * view.step, visible & masks == masks
            while surface <= distance:
                gathered = meet_surface(gathered, view, row, column, passed)
                passed += 1
                surface = next_surface(view, row, column, passed)
            for i in range(layers.shape[0]):
                if drawn and (masks >> i) & 1 == 1:
                    drawn = is_drawn_at(layers[i], grids[i], bundle.origins[i] + bundle.speeds[i] * distance)
            taken = visible & ~(masks | wp.where(drawn, wp.int32(0), values))
            for i in range(layers.shape[0]):
                if (taken >> i) & 1 == 1:
                    at = bundle.origins[i] + bundle.speeds[i] * distance
                    gathered.light = FoundLight(lights[i][0], lights[i][1], lights[i][2])
                    gathered = add_any(gathered, layers[i], grids[i], bundle.direction, at, distance)
                    lights[i] = wp.vec3(gathered.light.shadow, gathered.light.sky, gathered.light.spent)
            k += 1
    gathered, passed = meet_surfaces(gathered, view, row, column, passed, view.scenery_depth[row, column])
    color[row, column] = over_opaque(gathered, view.scenery[row, column])
    depth[row, column] = wp.min(gathered.depth, view.scenery_depth[row, column])
