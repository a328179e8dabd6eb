"""One volume in a hardware texture, front to back, on CUDA alone.

Here: the kernels that draw it, unlit and lit: as fast as a ray caster written by hand for one texture.
Not here: volumes in plain memory, transfer functions of two axes, labels, surfaces that are seen through (composite).

Four samples are fetched before the first of them is looked at, so that their ways through the texture unit overlap. A
ray asks for cells only where some of those ahead are empty, and for a brick when it enters one. The pixels of a block
of threads are a tile, so that they read the same voxels.
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

from typing import Any

import warp as wp

from pellucid.fields.sampling import Grid, locate
from pellucid.fields.sizes import BRICK, CELL
from pellucid.fields.texture_kernels import raw_offset, raw_scale, texture_at, texture_gradient
from pellucid.rendering.kernels.gathering import OPAQUE, Gathered, gather, over_scenery, seen_before
from pellucid.rendering.kernels.lighting import GRADIENT, OCCLUSION, SHADOW, in_shadow, lit_along, open_sky
from pellucid.rendering.kernels.rays import FAR, Layer, Ray, View, cell_of, first_beyond, make_ray

TILE = 8
"""Pixels along the edge of a tile."""

THREADS = TILE * TILE
WITNESS = wp.constant(27)
"""The thread of a tile that tells which bricks of a whole volume are seen; of one in bricks, all do."""

CELLS = wp.constant(BRICK // CELL)
WIDTH = wp.constant(float(BRICK))


@wp.func
def unlit(layer: Layer, here: Grid, direction: wp.vec3, at: wp.vec3, base: wp.vec3):
    return base


@wp.func
def lit_in_texture(layer: Layer, here: Grid, direction: wp.vec3, at: wp.vec3, base: wp.vec3):
    """What lighting.shaded gives."""
    if layer.shading == SHADOW:
        return in_shadow(layer, direction, at, base)
    if layer.shading != GRADIENT and layer.shading != OCCLUSION:  # noqa: PLR1714 (Warp has no "in")
        return base
    color = lit_along(layer, texture_gradient(here, at), direction, base)
    if layer.shading == OCCLUSION:
        color = color * open_sky(layer, direction, at)
    return color


@wp.func
def leaves_brick(ray: Ray, at: wp.vec3, cell: wp.vec3i):
    """How far in world units from a point along the ray to the border of its brick."""
    distance = wp.float32(FAR)
    for axis in range(3):
        border = wp.float32(cell[axis] // CELLS) * WIDTH - 0.5
        if ray.speed[axis] > 1.0e-12:
            distance = wp.min(distance, (border + WIDTH - at[axis]) / ray.speed[axis])
        elif ray.speed[axis] < -1.0e-12:
            distance = wp.min(distance, (border - at[axis]) / ray.speed[axis])
    return distance


@wp.func
def run_end(ray: Ray, step: wp.float32, k: wp.int32, cell: wp.vec3i, solidity: wp.int32):
    """The first sample after k that may lie in another brick, or beyond cells that are all visible."""
    distance = (wp.float32(k) + ray.jitter) * step
    border = distance + leaves_brick(ray, ray.origin + ray.speed * distance, cell)
    beyond = wp.max(k + 1, wp.int32(wp.ceil(border / step - ray.jitter - 1.0e-3)))
    return wp.min(beyond, first_beyond(ray, step, k, cell, solidity))


@wp.func
def entry_of(layer: Layer, place: wp.float32, is_taken: wp.bool):
    """Colour and opacity for a place among the rows of the table; nothing for a sample that is not taken."""
    place = wp.where(place > 0.0, place, 0.0)
    entry = layer.table[wp.int32(wp.min(place, wp.float32(layer.table.shape[0] - 1)))]
    return wp.vec4(entry[0], entry[1], entry[2], wp.where(is_taken, entry[3], 0.0))


def run_lit_by(shade: Any) -> Any:
    """The function that adds a run of samples, with the one that lights a sample compiled into its loop."""

    @wp.func
    def add(gathered: Gathered, layer: Layer, here: Grid, ray: Ray, entry: wp.vec4, distance: wp.float32):
        if entry[3] <= 0.0 or gathered.opacity >= OPAQUE:
            return gathered
        at = ray.origin + ray.speed * distance
        color = shade(layer, here, ray.direction, at, wp.vec3(entry[0], entry[1], entry[2]))
        return gather(gathered, color, entry[3], distance)

    @wp.func
    def add_run(gathered: Gathered, layer: Layer, here: Grid, ray: Ray, step: wp.float32, k: wp.int32, end: wp.int32):
        """The samples from k to before end, in one brick."""
        origin = wp.cw_mul(ray.origin, here.scale) + here.shift
        speed = wp.cw_mul(ray.speed, here.scale)
        scale = raw_scale(here) * layer.value_scale
        offset = (raw_offset(here) - layer.value_low) * layer.value_scale + 0.5
        while k < end and gathered.opacity < OPAQUE:
            a = (wp.float32(k) + ray.jitter) * step
            b = (wp.float32(k + 1) + ray.jitter) * step
            c = (wp.float32(k + 2) + ray.jitter) * step
            d = (wp.float32(k + 3) + ray.jitter) * step
            at_a = texture_at(here.voxels, origin + speed * a)
            at_b = texture_at(here.voxels, origin + speed * b)
            at_c = texture_at(here.voxels, origin + speed * c)
            at_d = texture_at(here.voxels, origin + speed * d)
            entry_a = entry_of(layer, at_a * scale + offset, True)
            entry_b = entry_of(layer, at_b * scale + offset, k + 1 < end)
            entry_c = entry_of(layer, at_c * scale + offset, k + 2 < end)
            entry_d = entry_of(layer, at_d * scale + offset, k + 3 < end)
            gathered = add(gathered, layer, here, ray, entry_a, a)
            gathered = add(gathered, layer, here, ray, entry_b, b)
            gathered = add(gathered, layer, here, ray, entry_c, c)
            gathered = add(gathered, layer, here, ray, entry_d, d)
            k += 4
        return gathered

    return add_run


def composite_textured_with(add_run: Any) -> Any:
    """The kernel, with the function that adds a run of samples compiled into its loop."""

    @wp.kernel(enable_backward=False, module="unique", module_options={"fast_math": True})
    def composite_textured(
        first: wp.int32,
        view: View,
        layer: Layer,
        solidity: wp.array3d(dtype=wp.uint8),
        rows: wp.vec2i,
        color: wp.array2d(dtype=wp.vec4),
        depth: wp.array2d(dtype=wp.float32),
    ):
        """solidity: from every visible cell, how many cells to the nearest in which nothing is visible; rows: of the
        picture, from the first to before the second."""
        down, across, thread = wp.tid()
        row = rows[0] + (down + first) * TILE + thread // TILE
        column = across * TILE + thread % TILE
        if row >= rows[1] or column >= color.shape[1]:
            return
        ray = make_ray(view, layer, row, column)
        share = wp.where(layer.field.levels.shape[0] > 0, 1.0, wp.where(thread == WITNESS, float(THREADS), 0.0))
        gathered = seen_before(view, row, column)
        k = ray.k_first
        while k <= ray.k_last and gathered.opacity < OPAQUE:
            cell = cell_of(ray.origin + ray.speed * ((wp.float32(k) + ray.jitter) * view.step), layer.vacancy)
            vacancy = wp.int32(layer.vacancy[cell[2], cell[1], cell[0]])
            if vacancy > 0:
                k = first_beyond(ray, view.step, k, cell, vacancy)
            else:
                solid = wp.int32(solidity[cell[2], cell[1], cell[0]])
                end = run_end(ray, view.step, k, cell, solid)
                here = locate(layer.field, cell, share * wp.float32(end - k) * (1.0 - gathered.opacity))
                gathered = add_run(gathered, layer, here, ray, view.step, k, end)
                k = end
        color[row, column] = over_scenery(gathered, view.scenery[row, column])
        depth[row, column] = wp.min(gathered.depth, ray.end)

    return composite_textured


composite_unlit = composite_textured_with(run_lit_by(unlit))
composite_lit = composite_textured_with(run_lit_by(lit_in_texture))
