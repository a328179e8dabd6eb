"""One volume, front to back, on a CPU: sixteen rays and sixteen samples at a time.

A volume that is whole is drawn in blocks: samples of four rays that lie near one another; blocks in which nothing is
visible are left out. One in bricks is drawn ray by ray, because each brick has its own place.

Here: the kernels, for volumes that are whole and for volumes in bricks, around the C++ beside this file.
Not here: volumes on CUDA (composite_texture), users' shadings, which are drawn ray by ray (composite).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

from pathlib import Path
from typing import Any

import warp as wp

from pellucid.device import Device
from pellucid.fields.sizes import APRON, BRICK, BRICK_SHIFT, CELL, PADDED
from pellucid.rendering.drawing import light_rays
from pellucid.rendering.kernels.accumulation import OPAQUE
from pellucid.rendering.kernels.rays import SHADINGS, LayerStruct, ViewStruct

TILE = 4
"""Pixels along the edge of a tile, whose rays go together."""

LANES = TILE * TILE
WHOLE = ("rays", "values", "light", "samples", "occupancy", "blocks", "result")
BRICKS = ("rays", "values", "light", "samples", "cells", "result")
"""Files of C++, in the order in which they are compiled as one function."""

MAX_OFFSET = 2**31
"""Voxels from one to another of the samples that are taken at once: they are counted in 32 bits."""

_LIGHT = ("OPEN_SKY", "MIN_OPEN", "BEFORE", "FIRST", "SKY_STEPS", "DARK", "TURN", "GLINT")
_FLOATS = {
    "EDGE": CELL,
    "OPAQUE": OPAQUE,
    "LEVEL": light_rays.FLAT,
    **{name: getattr(light_rays, name) for name in _LIGHT},
}
_WHOLES = {
    "N": LANES,
    "SIDE": TILE,
    "CELL": CELL,
    "BRICK": BRICK,
    "BRICK_SHIFT": BRICK_SHIFT,
    "APRON": APRON,
    "PADDED": PADDED,
}
_SHADINGS = {"UNLIT": "none", "GRADIENT": "gradient", "SHADOW": "shadow", "OCCLUSION": "occlusion"}
_NUMBERS = [
    *(f"constexpr float {name} = {float(number)}f;" for name, number in _FLOATS.items()),
    *(f"constexpr int {name} = {number};" for name, number in _WHOLES.items()),
    *(f"constexpr int {name} = {SHADINGS[shading]};" for name, shading in _SHADINGS.items()),
]


def is_for(layer: LayerStruct, device: Device) -> bool:
    """Whether these kernels can draw a layer: on a CPU, a volume that is at least two voxels thick."""
    if device.is_cuda or min(layer.field.shape) < 2:
        return False
    step = max(layer.step, layer.light_rays.sky_step * layer.voxel)
    planes = LANES * step * sum(abs(layer.to_voxel[2, axis]) for axis in range(3)) + 2
    return planes * int(layer.field.whole.plane) < MAX_OFFSET


def composite_packets_of(is_in_bricks: bool) -> Any:
    """The kernel for volumes that are whole, or for those in bricks."""
    parts = BRICKS if is_in_bricks else WHOLE
    text = "\n".join(Path(__file__).with_name(f"{part}.cpp").read_text() for part in parts)
    # A product and a sum in one instruction, which Warp does not ask for on a CPU.
    start = ["{", "#pragma clang fp contract(fast)", *_NUMBERS, f"#define IN_BRICKS {is_in_bricks:d}"]
    lines = [*start, text, "#undef IN_BRICKS", "}"]

    @wp.func_native("\n".join(lines))
    def draw_tile(
        view: ViewStruct,
        layer: LayerStruct,
        rows: wp.vec2i,
        row: wp.int32,
        column: wp.int32,
        color: wp.array2d(dtype=wp.vec4),
        depth: wp.array2d(dtype=wp.float32),
    ): ...

    @wp.kernel(enable_backward=False, module="unique")
    def composite_packets(
        first: wp.int32,
        view: ViewStruct,
        layer: LayerStruct,
        rows: wp.vec2i,
        color: wp.array2d(dtype=wp.vec4),
        depth: wp.array2d(dtype=wp.float32),
    ):
        """A tile; rows: of the image, from the first to before the second."""
        down, across = wp.tid()
        draw_tile(view, layer, rows, rows[0] + (down + first) * TILE, across * TILE, color, depth)

    return composite_packets


composite_whole = composite_packets_of(is_in_bricks=False)
composite_bricks = composite_packets_of(is_in_bricks=True)
