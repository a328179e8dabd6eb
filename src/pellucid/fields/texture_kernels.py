"""Kernels and functions for voxels that are a hardware texture, on CUDA alone.

Here: writing boxes and bricks into a texture; reading one without asking whether it is one.
Not here: fields that may be either (sampling), owning textures (textures).
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields import texture_reads
from pellucid.fields.sampling import Grid
from pellucid.fields.sizes import PADDED

BRICK_VOXELS = wp.constant(PADDED**3)


@wp.func_native(
    """
#if defined(__CUDA_ARCH__)
    const cudaSurfaceObject_t target = (cudaSurfaceObject_t)(surface);
    // The surface wants the way along x in bytes. The highest bit of signed voxels is turned round.
    if (kind < 2) {
        const unsigned char voxel = ((const unsigned char*)voxels)[index] ^ (kind == 1 ? 0x80 : 0);
        surf3Dwrite(voxel, target, x, y, z);
    } else if (kind < 5) {
        const unsigned short voxel = ((const unsigned short*)voxels)[index] ^ (kind == 3 ? 0x8000 : 0);
        surf3Dwrite(voxel, target, x * 2, y, z);
    } else {
        surf3Dwrite(((const float*)voxels)[index], target, x * 4, y, z);
    }
#endif
"""
)
def write_voxel(
    voxels: wp.uint64,
    index: wp.int64,
    kind: wp.int32,
    surface: wp.uint64,
    x: wp.int32,
    y: wp.int32,
    z: wp.int32,
): ...


@wp.kernel(enable_backward=False)
def write_box(
    first: wp.int32,
    voxels: wp.uint64,
    kind: wp.int32,
    shape: wp.vec3i,
    start: wp.vec3i,
    surface: wp.uint64,
):
    """Voxels that lie in memory as one array of ``shape`` (x, y, z), from ``start`` on."""
    z, y, x = wp.tid()
    z += first
    index = (wp.int64(z) * wp.int64(shape[1]) + wp.int64(y)) * wp.int64(shape[0]) + wp.int64(x)
    write_voxel(voxels, index, kind, surface, start[0] + x, start[1] + y, start[2] + z)


@wp.kernel(enable_backward=False)
def write_bricks(
    first: wp.int32,
    voxels: wp.uint64,
    kind: wp.int32,
    slots: wp.array(dtype=wp.int32),
    across: wp.int32,
    down: wp.int32,
    surface: wp.uint64,
):
    """Bricks, one after the other in memory, into their slots; so many slots lie across and down."""
    brick, z, y, x = wp.tid()
    brick += first
    slot = slots[brick]
    index = wp.int64(brick) * wp.int64(BRICK_VOXELS) + wp.int64((z * PADDED + y) * PADDED + x)
    left = (slot % across) * PADDED
    top = ((slot // across) % down) * PADDED
    front = (slot // (across * down)) * PADDED
    write_voxel(voxels, index, kind, surface, left + x, top + y, front + z)


@wp.func_native(texture_reads.RAW_ALWAYS)
def texture_at(texture: wp.uint64, at: wp.vec3) -> wp.float32:
    """What the hardware reads at a place in the texture's own coordinates, not yet multiplied by raw_scale."""
    return 0.0


@wp.func_native(texture_reads.GRADIENT_ALWAYS)
def texture_gradient(grid: Grid, at: wp.vec3) -> wp.vec3:
    """What gradient_in gives, of a grid that is a texture."""
    return wp.vec3()


@wp.func_native(f"const int kind = grid.kind & 7; return {texture_reads.FACTOR};")
def raw_scale(grid: Grid) -> wp.float32:
    """A value is what the hardware reads times raw_scale plus raw_offset."""
    return 0.0


@wp.func_native(f"const int kind = grid.kind & 7; return {texture_reads.OFFSET};")
def raw_offset(grid: Grid) -> wp.float32:
    return 0.0
