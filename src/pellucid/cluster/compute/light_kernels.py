"""What parts of a volume leave of the light, for the parts behind them.

Here: light_through_part, for each line to the light; multiplied, of several parts one behind the other.
Not here: following a ray (rendering.kernels.light_rays), which lines (drawing.light_parts).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.rendering.kernels.light_rays import FIRST, main_axis, passes_until
from pellucid.rendering.kernels.rays import FAR, LayerStruct

wp.set_module_options({"fast_math": True})


@wp.kernel(enable_backward=False)
def light_through_part(first: wp.int32, layer: LayerStruct, out: wp.array3d(dtype=wp.float32)):
    row, column = wp.tid()
    row += first
    rays = layer.light_rays
    axis = main_axis(rays.towards)
    start = wp.vec3()
    start[wp.where(axis == 0, 1, 0)] = rays.beyond_first[0] + wp.float32(column)
    start[wp.where(axis == 2, 1, 2)] = rays.beyond_first[1] + wp.float32(row)
    near = -FAR
    far = wp.float32(FAR)
    for i in range(3):
        low = wp.max(rays.part_low[i], layer.low[i])
        high = wp.min(rays.part_high[i], layer.high[i])
        if wp.abs(rays.towards[i]) > 1.0e-12:
            a = (low - start[i]) / rays.towards[i]
            b = (high - start[i]) / rays.towards[i]
            near = wp.max(near, wp.min(a, b))
            far = wp.min(far, wp.max(a, b))
        elif start[i] < low or start[i] > high:
            far = -FAR
    light = wp.float32(1.0)
    if far > near:
        begin = near - FIRST + 0.5
        light = passes_until(layer, start + rays.towards * begin, far - begin, 0.0)
    out[0, row, column] = light


@wp.kernel(enable_backward=False)
def multiplied(
    first: wp.int32,
    light: wp.array3d(dtype=wp.float32),
    row_shift: wp.int32,
    column_shift: wp.int32,
    out: wp.array3d(dtype=wp.float32),
):
    row, column = wp.tid()
    row += first
    at = row + row_shift
    beside = column + column_shift
    if at >= 0 and at < light.shape[1] and beside >= 0 and beside < light.shape[2]:
        out[0, row, column] = out[0, row, column] * light[0, at, beside]
