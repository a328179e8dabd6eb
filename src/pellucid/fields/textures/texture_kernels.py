"""Kernels and functions for voxels that are a hardware texture, on CUDA alone.

Here: writing boxes and bricks into a texture; reading one without asking whether it is one.
Not here: fields that may be either (sampling), owning textures (textures).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.sampling import Grid
from pellucid.fields.sizes import PADDED
from pellucid.fields.textures import cpp_snippets


@wp.func_native(
    """
#if defined(__CUDA_ARCH__)
    const cudaSurfaceObject_t target = (cudaSurfaceObject_t)(surface);
    const char* from = (const char*)(voxels) + index + start;
    const int left = wp::min(16, length - start), to = x + start;
    // The highest bit of signed voxels is turned round.
    const unsigned int turned = kind == 1 ? 0x80808080u : kind == 3 ? 0x80008000u : 0u;
    const unsigned long long alignment = (unsigned long long)(from) | to;
    if (left == 16 && (alignment & 15) == 0) {
        uint4 words = *(const uint4*)from;
        words.x ^= turned; words.y ^= turned; words.z ^= turned; words.w ^= turned;
        surf3Dwrite(words, target, to, y, z);
    } else if (((alignment | left) & 3) == 0) {
        for (int n = 0; n < left; n += 4) surf3Dwrite(*(const unsigned int*)(from + n) ^ turned, target, to + n, y, z);
    } else if (kind < 2) {
        for (int n = 0; n < left; ++n)
            surf3Dwrite((unsigned char)(*(const unsigned char*)(from + n) ^ turned), target, to + n, y, z);
    } else {
        for (int n = 0; n < left; n += 2)
            surf3Dwrite((unsigned short)(*(const unsigned short*)(from + n) ^ turned), target, to + n, y, z);
    }
#endif
"""
)
def write_part(
    voxels: wp.uint64,
    index: wp.int64,
    start: wp.int32,
    length: wp.int32,
    kind: wp.int32,
    surface: wp.uint64,
    x: wp.int32,
    y: wp.int32,
    z: wp.int32,
):
    """Up to 16 bytes, from ``start`` on, of a row of ``length`` bytes that begins ``index`` bytes after the address."""
    ...


@wp.kernel(enable_backward=False)
def write_box(
    first: wp.int32,
    voxels: wp.uint64,
    kind: wp.int32,
    shape: wp.vec3i,
    start: wp.vec3i,
    surface: wp.uint64,
):
    """An array of ``shape``, from ``start`` on, both (x, y, z) with x in bytes; a thread for 16 bytes of a row."""
    z, y, part = wp.tid()
    z += first
    index = (wp.int64(z) * wp.int64(shape[1]) + wp.int64(y)) * wp.int64(shape[0])
    write_part(voxels, index, part * 16, shape[0], kind, surface, start[0], start[1] + y, start[2] + z)


@wp.kernel(enable_backward=False)
def write_bricks(
    first: wp.int32,
    voxels: wp.uint64,
    kind: wp.int32,
    row: wp.int32,
    slots: wp.array(dtype=wp.int32),
    across: wp.int32,
    down: wp.int32,
    surface: wp.uint64,
):
    """Bricks, one after the other in memory, into their slots; so many slots lie across and down; row: in bytes."""
    brick, z, y, part = wp.tid()
    brick += first
    slot = slots[brick]
    index = wp.int64((brick * PADDED + z) * PADDED + y) * wp.int64(row)
    top = ((slot // across) % down) * PADDED
    front = (slot // (across * down)) * PADDED
    write_part(voxels, index, part * 16, row, kind, surface, (slot % across) * row, top + y, front + z)


@wp.func_native(cpp_snippets.RAW_ALWAYS)
def texture_at(texture: wp.uint64, at: wp.vec3) -> wp.float32:
    """What the hardware reads at a place in the texture's own coordinates, not yet multiplied by raw_scale."""
    return 0.0


@wp.func_native(cpp_snippets.GRADIENT_ALWAYS)
def texture_gradient(grid: Grid, at: wp.vec3) -> wp.vec3:
    """What gradient_in gives, of a grid that is a texture."""
    return wp.vec3()


@wp.func_native(f"const int kind = grid.kind & 7; return {cpp_snippets.FACTOR};")
def raw_scale(grid: Grid) -> wp.float32:
    """A value is what the hardware reads times raw_scale plus raw_offset."""
    return 0.0


@wp.func_native(f"const int kind = grid.kind & 7; return {cpp_snippets.OFFSET};")
def raw_offset(grid: Grid) -> wp.float32:
    return 0.0
