"""Reading voxels in a kernel: values and gradients between them, and the range of every cell.

Here: Warp functions over a field that is one array in memory, and the kernel that finds value ranges.
Not here: who owns the memory (dense), what is done with the values (rendering).

One compiled kernel serves every voxel type: the type is an argument, switched on once per sample.
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

import warp as wp

VOXEL_KINDS = {"uint8": 0, "int8": 1, "uint16": 2, "int16": 3, "float16": 4, "float32": 5}

CELL = 8
"""Voxels along the edge of a cell of the occupancy grid."""

_SWITCH = """
    switch (field.kind) {
        case 0: return body((const unsigned char*)field.voxels);
        case 1: return body((const signed char*)field.voxels);
        case 2: return body((const unsigned short*)field.voxels);
        case 3: return body((const short*)field.voxels);
        case 4: return body((const wp::half*)field.voxels);
        default: return body((const float*)field.voxels);
    }
"""

_CORNER = """
    const int nx = field.shape[0], ny = field.shape[1], nz = field.shape[2];
    const float x = wp::min(wp::max(at[0], 0.0f), (float)(nx - 1));
    const float y = wp::min(wp::max(at[1], 0.0f), (float)(ny - 1));
    const float z = wp::min(wp::max(at[2], 0.0f), (float)(nz - 1));
    const int i = wp::max(wp::min((int)(x), nx - 2), 0), j = wp::max(wp::min((int)(y), ny - 2), 0),
              k = wp::max(wp::min((int)(z), nz - 2), 0);
    const float u = x - i, v = y - j, w = z - k;
"""


@wp.struct
class Field:
    """voxels: address of (z, y, x) values of a kind (VOXEL_KINDS); shape: voxels along (x, y, z)."""

    voxels: wp.uint64
    kind: wp.int32
    shape: wp.vec3i


@wp.func_native(
    _CORNER
    + """
    const size_t row = nx, plane = size_t(nx) * ny;
    const size_t first = k * plane + j * row + i;
    const size_t dx = nx > 1, dy = ny > 1 ? row : 0, dz = nz > 1 ? plane : 0;
    auto body = [&](const auto* s) -> float {
        s += first;
        const float a = (float)(s[0]) + ((float)(s[dx]) - (float)(s[0])) * u;
        const float b = (float)(s[dy]) + ((float)(s[dy + dx]) - (float)(s[dy])) * u;
        const float c = (float)(s[dz]) + ((float)(s[dz + dx]) - (float)(s[dz])) * u;
        const float d = (float)(s[dz + dy]) + ((float)(s[dz + dy + dx]) - (float)(s[dz + dy])) * u;
        const float e = a + (b - a) * v, f = c + (d - c) * v;
        return e + (f - e) * w;
    };
"""
    + _SWITCH
)
def sample(field: Field, at: wp.vec3) -> wp.float32:
    """The value at a point in voxel coordinates (x, y, z), trilinear; outside, the nearest voxel's."""
    return 0.0


@wp.func_native(
    _CORNER
    + """
    size_t X[4], Y[4], Z[4];
    for (int n = 0; n < 4; ++n) {
        X[n] = wp::min(wp::max(i + n - 1, 0), nx - 1);
        Y[n] = (size_t)(nx) * wp::min(wp::max(j + n - 1, 0), ny - 1);
        Z[n] = (size_t)(nx) * ny * wp::min(wp::max(k + n - 1, 0), nz - 1);
    }
    auto body = [&](const auto* s) -> wp::vec3 {
        auto along = [&](const auto* row, int a) -> float {
            return (float)(row[X[a]]) * (1.0f - u) + (float)(row[X[a + 1]]) * u;
        };
        auto plane = [&](const auto* p, int a, int b) -> float {
            return along(p + Y[b], a) * (1.0f - v) + along(p + Y[b + 1], a) * v;
        };
        auto cell = [&](int a, int b, int c) -> float {
            return plane(s + Z[c], a, b) * (1.0f - w) + plane(s + Z[c + 1], a, b) * w;
        };
        const float gx = cell(2, 1, 1) - cell(0, 1, 1), gy = cell(1, 2, 1) - cell(1, 0, 1);
        return wp::vec3(gx, gy, cell(1, 1, 2) - cell(1, 1, 0)) * 0.5f;
    };
"""
    + _SWITCH
)
def gradient(field: Field, at: wp.vec3) -> wp.vec3:
    """Change of the value per voxel along (x, y, z): central differences of trilinear values, one voxel apart."""
    return wp.vec3()


@wp.func_native(
    """
    const int nx = field.shape[0], ny = field.shape[1], nz = field.shape[2];
    const int x0 = wp::max(cell[0] * edge - 1, 0), x1 = wp::min((cell[0] + 1) * edge + 1, nx);
    const int y0 = wp::max(cell[1] * edge - 1, 0), y1 = wp::min((cell[1] + 1) * edge + 1, ny);
    const int z0 = wp::max(cell[2] * edge - 1, 0), z1 = wp::min((cell[2] + 1) * edge + 1, nz);
    auto body = [&](const auto* s) -> wp::vec2 {
        float low = 3.4e38f, high = -3.4e38f;
        for (int z = z0; z < z1; ++z)
            for (int y = y0; y < y1; ++y) {
                const auto* row = s + (size_t(z) * ny + y) * nx;
                for (int x = x0; x < x1; ++x) {
                    const float value = (float)(row[x]);
                    low = value < low ? value : low;
                    high = value > high ? value : high;
                    if (value != value) low = -3.4e38f;  // NaN is drawn like the lowest value
                }
            }
        return wp::vec2(low, high);
    };
"""
    + _SWITCH
)
def cell_range(field: Field, cell: wp.vec3i, edge: wp.int32) -> wp.vec2:
    """Lowest and highest value that a sample inside a cell can have: its voxels and one around them."""
    return wp.vec2()


@wp.kernel(enable_backward=False)
def find_ranges(first: wp.int32, field: Field, edge: wp.int32, ranges: wp.array3d(dtype=wp.vec2)):
    z, y, x = wp.tid()
    z += first
    ranges[z, y, x] = cell_range(field, wp.vec3i(x, y, z), edge)


@wp.kernel(enable_backward=False)
def find_occupied(
    first: wp.int32,
    ranges: wp.array3d(dtype=wp.vec2),
    low: wp.float32,
    scale: wp.float32,
    visible_below: wp.array(dtype=wp.int32),
    occupied: wp.array3d(dtype=wp.uint8),
):
    """Which cells hold a value that is visible; visible_below[i] counts the visible rows of the table before row i."""
    z, y, x = wp.tid()
    z += first
    lowest = table_row(ranges[z, y, x][0], low, scale, visible_below.shape[0] - 1)
    highest = table_row(ranges[z, y, x][1], low, scale, visible_below.shape[0] - 1)
    occupied[z, y, x] = wp.uint8(wp.where(visible_below[highest + 1] > visible_below[lowest], 1, 0))


@wp.func
def table_row(value: wp.float32, low: wp.float32, scale: wp.float32, rows: wp.int32):
    """The row of a transfer function's table for a value; the lowest row for NaN."""
    place = (value - low) * scale + 0.5
    place = wp.where(place > 0.0, place, 0.0)
    return wp.int32(wp.min(place, wp.float32(rows - 1)))
