"""From gathered light to the bytes of an image.

Here: to_bytes, and rows_to_bytes, which does the same for whole rows on a CPU.
Not here: its definition (frame.to_rgba8), who asks for it (postprocess).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

from typing import Any

import warp as wp


@wp.func
def as_byte(level: wp.float32):
    return wp.uint8(wp.int32(wp.clamp(level, 0.0, 1.0) * 255.0 + 0.5))


@wp.func
def as_bytes(color: wp.vec4):
    return wp.vec4ub(as_byte(color[0]), as_byte(color[1]), as_byte(color[2]), as_byte(color[3]))


@wp.kernel(enable_backward=False)
def to_bytes(
    first: wp.int32,
    color: wp.array2d(dtype=wp.vec4),
    depth: wp.array2d(dtype=wp.float32),
    background: wp.vec4,
    nothing: wp.float32,
    rgba: wp.array2d(dtype=wp.vec4ub),
    far: wp.array2d(dtype=wp.float32),
):
    """Over a background (multiplied by its opacity), to 8 bits a channel, not multiplied: frame.to_rgba8 defines it.

    far: the depth, infinite where it is that of nothing.
    """
    row, column = wp.tid()
    row += first
    over = color[row, column] + background * (1.0 - color[row, column][3])
    plain = over / wp.max(over[3], 1.0e-6)
    plain[3] = over[3]
    rgba[row, column] = as_bytes(plain)
    far[row, column] = wp.where(depth[row, column] < nothing, depth[row, column], wp.inf)


@wp.func_native(
    """
#ifndef __CUDA_ARCH__  // CUDA compiles the module too, and has no vectors of this kind.
    typedef float Q __attribute__((vector_size(16)));
    typedef int I __attribute__((vector_size(16)));
    typedef unsigned char B __attribute__((vector_size(4)));
    const long long width = color.shape[1];
    const Q none = {}, behind = {background[0], background[1], background[2], background[3]};
    for (long long pixel = row * width; pixel < (row + 1) * width; ++pixel) {
        Q over;
        __builtin_memcpy(&over, color.data + pixel, sizeof(over));
        over = over + behind * (1.0f - over[3]);
        Q plain = over / wp::max(over[3], 1.0e-6f);
        plain[3] = over[3];
        plain = plain > none ? plain : none;
        plain = plain < none + 1.0f ? plain : none + 1.0f;
        const B bytes = __builtin_convertvector(__builtin_convertvector(plain * 255.0f + 0.5f, I), B);
        __builtin_memcpy(rgba.data + pixel, &bytes, sizeof(bytes));
        far.data[pixel] = depth.data[pixel] < nothing ? depth.data[pixel] : __builtin_inff();
    }
#endif
    """
)
def row_to_bytes(
    color: wp.array2d(dtype=wp.vec4),
    depth: wp.array2d(dtype=wp.float32),
    background: wp.vec4,
    nothing: wp.float32,
    rgba: wp.array2d(dtype=wp.vec4ub),
    far: wp.array2d(dtype=wp.float32),
    row: wp.int32,
): ...


@wp.kernel(enable_backward=False)
def rows_to_bytes(
    first: wp.int32,
    color: wp.array2d(dtype=wp.vec4),
    depth: wp.array2d(dtype=wp.float32),
    background: wp.vec4,
    nothing: wp.float32,
    rgba: wp.array2d(dtype=wp.vec4ub),
    far: wp.array2d(dtype=wp.float32),
):
    """What to_bytes does, a thread for a row of contiguous arrays: a channel is a lane of a vector."""
    row = wp.tid() + first
    row_to_bytes(color, depth, background, nothing, rgba, far, row)


def kernel_for(is_cuda: bool) -> Any:
    """The kernel that is faster on a device."""
    return to_bytes if is_cuda else rows_to_bytes
