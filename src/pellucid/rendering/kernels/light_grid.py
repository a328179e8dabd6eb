"""How much light reaches a point through the volume around it.

Here: the kernels that work it out for a coarse grid, and soften it.
Not here: when that is done (illumination), using it (kernels).
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.sampling import FieldStruct, gradient, sample, table_row
from pellucid.rendering.drawing.illumination import LOOKED_UP

wp.set_module_options({"fast_math": True})

DARK = wp.constant(0.004)
FAR = wp.constant(3.0e38)
BEYOND = wp.constant(LOOKED_UP)


@wp.struct
class EdgeFactors:
    """How much of the material counts, by the gradient's magnitude; without factors, all of it.

    steepness: from a gradient in voxels to one whose magnitude counts; low, scale: from there to a row of the factors.
    """

    factors: wp.array(dtype=wp.float32)
    low: wp.float32
    scale: wp.float32
    steepness: wp.mat33


@wp.func
def left_by(edges: EdgeFactors, field: FieldStruct, at: wp.vec3, opacity: wp.float32):
    """What the gradient at a point leaves of an opacity."""
    if edges.factors.shape[0] == 0 or opacity <= 0.0:
        return opacity
    length = wp.length(edges.steepness * gradient(field, at))
    factor = edges.factors[table_row(length, edges.low, edges.scale, edges.factors.shape[0])]
    return wp.where(factor > 0.0, 1.0 - wp.pow(1.0 - opacity, factor), 0.0)


@wp.func
def before_cut(sides: wp.array(dtype=wp.vec4), at: wp.vec3):
    """How far a point is, in voxels, from what is cut away; below 0 where it is cut away itself."""
    least = wp.float32(FAR)
    for i in range(sides.shape[0]):
        least = wp.min(least, wp.dot(wp.vec3(sides[i][0], sides[i][1], sides[i][2]), at) - sides[i][3])
    return least


@wp.func
def passes(
    field: FieldStruct,
    opacity: wp.array(dtype=wp.float32),
    value_low: wp.float32,
    value_scale: wp.float32,
    edges: EdgeFactors,
    sides: wp.array(dtype=wp.vec4),
    start: wp.vec3,
    towards: wp.vec3,
    reach: wp.float32,
):
    """The part of the light that comes through, from ``reach`` voxels away or from outside the volume."""
    light = wp.float32(1.0)
    way = wp.float32(1.5)  # Beyond the voxel itself: a surface does not shade itself.
    while way < reach and light > DARK:
        at = start + towards * way
        for axis in range(3):
            if at[axis] < -0.5 or at[axis] > wp.float32(field.shape[axis]) - 0.5:
                way = reach
        if way < reach and before_cut(sides, at) >= 0.0:
            taken = opacity[table_row(sample(field, at), value_low, value_scale, opacity.shape[0])]
            light *= 1.0 - left_by(edges, field, at, taken)
        way += 1.0
    return light


@wp.kernel(enable_backward=False)
def find_light(
    first: wp.int32,
    field: FieldStruct,
    opacity: wp.array(dtype=wp.float32),
    value_low: wp.float32,
    value_scale: wp.float32,
    edges: EdgeFactors,
    sides: wp.array(dtype=wp.vec4),
    towards: wp.array(dtype=wp.vec3),
    reach: wp.float32,
    every: wp.int32,
    of_all: wp.array3d(dtype=wp.float32),
    light: wp.array3d(dtype=wp.float32),
):
    """The mean over all directions of the light that comes from there. of_all: the same where nothing is cut away, or
    nothing."""
    z, y, x = wp.tid()
    z += first
    start = wp.vec3(wp.float32(x * every), wp.float32(y * every), wp.float32(z * every))
    distance = before_cut(sides, start)
    if distance < -BEYOND:  # Nobody will ask.
        light[z, y, x] = 1.0
        return
    if of_all.shape[0] > 0 and distance > reach:
        light[z, y, x] = of_all[z, y, x]
        return
    total = wp.float32(0.0)
    for i in range(towards.shape[0]):
        total += passes(field, opacity, value_low, value_scale, edges, sides, start, towards[i], reach)
    light[z, y, x] = total / wp.float32(towards.shape[0])


@wp.kernel(enable_backward=False)
def soften(first: wp.int32, light: wp.array3d(dtype=wp.float32), soft: wp.array3d(dtype=wp.float32)):
    """The mean of every place and the 26 around it; beyond the border, the nearest."""
    z, y, x = wp.tid()
    z += first
    total = wp.float32(0.0)
    for n in range(27):
        k = wp.clamp(z + n // 9 - 1, 0, light.shape[0] - 1)
        j = wp.clamp(y + (n // 3) % 3 - 1, 0, light.shape[1] - 1)
        i = wp.clamp(x + n % 3 - 1, 0, light.shape[2] - 1)
        total += light[k, j, i]
    soft[z, y, x] = total / 27.0
