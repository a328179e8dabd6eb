"""Arrival times of a front, tile by tile: the first-order upwind scheme of the eikonal equation.

Here: the scheme; the kernel of a CPU, whose tiles are swept until nothing changes in them.
Not here: tiles of a GPU (front_cuda_kernels), which are active (front_tiles), which blocks (cluster.solvers).

A time may only get earlier, so that threads need no order between them, and a lost block can start again from infinity.
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

import warp as wp


@wp.struct
class FrontGrid:
    """times, speeds: addresses of the first voxel of the core; speeds 0: speed is the same everywhere. plane, row: of
    times; speed_plane, speed_row: of speeds, in elements. shape: of the core, tile: of a tile, tiles: how many, all
    (z, y, x). weights: 1 / spacing², (z, y, x). tolerance: of a change that counts."""

    times: wp.uint64
    speeds: wp.uint64
    plane: wp.int64
    row: wp.int64
    speed_plane: wp.int64
    speed_row: wp.int64
    shape: wp.vec3i
    tile: wp.vec3i
    tiles: wp.vec3i
    weights: wp.vec3
    speed: wp.float32
    tolerance: wp.float32


SOLVE = """
#if defined(__CUDA_ARCH__)
    // Off by two of the last place at the most, which is far below the tolerance of a step.
    auto least = [](float a, float b) -> float { return fminf(a, b); };
    auto most = [](float a, float b) -> float { return fmaxf(a, b); };
    auto over = [](float a, float b) -> float { return __fdividef(a, b); };
    auto root = [](float a) -> float { float b; asm("sqrt.approx.f32 %0, %1;" : "=f"(b) : "f"(a)); return b; };
#else
    auto least = [](float a, float b) -> float { return a < b ? a : b; };
    auto most = [](float a, float b) -> float { return a < b ? b : a; };
    auto over = [](float a, float b) -> float { return a / b; };
    auto root = [](float a) -> float { return sqrtf(a); };
#endif
    const float wz = grid.weights[0], wy = grid.weights[1], wx = grid.weights[2];
    // When the front comes to a voxel; a, b, c: the earlier neighbours along x, y and z; slow2: 1 / speed².
    auto arrival = [&](float a, float b, float c, float slow2) -> float {
        float u = wx, v = wy, w = wz;
        if (b < a) { float t = a; a = b; b = t; t = u; u = v; v = t; }
        if (c < b) { float t = b; b = c; c = t; t = v; v = w; w = t; }
        if (b < a) { float t = a; a = b; b = t; t = u; u = v; v = t; }
        // Of the three neighbours, sorted by time, those count from which the front comes.
        const float d = b - a, e = c - a, g = c - b;
        float later;
        if (u * e * e + v * g * g < slow2) {
            const float all = u + v + w, first = v * d + w * e, second = v * d * d + w * e * e;
            later = over(first + root(wp::max(first * first - all * (second - slow2), 0.0f)), all);
        } else if (u * d * d < slow2) {
            const float both = u + v, first = v * d, second = v * d * d;
            later = over(first + root(wp::max(first * first - both * (second - slow2), 0.0f)), both);
        } else {
            later = root(over(slow2, u));
        }
        return a + later;
    };
    // The same without a branch, where voxels are cubes.
    auto arrival_in_cube = [&](float a, float b, float c, float slow2) -> float {
        const float low = least(a, b), high = most(a, b), first = least(low, c), third = most(high, c);
        const float second = most(low, least(high, c)), d = second - first, e = third - first, g = third - second;
        const float sum = d + e, step2 = over(slow2, wx), two = 0.5f * (d + root(most(2.0f * step2 - d * d, 0.0f)));
        const float inside = sum * sum - 3.0f * (d * d + e * e - step2);
        const float three = (sum + root(most(inside, 0.0f))) * 0.33333333f, one = root(step2);
        return first + (e * e + g * g < step2 ? three : d * d < step2 ? two : one);
    };
"""

UPDATE = (
    SOLVE
    + """
    float* const times = (float*)grid.times;
    const float* const speeds = (const float*)grid.speeds;
    const long long plane = grid.plane, row = grid.row;
    const float uniform = 1.0f / (grid.speed * grid.speed), tolerance = grid.tolerance;
    // Whether the time of a voxel gets earlier.
    auto relax = [&](int z, int y, int x) -> bool {
        float* at = times + z * plane + y * row + x;
        const float a = wp::min(at[-1], at[1]), b = wp::min(at[-row], at[row]), c = wp::min(at[-plane], at[plane]);
        const float now = *at;
        if (!(wp::min(a, wp::min(b, c)) < now)) return false;
        float slow2 = uniform;
        if (speeds) {
            const float speed = speeds[z * grid.speed_plane + y * grid.speed_row + x];
            if (!(speed > 0.0f)) return false;
            slow2 = 1.0f / (speed * speed);
        }
        const float then = arrival(a, b, c, slow2);
        if (!(then < now - tolerance)) return false;
        *at = then;
        return true;
    };
"""
)


@wp.func_native(
    UPDATE
    + """
    const int begin[3] = {
        tile / (grid.tiles[1] * grid.tiles[2]) * grid.tile[0],
        tile / grid.tiles[2] % grid.tiles[1] * grid.tile[1],
        tile % grid.tiles[2] * grid.tile[2],
    };
    int end[3];
    for (int i = 0; i < 3; ++i) {
        end[i] = begin[i] + grid.tile[i];
        if (end[i] > grid.shape[i]) end[i] = grid.shape[i];
    }
    const int ny = grid.shape[1];
    int* const changed_at = (int*)rows.data;
    int* const checked_at = changed_at + (long long)grid.shape[0] * ny;
    for (int z = begin[0]; z < end[0]; ++z)
        for (int y = begin[1]; y < end[1]; ++y) changed_at[z * ny + y] = 1, checked_at[z * ny + y] = 0;
    int clock = 2;
    bool has_changed = false, is_done = false;
    auto has_news = [&](int z, int y, int than) -> bool {
        const bool is_inside = z >= begin[0] && z < end[0] && y >= begin[1] && y < end[1];
        return is_inside && changed_at[z * ny + y] > than;
    };
    // Four orders of rows. In a row times pass forward, then backward, after which only other rows can change it.
    for (int sweep = 0; !is_done; ++sweep) {
        const int dz = sweep & 2 ? -1 : 1, dy = sweep & 1 ? -1 : 1;
        is_done = true;
        for (int i = 0, z = dz > 0 ? begin[0] : end[0] - 1; i < end[0] - begin[0]; ++i, z += dz)
            for (int j = 0, y = dy > 0 ? begin[1] : end[1] - 1; j < end[1] - begin[1]; ++j, y += dy) {
                int& checked = checked_at[z * ny + y];
                if (checked && !has_news(z - 1, y, checked) && !has_news(z + 1, y, checked) &&
                    !has_news(z, y - 1, checked) && !has_news(z, y + 1, checked))
                    continue;
                int changes = 0;
                for (int x = begin[2]; x < end[2]; ++x) changes += relax(z, y, x);
                if (changes)
                    for (int x = end[2] - 1; x >= begin[2]; --x) relax(z, y, x);
                checked = ++clock;
                if (changes) changed_at[z * ny + y] = clock, is_done = false, has_changed = true;
            }
    }
    changed.data[number] = has_changed;
"""
)
def sweep_tile(
    grid: FrontGrid,
    tile: wp.int32,
    number: wp.int32,
    rows: wp.array(dtype=wp.int32),
    changed: wp.array(dtype=wp.uint8),
):
    """Sweep a tile until nothing changes in it. rows: two numbers for each row of the block, of when it changed and
    when it was last looked at."""
    ...


@wp.kernel(enable_backward=False, module="unique")
def sweep_tiles(
    first: wp.int32,
    grid: FrontGrid,
    tiles: wp.array(dtype=wp.int32),
    rows: wp.array(dtype=wp.int32),
    changed: wp.array(dtype=wp.uint8),
):
    """One tile for each thread of a CPU."""
    number = wp.tid()
    number += first
    sweep_tile(grid, tiles[number], number, rows, changed)
