"""Paths of light through one volume in a hardware texture, on CUDA alone.

Here: the kernel: tile by tile, and each thread begins its next path as soon as its last has ended.
Not here: what happens along a path (the package itself), scenes of other things, the CPU (there too).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

from typing import Any

import warp as wp

from pellucid.fields.sizes import BRICK, BRICK_SHIFT
from pellucid.rendering.kernels.path_tracing import (
    WANTED,
    Going,
    PathSums,
    TraceOptions,
    Vertex,
    begin,
    next_vertex,
    onward,
    set_out,
    unlit,
)
from pellucid.rendering.kernels.path_tracing.scenes import TexturedScene
from pellucid.rendering.kernels.rays import FAR, ViewStruct

wp.set_module_options({"fast_math": True})

TILE = 8
"""Pixels along the edge of a tile."""


@wp.func
def keep_first(sums: PathSums, row: wp.int32, column: wp.int32, vertex: Vertex):
    """What a path met first."""
    color = vertex.color
    sums.light[row, column] += wp.vec4(0.0, 0.0, 0.0, 1.0)
    sums.guides[row, column] += wp.vec4(color[0], color[1], color[2], vertex.distance)
    sums.normals[row, column] += vertex.normal


@wp.func
def keep_light(sums: PathSums, row: wp.int32, column: wp.int32, light: wp.vec3):
    """What a path brought."""
    sums.light[row, column] += wp.vec4(light[0], light[1], light[2], 0.0)
    bright = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]
    sums.squares[row, column] += bright * bright


@wp.func
def note_seen(scene: TexturedScene, place: wp.vec3):
    """The brick of a place is seen."""
    field = scene.only.medium.field
    at = scene.only.medium.to_voxel * place + scene.only.medium.shift
    brick = wp.vec3i()
    for axis in range(3):
        brick[axis] = wp.clamp(wp.int32(at[axis] + 0.5), 0, field.shape[axis] - 1) >> BRICK_SHIFT
    across = (field.shape[0] + BRICK - 1) >> BRICK_SHIFT
    down = (field.shape[1] + BRICK - 1) >> BRICK_SHIFT
    wp.atomic_add(field.wanted, (brick[2] * down + brick[1]) * across + brick[0], 1.0)


def trace_textured_with(threads: int, blocks: int) -> Any:
    """The kernel. threads: of a block; blocks: on a multiprocessor, which bounds registers."""

    @wp.kernel(enable_backward=False, launch_bounds=(threads, blocks))
    def trace_textured(
        first: wp.int32,
        view: ViewStruct,
        scene: TexturedScene,
        options: TraceOptions,
        rows: wp.vec2i,
        sums: PathSums,
    ):
        """Follow some more paths of every pixel. rows: of the image, from the first to before the second."""
        down, across, thread = wp.tid()
        row = rows[0] + (down + first) * TILE + thread // TILE
        column = across * TILE + thread % TILE
        if row >= rows[1] or column >= sums.light.shape[1]:
            return
        going = Going()
        going.count = options.most
        slice = wp.vec4()
        n = wp.int32(0)
        while n < options.samples or going.count < options.most:
            if going.count >= options.most:
                start = set_out(view, scene.planes, options, wp.vec3i(row, column, options.first_sample + n))
                slice = start.slice
                going = begin(start.path, start.random)
                n += 1
            is_first = going.count == 0
            vertex = next_vertex(scene, options, going.path, WANTED, going.random)
            if is_first:
                if vertex.kind == 0 and slice[3] < FAR and going.path.far >= slice[3]:
                    vertex.kind = 3
                    vertex.distance = slice[3]
                    color = wp.vec3(slice[0], slice[1], slice[2])
                    going.light = unlit(color, options.exposure)
                    keep_light(sums, row, column, going.light)
                    vertex.color = color
                    keep_first(sums, row, column, vertex)
                    vertex.kind = 0
                elif vertex.kind > 0:
                    keep_first(sums, row, column, vertex)
                    if n == 1:
                        note_seen(scene, vertex.place)
            going = onward(scene, options, going, vertex)
            if going.count >= options.most and (vertex.kind > 0 or not is_first):
                keep_light(sums, row, column, going.light)

    return trace_textured


trace_textured = trace_textured_with(TILE * TILE, 16)
