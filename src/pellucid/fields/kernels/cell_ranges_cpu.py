"""The value range of every cell of a volume in host memory, as fast as that memory.

Here: one kernel, which goes along whole rows of voxels so that the compiler can take many at once.
Not here: the same on CUDA, cell by cell (sampling), volumes that are not in memory (cell_ranges).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.sampling import SWITCH, Grid
from pellucid.fields.sizes import CELL

ROWS = 5
"""Taken at once, so that what was found so far is fetched and put back once for all of them; half of CELL + 2."""


@wp.func_native(
    f"constexpr int ROWS = {ROWS}, EDGE = {CELL};"
    """
    const int nx = grid.shape[0], ny = grid.shape[1], nz = grid.shape[2];
    auto body = [&](const auto* voxels) -> int {
        constexpr int TOGETHER = 1024 + 2;  // as many as have room in the nearest cache, and one on either side
        auto some = voxels[0];
        using T = decltype(some);
        const bool is_real = (T)(0.5f) != (T)(0);
        const T lowest_of_all = is_real ? (T)(-HUGE_VALF) : (T)(0);
        // NaN is drawn like the lowest value.
        auto known = [&](T value) -> T { return !is_real || value == value ? value : lowest_of_all; };
        T lows[TOGETHER], highs[TOGETHER];  // from the voxel before the first cell to the one after the last
        constexpr int step = (TOGETHER - 2) / EDGE;
        for (int first = cells[0]; first < cells[1]; first += step) {
            const int end = wp::min(first + step, cells[1]);
            const int x0 = wp::max(first * EDGE - 1, 0), count = wp::min(end * EDGE + 1, nx) - x0;
            const int before = x0 - (first * EDGE - 1), after = before + count;
            T *low = lows + before, *high = highs + before;
            // Beyond the border its voxels again: they change neither the lowest nor the highest.
            auto row_at = [&](int j, int k) -> const T* {
                j = wp::min(wp::max(j, 0), ny - 1), k = wp::min(wp::max(k, 0), nz - 1);
                return voxels + ((long long)(k) * ny + j) * nx + x0;
            };
            const T* begin = row_at(y * EDGE, z * EDGE);
            for (int i = 0; i < count; ++i) low[i] = high[i] = known(begin[i]);
            for (int k = z * EDGE - 1; k <= (z + 1) * EDGE; ++k)
                for (int j = y * EDGE - 1; j <= (y + 1) * EDGE; j += ROWS) {
                    const T* rows[ROWS];
                    for (int r = 0; r < ROWS; ++r) rows[r] = row_at(j + r, k);
                    for (int i = 0; i < count; ++i) {
                        T least = low[i], most = high[i];
                        for (int r = 0; r < ROWS; ++r) {
                            const T value = known(rows[r][i]);
                            least = value < least ? value : least;
                            most = value > most ? value : most;
                        }
                        low[i] = least, high[i] = most;
                    }
                }
            if (before) lows[0] = low[0], highs[0] = high[0];
            const T low_end = lows[after - 1], high_end = highs[after - 1];
            for (int i = after; i < (end - first) * EDGE + 2; ++i) lows[i] = low_end, highs[i] = high_end;
            for (int x = first; x < end; ++x) {
                const int i = (x - first) * EDGE;
                T least = lows[i], most = highs[i];
                // As many for every cell, so that the compiler can write them out.
                for (int k = 1; k < EDGE + 2; ++k) {
                    least = lows[i + k] < least ? lows[i + k] : least;
                    most = highs[i + k] > most ? highs[i + k] : most;
                }
                const float lowest = wp::max((float)(least), -3.4e38f), highest = wp::max((float)(most), -3.4e38f);
                wp::index(ranges, z, y, x) = wp::vec2(lowest, highest);
            }
        }
        return 0;
    };
""" + SWITCH
)
def range_row(grid: Grid, z: wp.int32, y: wp.int32, cells: wp.vec2i, ranges: wp.array3d(dtype=wp.vec2)) -> wp.int32:
    """The ranges of a row of cells along x."""
    return 0


@wp.kernel(enable_backward=False)
def find_ranges(first: wp.int32, grid: Grid, start: wp.vec3i, stop: wp.int32, ranges: wp.array3d(dtype=wp.vec2)):
    """The range of every cell from ``start`` (x, y, z) on, along x to before ``stop``."""
    z, y = wp.tid()
    range_row(grid, z + first + start[2], y + start[1], wp.vec2i(start[0], stop), ranges)
