"""Reading labels in a kernel: the nearest voxel's, and where the things that they name end.

Here: Warp functions over a grid of 8- or 16-bit integers that lie in memory.
Not here: values between voxels (sampling), what a label looks like (rendering.labels).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.sampling import Grid

_INSIDE = """
    auto inside = [&](int axis) -> float {
        return wp::min(wp::max(at[axis] * grid.scale[axis] + grid.shift[axis], grid.low[axis]), grid.high[axis]);
    };
    const float x = inside(0), y = inside(1), z = inside(2);
    const long long row = grid.row, plane = grid.plane;
"""

_SWITCH = """
    switch (grid.kind) {
        case 0: return body((const unsigned char*)grid.voxels);
        case 1: return body((const signed char*)grid.voxels);
        case 2: return body((const unsigned short*)grid.voxels);
        default: return body((const short*)grid.voxels);
    }
"""


@wp.func_native(
    _INSIDE
    + """
    auto body = [&](const auto* s) -> float {
        return (float)(s[(long long)(z + 0.5f) * plane + (long long)(y + 0.5f) * row + (long long)(x + 0.5f)]);
    };
"""
    + _SWITCH
)
def label_in(grid: Grid, at: wp.vec3) -> wp.float32:
    """What the voxel nearest to a point in voxel coordinates (x, y, z) holds."""
    return 0.0


@wp.func_native(
    _INSIDE
    + """
    const int i = wp::min((int)(x), grid.last[0]), j = wp::min((int)(y), grid.last[1]),
              k = wp::min((int)(z), grid.last[2]);
    const float u = x - i, v = y - j, w = z - k;
    long long X[4], Y[4], Z[4];
    for (int n = 0; n < 4; ++n) {
        X[n] = wp::min(wp::max(i + n - 1, 0), grid.shape[0] - 1);
        Y[n] = row * wp::min(wp::max(j + n - 1, 0), grid.shape[1] - 1);
        Z[n] = plane * wp::min(wp::max(k + n - 1, 0), grid.shape[2] - 1);
    }
    auto body = [&](const auto* s) -> wp::vec3 {
        float g[3] = {0.0f, 0.0f, 0.0f};
        for (int c = 0; c < 4; ++c)
            for (int b = 0; b < 4; ++b)
                for (int a = 0; a < 4; ++a) {
                    if ((float)(s[Z[c] + Y[b] + X[a]]) != label) continue;
                    // How much a voxel has in the value one voxel behind, here, and one voxel ahead along an axis.
                    auto far = [](int n, float f) -> float { return (n > 1 ? (n > 2 ? f : 1 - f) : 0.0f)
                                                               - (n < 2 ? (n < 1 ? 1 - f : f) : 0.0f); };
                    auto near = [](int n, float f) -> float { return n == 1 ? 1 - f : (n == 2 ? f : 0.0f); };
                    g[0] += far(a, u) * near(b, v) * near(c, w);
                    g[1] += near(a, u) * far(b, v) * near(c, w);
                    g[2] += near(a, u) * near(b, v) * far(c, w);
                }
        return wp::vec3(g[0] * grid.scale[0], g[1] * grid.scale[1], g[2] * grid.scale[2]) * 0.5f;
    };
"""
    + _SWITCH
)
def label_gradient_in(grid: Grid, at: wp.vec3, label: wp.float32) -> wp.vec3:
    """Per voxel along (x, y, z), how a point's surroundings become more of a label: central differences of the part of
    them that has it, trilinear."""
    return wp.vec3()
