"""Arrival times of a front, tile by tile: the first-order upwind scheme of the eikonal equation.

Here: the scheme; the kernel of a CPU, whose tiles are swept until nothing changes in them.
Not here: tiles of a GPU (front_cuda_kernels), which are active (front_tiles), which blocks (cluster.solvers).

A time may only get earlier, so that threads need no order between them, and a lost block can start again from infinity.

A CPU sweeps a strip of sixteen rows at once, each row one voxel behind the one before it, so that what a voxel depends
on was swept before. For that the strip is copied with voxels of the same turn side by side: skewed. Along y, a sweep
goes from the first row to the last, or, where the rows are reversed, from the last to the first.
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

from typing import Any

import warp as wp

LANES = 16
"""Rows of a strip, and voxels that are computed at once."""
LENGTH = 128
"""Of a strip along x, at the most: its copies stay in the nearest cache."""


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


SCHEME = """
    // When the front comes to a voxel; a, b, c: the earlier neighbours along x, y and z. Of these, sorted by time,
    // those count from which the front comes. A Number is of one voxel, or of several at once.
    const Number nothing = 0.0f, half = 0.5f, a_third = 1.0f / 3.0f, count2 = 2.0f, count3 = 3.0f;
    // slow: 1 / speed.
    auto arrival_in_box = [&](Number a, Number b, Number c, Number slow) -> Number {
        Number u = grid.weights[2], v = grid.weights[1], w = grid.weights[0];
        auto sort = [](Number& a, Number& b, Number& u, Number& v) {
            const auto is_later = b < a;
            const Number time = is_later ? a : b, weight = is_later ? u : v;
            a = is_later ? b : a, u = is_later ? v : u, b = time, v = weight;
        };
        sort(a, b, u, v), sort(b, c, v, w), sort(a, b, u, v);
        const Number d = b - a, e = c - a, g = c - b, two = u * d * d, three = u * e * e + v * g * g;
        const Number square = slow * slow;
        const auto has_two = two < square, has_three = three < square;
        const Number all = u + (has_two ? v : nothing) + (has_three ? w : nothing);
        const Number first = (has_two ? v * d : nothing) + (has_three ? w * e : nothing);
        const Number less = (has_two ? v * two : nothing) + (has_three ? w * three : nothing);
        return a + over(first + root(all * square - less), all);
    };
    // The same where voxels are cubes: a neighbour from which the front does not come is taken to be as late as the
    // voxel itself, and then it does not count. slow: spacing / speed.
    auto arrival_in_cube = [&](Number a, Number b, Number c, Number slow) -> Number {
        const Number low = least(a, b), high = most(a, b), first = least(low, c), third = most(high, c);
        const Number second = most(low, least(high, c)), square = slow * slow, d = least(second - first, slow);
        const Number two = (d + root(count2 * square - d * d)) * half, e = least(third - first, two), sum = d + e;
        return first + (sum + root(sum * sum + count3 * (square - (d * d + e * e)))) * a_third;
    };
"""


def _order(places: list[int]) -> str:
    return ", ".join(map(str, places))


def _transposed() -> str:
    """Steps that transpose as many lines as there are lanes: parts of half the size change places in each."""
    steps, size = [], LANES // 2
    while size:
        low = [LANES + lane - size if lane & size else lane for lane in range(LANES)]
        high = [LANES + lane if lane & size else lane + size for lane in range(LANES)]
        steps.append(f"""
        for (int i = 0; i < LANES; ++i)
            if (!(i & {size})) {{
                const Number a = line[i], b = line[i | {size}];
                line[i] = __builtin_shufflevector(a, b, {_order(low)});
                line[i | {size}] = __builtin_shufflevector(a, b, {_order(high)});
            }}""")
        size //= 2
    return "".join(steps)


SEVERAL = f"""
    constexpr int LANES = {LANES}, LENGTH = {LENGTH}, PITCH = LENGTH + 2 * LANES, TURNS = LENGTH + LANES;
    typedef float Number __attribute__((ext_vector_type({LANES})));
    auto least = [](Number a, Number b) -> Number {{ return a < b ? a : b; }};
    auto most = [](Number a, Number b) -> Number {{ return a < b ? b : a; }};
    auto over = [](Number a, Number b) -> Number {{ return a / b; }};
    auto root = [](Number a) -> Number {{ return __builtin_elementwise_sqrt(a); }};
    auto load = [](const float* at) -> Number {{
        Number found;
        __builtin_memcpy(&found, at, sizeof found);
        return found;
    }};
    auto store = [](float* at, Number those) {{ __builtin_memcpy(at, &those, sizeof those); }};
    auto any = [](auto those) -> bool {{ return __builtin_reduce_or(those) != 0; }};
    // Of every lane, what the lane before or behind it has.
    auto before = [](Number those, float first) -> Number {{
        const Number filled = first;
        return __builtin_shufflevector(those, filled, {_order([LANES, *range(LANES - 1)])});
    }};
    auto behind = [](Number those, float last) -> Number {{
        const Number filled = last;
        return __builtin_shufflevector(those, filled, {_order(list(range(1, LANES + 1)))});
    }};
    auto transpose = [](Number* line) {{{_transposed()}
    }};
"""

STRIP = """
    const float never = __builtin_inff(), tolerance = grid.tolerance;
    float* const times = (float*)grid.times;
    const float* const speeds = (const float*)grid.speeds;
    const long long plane = grid.plane, row = grid.row;
    const float scale = IS_CUBE ? 1.0f / sqrtf(grid.weights[2]) : 1.0f, uniform = scale / grid.speed;
    const int ny = grid.shape[1], nx = grid.shape[2];
    // A strip, with the row before and the row behind it; the earlier of the planes beside it; slowness.
    using Row = float[PITCH];
    alignas(64) float own[LANES + 2][PITCH], beside[LANES][PITCH], slow[LANES][PITCH];
    Number own_by_turn[TURNS + 1], beside_by_turn[TURNS], slow_by_turn[TURNS];
    Number* const held = own_by_turn + 1;
    for (Row& line : own) for (float& one : line) one = never;
    for (Row& line : beside) for (float& one : line) one = never;
    for (Row& line : slow) for (float& one : line) one = never;
    int height = 0, width = 0;
    auto copy = [&](int z, int y, int x) {
        const int rows = wp::min(ny - y, LANES), length = wp::min(nx - x, LENGTH);
        const float* const from = times + z * plane + y * row + x;
        for (int j = 0; j < LANES + 2; ++j) {
            if (j <= rows + 1) __builtin_memcpy(&own[j][LANES - 1], from + (j - 1) * row - 1, 4 * (length + 2));
            else for (float& one : own[j]) one = never;
        }
        for (int j = 0; j < rows; ++j) {
            const float* const front = from + j * row - plane;
            const float* const behind = from + j * row + plane;
            for (int i = 0; i < length; ++i) beside[j][LANES + i] = wp::min(front[i], behind[i]);
        }
        if (!speeds && rows == height && length == width) return;
        height = rows, width = length;
        // The front does not come to what is beyond the strip.
        for (int j = 0; j < LANES; ++j)
            for (int i = 0; i < LENGTH; ++i) slow[j][LANES + i] = j < height && i < width ? uniform : never;
        if (!speeds) return;
        for (int j = 0; j < height; ++j)
            for (int i = 0; i < width; ++i) {
                const float speed = speeds[z * grid.speed_plane + (y + j) * grid.speed_row + x + i];
                slow[j][LANES + i] = speed > 0.0f ? scale / speed : never;
            }
    };
    // Whether anything in the strip would change.
    auto would_change = [&]() -> bool {
        for (int j = 0; j < height; ++j) {
            const float* const line = own[j + 1];
            auto seen = nothing < nothing;
            for (int i = LANES; i < LANES + width; i += LANES) {
                const Number a = least(load(line + i - 1), load(line + i + 1));
                const Number b = least(load(line + i - PITCH), load(line + i + PITCH));
                seen |= ARRIVAL(a, b, load(&beside[j][i]), load(&slow[j][i])) < load(line + i) - tolerance;
            }
            if (any(seen)) return true;
        }
        return false;
    };
    auto skew = [&](const Row* from, Number* to, bool is_reversed) {
        for (int turn = 0; turn < width + LANES; turn += LANES) {
            Number line[LANES];
            for (int i = 0; i < LANES; ++i) line[i] = load(&from[is_reversed ? LANES - 1 - i : i][LANES + turn - i]);
            transpose(line);
            for (int i = 0; i < LANES; ++i) to[turn + i] = line[i];
        }
    };
    auto unskew = [&](const Number* from, Row* to, bool is_reversed) {
        for (int turn = 0; turn < width + LANES; turn += LANES) {
            Number line[LANES];
            for (int i = 0; i < LANES; ++i) line[i] = from[turn + i];
            transpose(line);
            for (int i = 0; i < LANES; ++i) store(&to[is_reversed ? LANES - 1 - i : i][LANES + turn - i], line[i]);
        }
    };
    struct Forward { enum { STEP = 1 }; };
    struct Backward { enum { STEP = -1 }; };
    // Whether anything has changed. low, high: the rows before the first and behind the last.
    auto pass = [&](auto direction, const float* low, const float* high) -> bool {
        constexpr int STEP = decltype(direction)::STEP;
        const int count = width + LANES - 1;
        int turn = STEP > 0 ? 0 : count - 1;
        Number last = held[turn - STEP], now = held[turn];
        auto seen = nothing < nothing;
        for (int n = 0; n < count; ++n, turn += STEP) {
            const Number next = held[turn + STEP], lower = STEP > 0 ? last : next, upper = STEP > 0 ? next : last;
            const Number b = least(before(lower, low[turn]), behind(upper, high[turn - LANES + 1]));
            const Number then = ARRIVAL(least(lower, upper), b, beside_by_turn[turn], slow_by_turn[turn]);
            const auto is_earlier = then < now - tolerance;
            seen |= is_earlier;
            last = is_earlier ? then : now;
            held[turn] = last;
            now = next;
        }
        return any(seen);
    };
    // A strip in one direction. Whether it has changed.
    auto sweep_strip = [&](int z, int y, int x, int dy, int dx) -> bool {
        copy(z, y, x);
        if (!would_change()) return false;
        const bool is_reversed = dy != dx;
        skew(own + 1, held, is_reversed);
        skew(beside, beside_by_turn, is_reversed);
        skew(slow, slow_by_turn, is_reversed);
        held[-1] = own[is_reversed ? LANES : 1][LANES - 1];
        const float* const low = &own[is_reversed ? LANES + 1 : 0][LANES];
        const float* const high = &own[is_reversed ? 0 : LANES + 1][LANES];
        if (!(dx > 0 ? pass(Forward{}, low, high) : pass(Backward{}, low, high))) return true;
        unskew(held, own + 1, is_reversed);
        float* const to = times + z * plane + y * row + x;
        for (int j = 0; j < height; ++j) __builtin_memcpy(to + j * row, &own[j + 1][LANES], 4 * width);
        return true;
    };
"""

TILE = """
    const int begin[3] = {
        tile / (grid.tiles[1] * grid.tiles[2]) * grid.tile[0],
        tile / grid.tiles[2] % grid.tiles[1] * grid.tile[1],
        tile % grid.tiles[2] * grid.tile[2],
    };
    int end[3];
    for (int i = 0; i < 3; ++i) end[i] = wp::min(begin[i] + grid.tile[i], grid.shape[i]);
    // Strips from here on, along y and x.
    const int begin_y = begin[1] / LANES, end_y = (end[1] + LANES - 1) / LANES, ys = (ny + LANES - 1) / LANES;
    const int begin_x = begin[2] / LENGTH, end_x = (end[2] + LENGTH - 1) / LENGTH, xs = (nx + LENGTH - 1) / LENGTH;
    int* const changed_at = (int*)strips.data;
    int* const checked_at = changed_at + (long long)grid.shape[0] * ys * xs;
    auto number_of = [&](int z, int y, int x) -> int { return (z * ys + y) * xs + x; };
    for (int z = begin[0]; z < end[0]; ++z)
        for (int y = begin_y; y < end_y; ++y)
            for (int x = begin_x; x < end_x; ++x)
                changed_at[number_of(z, y, x)] = 1, checked_at[number_of(z, y, x)] = 0;
    int clock = 2;
    bool has_changed = false, is_done = false;
    auto has_news = [&](int z, int y, int x, int than) -> bool {
        const bool is_inside = z >= begin[0] && z < end[0] && y >= begin_y && y < end_y && x >= begin_x && x < end_x;
        return is_inside && changed_at[number_of(z, y, x)] > than;
    };
    // The directions in which something changed last: each plane begins with these.
    int dy = 1, dx = 1;
    auto visit = [&](int z, int y, int x, int along_y, int along_x) {
        int& checked = checked_at[number_of(z, y, x)];
        if (!has_news(z, y, x, checked) && !has_news(z - 1, y, x, checked) && !has_news(z + 1, y, x, checked) &&
            !has_news(z, y - 1, x, checked) && !has_news(z, y + 1, x, checked) &&
            !has_news(z, y, x - 1, checked) && !has_news(z, y, x + 1, checked))
            return;
        checked = ++clock;
        if (!sweep_strip(z, y * LANES, x * LENGTH, along_y, along_x)) return;
        changed_at[number_of(z, y, x)] = ++clock, is_done = false, has_changed = true;
        dy = along_y, dx = along_x;
    };
    auto sweep_row = [&](int z, int y, int along_y, int along_x) {
        for (int i = 0, x = along_x > 0 ? begin_x : end_x - 1; i < end_x - begin_x; ++i, x += along_x)
            visit(z, y, x, along_y, along_x);
    };
    auto sweep_plane = [&](int z, int along_y) {
        for (int j = 0, y = along_y > 0 ? begin_y : end_y - 1; j < end_y - begin_y; ++j, y += along_y) {
            const int along_x = dx;
            sweep_row(z, y, along_y, along_x), sweep_row(z, y, along_y, -along_x);
        }
    };
    for (int dz = 1; !is_done; dz = -dz) {
        is_done = true;
        for (int i = 0, z = dz > 0 ? begin[0] : end[0] - 1; i < end[0] - begin[0]; ++i, z += dz) {
            const int along_y = dy;
            sweep_plane(z, along_y), sweep_plane(z, -along_y);
        }
    }
    changed.data[number] = has_changed;
"""


def sweep_tiles_with(arrival: str) -> Any:
    """The kernel for one way to solve the scheme. arrival: its name in SCHEME."""
    is_cube = str(int(arrival == "arrival_in_cube"))

    @wp.func_native((SEVERAL + SCHEME + STRIP + TILE).replace("ARRIVAL", arrival).replace("IS_CUBE", is_cube))
    def sweep_tile(
        grid: FrontGrid,
        tile: wp.int32,
        number: wp.int32,
        strips: wp.array(dtype=wp.int32),
        changed: wp.array(dtype=wp.uint8),
    ):
        """Sweep a tile until nothing changes in it. strips: two numbers for each of the block, of when it changed and
        when it was last looked at."""
        ...

    @wp.kernel(enable_backward=False, module="unique")
    def sweep_tiles(
        first: wp.int32,
        grid: FrontGrid,
        tiles: wp.array(dtype=wp.int32),
        strips: wp.array(dtype=wp.int32),
        changed: wp.array(dtype=wp.uint8),
    ):
        """One tile for each thread of a CPU."""
        number = wp.tid()
        number += first
        sweep_tile(grid, tiles[number], number, strips, changed)

    return sweep_tiles


sweep_cubes, sweep_boxes = (sweep_tiles_with(arrival) for arrival in ("arrival_in_cube", "arrival_in_box"))
