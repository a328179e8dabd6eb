"""The largest or smallest value along a straight line through voxels, between samples too.

Here: the Warp function for a line inside one cell of the occupancy grid.
Not here: single values (sampling), which cells a ray passes (rendering.kernels.rays).

Between eight voxels a trilinear field is a cubic polynomial along any line. Its largest value lies where the line
enters, where it leaves, or where the derivative, a quadratic, is zero: nothing is sampled, so nothing is missed. Eight
voxels of which none is larger than what was found are passed over.
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.sampling import SWITCH, Grid
from pellucid.fields.textures import cpp_snippets

# The line in the grid's own coordinates, with voxels at whole numbers; textures have them at 0.5, 1.5, ...
_LINE = """
    const float half = grid.kind >= 8 ? 0.5f : 0.0f;
    float start[3], way[3], next[3], each[3];
    int low[3], high[3], corner[3], turn[3];
    for (int a = 0; a < 3; ++a) {
        low[a] = (int)(grid.low[a] - half);
        high[a] = (int)(grid.high[a] - half);
        start[a] = from_[a] * grid.scale[a] + (grid.shift[a] - half);
        way[a] = (to[a] - from_[a]) * grid.scale[a];
        corner[a] = (int)floorf(start[a]);
        const bool is_still = fabsf(way[a]) < 1e-12f;
        turn[a] = way[a] > 0.0f ? 1 : -1;
        each[a] = is_still ? 0.0f : 1.0f / fabsf(way[a]);
        next[a] = is_still ? 2.0f : (way[a] > 0.0f ? corner[a] + 1 - start[a] : start[a] - corner[a]) * each[a];
    }
"""

# What eight voxels promise, and the cubic c0 + c1 t + c2 t² + c3 t³ between them for t from 0 to 1.
_CUBIC = """
        const int i = wp::max(wp::min(corner[0], high[0] - 1), low[0]), i1 = wp::min(i + 1, high[0]);
        const int j = wp::max(wp::min(corner[1], high[1] - 1), low[1]), j1 = wp::min(j + 1, high[1]);
        const int k = wp::max(wp::min(corner[2], high[2] - 1), low[2]), k1 = wp::min(k + 1, high[2]);
        const float v000 = sign * voxel(i, j, k), v100 = sign * voxel(i1, j, k);
        const float v010 = sign * voxel(i, j1, k), v110 = sign * voxel(i1, j1, k);
        const float v001 = sign * voxel(i, j, k1), v101 = sign * voxel(i1, j, k1);
        const float v011 = sign * voxel(i, j1, k1), v111 = sign * voxel(i1, j1, k1);
        const float promise = wp::max(wp::max(wp::max(v000, v100), wp::max(v010, v110)),
                                      wp::max(wp::max(v001, v101), wp::max(v011, v111)));
        if (!is_better(promise)) return;
        auto inside = [&](int a, float s) -> float {
            return wp::min(wp::max(start[a] + way[a] * s, (float)low[a]), (float)high[a]);
        };
        const float u = inside(0, s0) - i, du = inside(0, s1) - i - u;
        const float v = inside(1, s0) - j, dv = inside(1, s1) - j - v;
        const float w = inside(2, s0) - k, dw = inside(2, s1) - k - w;
        // Along x, on the line at y = z = 0 and from there to the line at y = 1; the same at z = 1; each a0 + a1 t.
        const float a0 = v000 + (v100 - v000) * u, a1 = (v100 - v000) * du;
        const float b0 = v010 + (v110 - v010) * u - a0, b1 = (v110 - v010) * du - a1;
        const float d0 = v001 + (v101 - v001) * u, d1 = (v101 - v001) * du;
        const float e0 = v011 + (v111 - v011) * u - d0, e1 = (v111 - v011) * du - d1;
        // On the face z = 0 and from there to the face z = 1; each f0 + f1 t + f2 t².
        const float f0 = a0 + b0 * v, f1 = a1 + b1 * v + b0 * dv, f2 = b1 * dv;
        const float g0 = d0 + e0 * v - f0, g1 = d1 + e1 * v + e0 * dv - f1, g2 = e1 * dv - f2;
        const float c0 = f0 + g0 * w, c1 = f1 + g1 * w + g0 * dw, c2 = f2 + g2 * w + g1 * dw, c3 = g2 * dw;
"""

# A cubic never exceeds the largest of its Bernstein coefficients: mostly they say that no root need be found.
_EXTREMA = """
        const float m1 = c0 + c1 * (1.0f / 3.0f), m2 = 2.0f * m1 - c0 + c2 * (1.0f / 3.0f), end = c0 + c1 + c2 + c3;
        if (!is_better(wp::max(wp::max(c0, m1), wp::max(m2, end)))) return;
        auto look = [&](float value, float t) {
            if (is_better(value)) { best = value; place = s0 + (s1 - s0) * t; }
        };
        auto look_at_root = [&](float above, float below) {
            if (above * below <= 0.0f || fabsf(above) >= fabsf(below)) return;
            const float t = above / below;
            look(c0 + t * (c1 + t * (c2 + t * c3)), t);
        };
        look(c0, 0.0f);
        const float discriminant = c2 * c2 - 3.0f * c3 * c1;
        if (discriminant > 0.0f) {
            const float root = sqrtf(discriminant), q = c2 > 0.0f ? -c2 - root : root - c2;
            look_at_root(q, 3.0f * c3);
            look_at_root(c1, q);
        }
        look(end, 1.0f);
"""

_WALK = f"""
    float best = found, place = -1.0f;
    auto is_better = [&](float value) -> bool {{
        return value > best || (takes_equal != 0 && place < 0.0f && value == best);
    }};
    auto over = [&](auto voxel) -> wp::vec2 {{
        auto look_between = [&](float s0, float s1) {{ {_CUBIC}{_EXTREMA} }};
        float s = 0.0f;
        while (s < 1.0f) {{
            const float end = wp::min(wp::min(next[0], next[1]), wp::min(next[2], 1.0f));
            if (end > s) look_between(s, end);
            for (int a = 0; a < 3; ++a)
                if (next[a] <= end) {{ corner[a] += turn[a]; next[a] += each[a]; }}
            s = end;
        }}
        return wp::vec2(best, place);
    }};
"""


@wp.func_native(
    _LINE
    + _WALK
    + cpp_snippets.where_textured(f"{cpp_snippets.VOXEL} return over(voxel);")
    + """
    auto body = [&](const auto* s) -> wp::vec2 {
        return over([&](int x, int y, int z) -> float { return (float)(s[z * grid.plane + y * grid.row + x]); });
    };
"""
    + SWITCH
)
def largest_between(
    grid: Grid, sign: wp.float32, from_: wp.vec3, to: wp.vec3, found: wp.float32, takes_equal: wp.int32
) -> wp.vec2:
    """The largest value of sign * field from one point to another, both in voxel coordinates (x, y, z) of one cell.

    (value, fraction of the way); (found, -1) where nothing is larger than what was found before. takes_equal: whether
    an equal value is taken too, because it lies nearer.
    """
    return wp.vec2()
