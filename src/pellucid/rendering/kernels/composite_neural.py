"""One neural field, front to back, evaluated where rays sample it: nothing is decoded beforehand, nothing is kept.

Here: the kernels that draw it, unlit or lit by its gradient, on CUDA and on the CPU.
Not here: evaluation (fields.neural.kernels), fields that fit once they are decoded (composite, composite_texture).

The rays of a warp stay together: each walks to its own next visible sample, then all samples are evaluated at once.
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.neural.kernels import NeuralStruct, any_of_warp, load_weights, value_of
from pellucid.rendering.kernels.accumulation import OPAQUE, accumulate, classified, over_opaque, seen_before
from pellucid.rendering.kernels.rays import LayerStruct, ViewStruct, cell_of, first_beyond, make_ray, place
from pellucid.rendering.kernels.shading import GRADIENT, lit_along


@wp.func
def gradient_of(model: NeuralStruct, weights: wp.uint32, at: wp.vec3, is_wanted: wp.int32):
    """Change of the value per voxel along (x, y, z): central differences, one voxel apart."""
    change = wp.vec3()
    for axis in range(3):
        step = wp.vec3()
        step[axis] = 1.0
        after = value_of(model, weights, at + step, is_wanted)
        before = value_of(model, weights, at - step, is_wanted)
        change[axis] = 0.5 * (after - before)
    return change


@wp.func
def draw_ray(
    view: ViewStruct,
    layer: LayerStruct,
    model: NeuralStruct,
    weights: wp.uint32,
    pixel: wp.vec2i,
    is_inside: wp.int32,
    color: wp.array2d(dtype=wp.vec4),
    depth: wp.array2d(dtype=wp.float32),
):
    """One ray. is_inside: 0 for a thread that is only there because its warp is."""
    row = pixel[0]
    column = pixel[1]
    ray = make_ray(view, layer, row, column)
    gathered = seen_before(view, row, column)
    k = ray.k_first
    last = ray.k_last
    if is_inside == 0:
        last = k - 1
    end = k  # Up to here all samples lie in a visible cell.
    is_any = wp.int32(1)
    while is_any != 0:
        while k <= last and k >= end and gathered.opacity < OPAQUE:
            cell = cell_of(place(ray, view.step, k), layer.vacancy)
            vacancy = wp.int32(layer.vacancy[cell[2], cell[1], cell[0]])
            end = first_beyond(ray, view.step, k, cell, vacancy)
            if vacancy > 0:
                k = end
        is_wanted = wp.where(k <= last and gathered.opacity < OPAQUE, 1, 0)
        is_any = any_of_warp(is_wanted)
        if is_any != 0:
            at = place(ray, view.step, k)
            entry = classified(layer, value_of(model, weights, at, is_wanted))
            is_visible = wp.where(is_wanted != 0 and entry[3] > 0.0, 1, 0)
            base = wp.vec3(entry[0], entry[1], entry[2])
            if layer.shading == GRADIENT and any_of_warp(is_visible) != 0:
                gradient = gradient_of(model, weights, at, is_visible)
                base = lit_along(layer, gradient, ray.direction, base, 1.0)
            if is_visible != 0:
                distance = (wp.float32(k) + ray.jitter) * view.step
                gathered = accumulate(gathered, base, entry[3], distance)
            k += 1
    if is_inside != 0:
        color[row, column] = over_opaque(gathered, view.scenery[row, column])
        depth[row, column] = wp.min(gathered.depth, ray.end)


@wp.func_native(
    """
#if defined(__CUDA_ARCH__)
    return wp::vec2i(8, 1);
#else
    return wp::vec2i(4, 16);
#endif
"""
)
def tile_size() -> wp.vec2i:
    """Pixels along the edge of a tile, and how many of them a thread draws: on CUDA a block shares a tile."""
    return wp.vec2i()


@wp.kernel(enable_backward=False, module="unique", module_options={"fast_math": True})
def composite_neural(
    first: wp.int32,
    view: ViewStruct,
    layer: LayerStruct,
    model: NeuralStruct,
    rows: wp.vec2i,
    color: wp.array2d(dtype=wp.vec4),
    depth: wp.array2d(dtype=wp.float32),
):
    """Tile by tile. rows: of the image, from the first to before the second."""
    down, across, thread = wp.tid()
    weights = load_weights(model)
    size = tile_size()
    for n in range(size[1]):
        pixel = thread + n
        row = rows[0] + (down + first) * size[0] + pixel // size[0]
        column = across * size[0] + pixel % size[0]
        is_inside = wp.where(row < rows[1] and column < color.shape[1], 1, 0)
        nearest = wp.vec2i(wp.min(row, rows[1] - 1), wp.min(column, color.shape[1] - 1))
        draw_ray(view, layer, model, weights, nearest, is_inside, color, depth)
