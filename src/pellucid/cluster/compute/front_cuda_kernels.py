"""Arrival times of a front on a GPU: a block of threads for each tile, which lies in shared memory meanwhile.

Here: the kernels: tiles updated several times for one reading and one writing; which tiles are next.
Not here: the scheme (front_kernels), launching them (front_tiles).

Of every tile a byte says what its last update changed: the planes at its faces, z, y and x, each before and behind, and
whether it would have changed further.
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

from typing import Any

import warp as wp

from pellucid.cluster.compute.front_kernels import SCHEME, FrontGrid

DEPTH, HEIGHT, WIDTH = 8, 8, 32
"""Of a tile, as deep as it is high. A thread has a column of it, from front to back."""

THREADS = HEIGHT * WIDTH
BLOCKS = 5
"""Of a multiprocessor, which bounds the registers of a thread."""
UNFINISHED = 64

ONE = """
#if defined(__CUDA_ARCH__)
    using Number = float;
    // Off by two of the last place at the most, which is far below the tolerance of a step.
    auto least = [](float a, float b) -> float { return fminf(a, b); };
    auto most = [](float a, float b) -> float { return fmaxf(a, b); };
    auto over = [](float a, float b) -> float { return __fdividef(a, b); };
    auto root = [](float a) -> float { float b; asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(b) : "f"(a)); return b; };
"""

RELAX = (
    ONE
    + SCHEME
    + f"""
    constexpr int DEPTH = {DEPTH}, HEIGHT = {HEIGHT}, WIDTH = {WIDTH};
    constexpr int UNFINISHED = {UNFINISHED};
"""
    + """
    __shared__ float held[DEPTH][HEIGHT + 2][WIDTH + 2];
    __shared__ unsigned int news[2];
    float* const times = (float*)grid.times;
    const float* const speeds = (const float*)grid.speeds;
    const int plane = grid.plane, row = grid.row;  // Within a tile, offsets are small.
    const float scale = IS_CUBE ? rsqrtf(grid.weights[2]) : 1.0f, uniform = scale / grid.speed;
    const float never = __int_as_float(0x7f800000), tolerance = grid.tolerance;
    const int thread = threadIdx.x, x = thread % WIDTH, y = thread / WIDTH;
    const unsigned int faces = (y == 0 ? 4 : 0) | (y == HEIGHT - 1 ? 8 : 0) | (x == 0 ? 16 : 0) |
        (x == WIDTH - 1 ? 32 : 0);
    const int count = counts.data[turn];
    if (blockIdx.x == 0 && thread == 0) counts.data[1 - turn] = 0, counts.data[2] += count;
    if (thread < 2) news[thread] = 0;
    // Voxels beside a tile along x, of which some threads read one each.
    const int end_z = thread / HEIGHT % DEPTH, end_y = thread % HEIGHT;
    const bool has_end = thread < 2 * DEPTH * HEIGHT, is_before = thread < DEPTH * HEIGHT;
    int parity = 0;
    for (int n = blockIdx.x; n < count; n += gridDim.x, parity ^= 1) {
        const int2 place = ((const int2*)tiles.data)[n];
        const int tz = place.x >> 16, ty = place.x & 0xffff, tx = place.y;
        const int bz = tz * DEPTH, by = ty * HEIGHT, bx = tx * WIDTH;
        // Around the core there is one more voxel; what lies further is never reached.
        const int nz = min(grid.shape[0] - bz, DEPTH), ny = min(grid.shape[1] - by, HEIGHT);
        const int nx = min(grid.shape[2] - bx, WIDTH);
        float* const from = times + bz * grid.plane + by * grid.row + bx;
        const float* const line = from + min(x, nx);
        float column[DEPTH + 2];
        #pragma unroll
        for (int k = 0; k < DEPTH + 2; ++k) column[k] = line[min(y, ny) * row + (min(k, nz + 1) - 1) * plane];
        #pragma unroll
        for (int k = 0; k < DEPTH; ++k) held[k][y + 1][x + 1] = column[k + 1];
        held[y][0][x + 1] = line[min(y, nz) * plane - row];
        held[y][HEIGHT + 1][x + 1] = line[min(y, nz) * plane + ny * row];
        if (has_end)
            held[end_z][end_y + 1][is_before ? 0 : WIDTH + 1] =
                from[min(end_z, nz) * plane + min(end_y, ny) * row + (is_before ? -1 : nx)];
        const int depth = y < ny && x < nx ? nz : 0;  // of the core, in this column
        float slow[DEPTH];
        #pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            slow[k] = uniform;
            if (!HAS_SPEEDS || k >= depth) continue;
            const float speed = speeds[(bz + k) * grid.speed_plane + (by + y) * grid.speed_row + bx + x];
            slow[k] = speed > 0.0f ? over(scale, speed) : never;
        }
        unsigned int changed = 0, latest = 0;
        auto relax = [&](int k) {
            const float a = fminf(held[k][y + 1][x], held[k][y + 1][x + 2]);
            const float b = fminf(held[k][y][x + 1], held[k][y + 2][x + 1]);
            const float c = fminf(column[k], column[k + 2]), now = column[k + 1];
            const float then = ARRIVAL(a, b, c, slow[k]);
            if (k >= depth || !(then < now - tolerance)) return;
            column[k + 1] = held[k][y + 1][x + 1] = then;
            latest |= 1u << k;
        };
        // A front runs along a column in one sweep, and across it by one voxel for each.
        bool is_finished = false;
        for (int sweep = 0; sweep < sweeps && !is_finished; ++sweep) {
            __syncthreads();
            latest = 0;
            if (sweep & 1) {
                #pragma unroll
                for (int k = DEPTH - 1; k >= 0; --k) relax(k);
            } else {
                #pragma unroll
                for (int k = 0; k < DEPTH; ++k) relax(k);
            }
            changed |= latest;
            is_finished = !__syncthreads_or(latest);
        }
        #pragma unroll
        for (int k = 0; k < DEPTH; ++k)
            if (changed >> k & 1) from[k * plane + y * row + x] = column[k + 1];
        unsigned int mine = 0;
        if (changed) mine = (changed & 1) | (changed >> (DEPTH - 1)) << 1 | faces | (is_finished ? 0 : UNFINISHED);
        mine = __reduce_or_sync(0xffffffffu, mine);
        if (thread % 32 == 0 && mine) atomicOr(&news[parity], mine);
        __syncthreads();
        if (thread == 0) {
            flags.data[(tz * grid.tiles[1] + ty) * grid.tiles[2] + tx] = news[parity];
            news[parity] = 0;
        }
    }
#endif
"""
)


def relax_tiles_with(arrival: str, *, has_speeds: bool) -> Any:
    """The kernel for one way to solve the scheme, of which each needs few registers. arrival: its name in SCHEME."""
    is_cube = str(int(arrival == "arrival_in_cube"))
    source = RELAX.replace("ARRIVAL", arrival).replace("IS_CUBE", is_cube).replace("HAS_SPEEDS", str(int(has_speeds)))

    @wp.func_native(source)
    def relax_held(
        grid: FrontGrid,
        tiles: wp.array(dtype=wp.int32),
        counts: wp.array(dtype=wp.int32),
        turn: wp.int32,
        sweeps: wp.int32,
        flags: wp.array(dtype=wp.uint8),
    ):
        """The tiles of a block of threads, each swept so many times or until nothing changes in it."""
        ...

    @wp.kernel(enable_backward=False, module="unique", launch_bounds=(THREADS, BLOCKS))
    def relax_tiles(
        first: wp.int32,
        grid: FrontGrid,
        tiles: wp.array(dtype=wp.int32),
        counts: wp.array(dtype=wp.int32),
        turn: wp.int32,
        sweeps: wp.int32,
        flags: wp.array(dtype=wp.uint8),
    ):
        """tiles: of each that is listed, z and y in sixteen bits each, then x. counts: how many are listed, at turn;
        how many will be, which begins with 0; how many there were in all."""
        relax_held(grid, tiles, counts, turn, sweeps, flags)

    return relax_tiles


relax_cubes = [relax_tiles_with("arrival_in_cube", has_speeds=has_speeds) for has_speeds in (False, True)]
relax_boxes = [relax_tiles_with("arrival_in_box", has_speeds=has_speeds) for has_speeds in (False, True)]


@wp.func_native(
    f"""
#if defined(__CUDA_ARCH__)
    constexpr int UNFINISHED = {UNFINISHED};
"""
    + """
    const int nz = grid.tiles[0], ny = grid.tiles[1], nx = grid.tiles[2];
    const int x = tile % nx, y = tile / nx % ny, z = tile / (nx * ny);
    auto has = [&](bool is_there, int other, int bit) -> bool { return is_there && (flags.data[other] & bit); };
    const bool is_next = tile < nz * ny * nx && ((flags.data[tile] & UNFINISHED) ||
        has(z > 0, tile - ny * nx, 2) || has(z < nz - 1, tile + ny * nx, 1) || has(y > 0, tile - nx, 8) ||
        has(y < ny - 1, tile + nx, 4) || has(x > 0, tile - 1, 32) || has(x < nx - 1, tile + 1, 16));
    const unsigned int together = __activemask(), those = __ballot_sync(together, is_next);
    if (is_next) {
        const int leader = __ffs(those) - 1, lane = threadIdx.x % 32;
        int at = 0;
        if (lane == leader) at = atomicAdd((int*)counts.data + turn, __popc(those));
        at = __shfl_sync(those, at, leader);
        ((int2*)tiles.data)[at + __popc(those & ((1u << lane) - 1))] = make_int2(z << 16 | y, x);
    }
    if (tile < nz * ny * nx) after.data[tile] = 0;
#endif
"""
)
def list_tile(
    grid: FrontGrid,
    tile: wp.int32,
    flags: wp.array(dtype=wp.uint8),
    after: wp.array(dtype=wp.uint8),
    tiles: wp.array(dtype=wp.int32),
    counts: wp.array(dtype=wp.int32),
    turn: wp.int32,
):
    """A tile, if something may change in it."""
    ...


@wp.kernel(enable_backward=False, module="unique")
def list_tiles(
    first: wp.int32,
    grid: FrontGrid,
    flags: wp.array(dtype=wp.uint8),
    after: wp.array(dtype=wp.uint8),
    tiles: wp.array(dtype=wp.int32),
    counts: wp.array(dtype=wp.int32),
    turn: wp.int32,
):
    """All that are next. flags: of the last update; after: those of the next, which begin with 0."""
    tile = wp.tid()
    list_tile(grid, tile + first, flags, after, tiles, counts, turn)
