"""Bricks of any neural volume: several overlapping fields, every encoding, and a residual.

Here: a field as these kernels see it (AnyFieldStruct), and the bricks of a volume in one launch.
Not here: one field of feature grids, with the products of matrices that a GPU has units for (kernels).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

from pathlib import Path

import warp as wp

from pellucid.fields.neural.kernels import BrickOutput, store_voxel
from pellucid.fields.sizes import APRON, BRICK, HIDDEN, MAX_WIDTH, PADDED

VOXELS = wp.constant(PADDED)


@wp.struct
class AnyFieldStruct:
    """A field of a box of voxels. table, grids, transforms, levels, waves, width: as in PackedField. weights: of the
    hidden layers, in rows of HIDDEN, then those of the last. low, scale: from what the network returns to values.
    spline: as in NeuralStruct. start, last: first and last voxel of the box along (x, y, z). overlap: voxels that it
    shares with neighbours. is_first, is_last: whether it ends where the volume does, 1 or 0."""

    table: wp.array(dtype=wp.float32)
    grids: wp.array(dtype=wp.int32, ndim=2)
    transforms: wp.array(dtype=wp.float32, ndim=2)
    levels: wp.array(dtype=wp.int32, ndim=2)
    waves: wp.array(dtype=wp.float32, ndim=2)
    weights: wp.array(dtype=wp.float32)
    width: wp.int32
    layers: wp.int32
    is_snake: wp.int32
    low: wp.float32
    scale: wp.float32
    spline: wp.array(dtype=wp.float32)
    spline_cells: wp.vec3i
    start: wp.vec3
    last: wp.vec3
    overlap: wp.vec3
    is_first: wp.vec3i
    is_last: wp.vec3i


def _native(text: str) -> str:
    """C++ with the sizes of this module in place of their names."""
    return text.replace("MAX_WIDTH", str(MAX_WIDTH)).replace("HIDDEN", str(HIDDEN))


@wp.func_native(_native(Path(__file__).with_name("any_value.cpp").read_text()))
def value_at(model: AnyFieldStruct, px: wp.float32, py: wp.float32, pz: wp.float32) -> wp.float32:
    """The value at a point in [-1, 1]."""
    return 0.0


@wp.func
def share_of(model: AnyFieldStruct, at: wp.vec3):
    """How much a field counts at a voxel position: see NeuralVolume."""
    share = wp.float32(1.0)
    for axis in range(3):
        position = at[axis]
        overlap = model.overlap[axis]
        below = wp.where(model.is_first[axis] == 1, 1.0, (position - model.start[axis] + 1.0) / (overlap + 1.0))
        above = wp.where(model.is_last[axis] == 1, 1.0, (model.last[axis] + 1.0 - position) / (overlap + 1.0))
        depth = wp.clamp(wp.min(below, above), 0.0, 1.0)
        own = depth * depth * (3.0 - 2.0 * depth)
        is_outside = position < model.start[axis] or position > model.last[axis]
        share = share * wp.where(is_outside and overlap > 0.0, 0.0, own)
    return share


@wp.func
def point_in(model: AnyFieldStruct, at: wp.vec3):
    """A voxel position as a point of a field, from -1 to 1."""
    point = wp.vec3()
    for axis in range(3):
        length = model.last[axis] - model.start[axis]
        where = (at[axis] - model.start[axis]) * (2.0 / wp.max(length, 1.0)) - 1.0
        point[axis] = wp.where(length > 0.0, wp.clamp(where, -1.0, 1.0), 0.0)
    return point


@wp.kernel(enable_backward=False, module="unique")
def decode_blended(
    first: wp.int32,
    models: wp.array(dtype=AnyFieldStruct),
    starts: wp.array(dtype=wp.int32),
    members: wp.array(dtype=wp.int32),
    bricks: wp.array(dtype=wp.vec3i),
    last: wp.vec3,
    residual: wp.array(dtype=wp.float32),
    out: BrickOutput,
):
    """Voxels of some bricks of a level, with their aprons. members: the fields that count in a brick, from ``starts``
    of it to that of the next. last: the last voxel of the volume. residual: is added, if it is not empty."""
    brick, inside = wp.tid()
    brick += first
    corner = bricks[brick] * BRICK - wp.vec3i(APRON, APRON, APRON)
    place = wp.vec3i(inside % VOXELS, inside // VOXELS % VOXELS, inside // (VOXELS * VOXELS))
    at = wp.vec3()
    for axis in range(3):
        voxel = wp.clamp(corner[axis] + place[axis], 0, out.shape[axis] - 1)
        at[axis] = wp.clamp((wp.float32(voxel) + 0.5) * out.scale[axis] - 0.5, 0.0, last[axis])
    value = wp.float32(0.0)
    total = wp.float32(0.0)
    for n in range(starts[brick], starts[brick + 1]):
        model = models[members[n]]
        share = share_of(model, at)
        if share > 0.0:
            point = point_in(model, at)
            value += share * value_at(model, point[0], point[1], point[2])
            total += share
    if total > 0.0:
        value = value / total
    index = wp.int64(brick) * wp.int64(VOXELS * VOXELS * VOXELS) + wp.int64(inside)
    if residual.shape[0] > 0:
        value += residual[index]
    store_voxel(out.voxels, index, out.kind, out.is_integer, value)
