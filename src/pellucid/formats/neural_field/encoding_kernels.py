"""Features of the points of a lattice, in a kernel.

Here: encode_rows, for one row of points along x after the other.
Not here: the definition (evaluation), the decoder, which is a product of matrices (lattice_evaluation).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp


@wp.func_native("""
    const int nx = x_axis.shape[0], ny = y_axis.shape[0], width = encoded.shape[1];
    const int grid_count = grids.shape[0], level_count = levels.shape[0], wave_count = waves.shape[0];
    const float py = y_axis.data[row % ny], pz = z_axis.data[row / ny];
    for (int i = 0; i < nx; ++i) {
        const float px = x_axis.data[i];
        float* out = encoded.data + ((long long)(row) * nx + i) * width;
        for (int g = 0; g < grid_count; ++g) {
            const long long* grid = (const long long*)(grids.data) + 6 * g;
            const float* t = transforms.data + 12 * g;
            const int features = (int)(grid[4]);
            float* to = out + grid[5];
            int low[3], high[3];
            float part[3][2];
            bool is_inside = true;
            for (int a = 0; a < 3; ++a) {
                const int n = (int)(grid[1 + a]);
                const float local = t[4 * a] * px + t[4 * a + 1] * py + t[4 * a + 2] * pz + t[4 * a + 3];
                const float at = (local + 1.0f) * 0.5f * (n - 1);
                is_inside = is_inside && at > -1.0f && at < (float)(n);
                const float start = floorf(wp::min(wp::max(at, -1.0f), (float)(n)));
                const int cell = (int)(start);
                part[a][0] = cell >= 0 && cell < n ? 1.0f - (at - start) : 0.0f;
                part[a][1] = cell + 1 < n ? at - start : 0.0f;
                low[a] = wp::min(wp::max(cell, 0), n - 1), high[a] = wp::min(wp::max(cell + 1, 0), n - 1);
            }
            if (!is_inside) {
                for (int f = 0; f < features; ++f) to[f] = 0.0f;
                continue;
            }
            const float* corner[8];
            float share[8];
            for (int c = 0; c < 8; ++c) {
                const long long x = c & 1 ? high[0] : low[0];
                const long long y = c & 2 ? high[1] : low[1], z = c & 4 ? high[2] : low[2];
                corner[c] = table.data + grid[0] + ((z * grid[2] + y) * grid[1] + x) * features;
                share[c] = part[0][c & 1] * part[1][c >> 1 & 1] * part[2][c >> 2 & 1];
            }
            // Usual widths are written out, so that sums stay in registers.
            auto gather = [&](auto* some) {
                constexpr int count = sizeof(*some);
                float sum[count];
                for (int f = 0; f < count; ++f) sum[f] = 0.0f;
                for (int c = 0; c < 8; ++c)
                    for (int f = 0; f < count; ++f) sum[f] += share[c] * corner[c][f];
                for (int f = 0; f < count; ++f) to[f] = sum[f];
            };
            if (features == 1) gather((char(*)[1])(nullptr));
            else if (features == 2) gather((char(*)[2])(nullptr));
            else if (features == 4) gather((char(*)[4])(nullptr));
            else for (int f = 0; f < features; ++f) {
                float sum = 0.0f;
                for (int c = 0; c < 8; ++c) sum += share[c] * corner[c][f];
                to[f] = sum;
            }
        }
        for (int l = 0; l < level_count; ++l) {
            const long long* level = (const long long*)(levels.data) + 5 * l;
            const long long cells = level[1], side = level[1] + 1, rows = level[2];
            const int features = (int)(level[3]);
            float* to = out + level[4];
            const float point[3] = {px, py, pz};
            long long cell[3];
            float part[3];
            for (int a = 0; a < 3; ++a) {
                const float at = wp::min(wp::max((point[a] + 1.0f) * (0.5f * cells), 0.0f), (float)(cells));
                cell[a] = wp::min((long long)(at), cells - 1);
                part[a] = at - cell[a];
            }
            const bool is_dense = side <= 4096 && side * side * side <= rows;
            for (int f = 0; f < features; ++f) to[f] = 0.0f;
            for (int c = 0; c < 8; ++c) {
                const long long x = cell[0] + (c & 1), y = cell[1] + (c >> 1 & 1), z = cell[2] + (c >> 2 & 1);
                const unsigned int mixed = (unsigned int)(x) ^ (unsigned int)(y) * 2654435761u
                    ^ (unsigned int)(z) * 805459861u;
                const long long found = is_dense ? x + side * (y + side * z) : (long long)(mixed) % rows;
                const float share = (c & 1 ? part[0] : 1.0f - part[0]) * (c & 2 ? part[1] : 1.0f - part[1])
                    * (c & 4 ? part[2] : 1.0f - part[2]);
                const float* from = table.data + level[0] + found * features;
                for (int f = 0; f < features; ++f) to[f] += share * from[f];
            }
        }
        for (int w = 0; w < wave_count; ++w) {
            const float* wave = waves.data + 3 * w;
            const float phase = 3.14159265358979f * (wave[0] * px + wave[1] * py + wave[2] * pz);
            out[width - 2 * wave_count + w] = sinf(phase);
            out[width - wave_count + w] = cosf(phase);
        }
    }
    return 0;
""")
def encode_row(
    row: wp.int32,
    z_axis: wp.array1d(dtype=wp.float32),
    y_axis: wp.array1d(dtype=wp.float32),
    x_axis: wp.array1d(dtype=wp.float32),
    table: wp.array1d(dtype=wp.float32),
    grids: wp.array2d(dtype=wp.int64),
    transforms: wp.array2d(dtype=wp.float32),
    levels: wp.array2d(dtype=wp.int64),
    waves: wp.array2d(dtype=wp.float32),
    encoded: wp.array2d(dtype=wp.float32),
) -> wp.int32:
    """Features of the points of one row of a lattice."""
    return 0


@wp.kernel(enable_backward=False)
def encode_rows(
    first: wp.int32,
    z_axis: wp.array1d(dtype=wp.float32),
    y_axis: wp.array1d(dtype=wp.float32),
    x_axis: wp.array1d(dtype=wp.float32),
    table: wp.array1d(dtype=wp.float32),
    grids: wp.array2d(dtype=wp.int64),
    transforms: wp.array2d(dtype=wp.float32),
    levels: wp.array2d(dtype=wp.int64),
    waves: wp.array2d(dtype=wp.float32),
    encoded: wp.array2d(dtype=wp.float32),
):
    """Features of all points of a lattice: (points, width), x fastest."""
    row = wp.tid()
    encode_row(row + first, z_axis, y_axis, x_axis, table, grids, transforms, levels, waves, encoded)
