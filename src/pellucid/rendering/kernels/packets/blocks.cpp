// Blocks: DEEP samples of each of the four rays of a quad, which lie so near one another that one look at what is
// visible, and one read of the voxels around them, serve all. Where pixels are too large for that, a block is sixteen
// samples of one ray. Sixteen blocks are tested at once: of every quad four, one behind the other, or of every ray one.

auto extreme_of_quad = [](auto v, auto better) {
    v = better(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
    return better(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
};
auto least_of_quad = [&](auto v) { return extreme_of_quad(v, [](auto a, auto b) { return a < b ? a : b; }); };
auto most_of_quad = [&](auto v) { return extreme_of_quad(v, [](auto a, auto b) { return a > b ? a : b; }); };

// Where a block that begins with sample k lies: from low + slope * k on, no longer than span along any axis.
I end = last;
F low[3], slope[3], inverse_slope[3];
auto bound = [&](auto least_of, auto most_of, int deep) -> float {
    const I is_ray = k <= last;
    const F early = least_of(jitter), late = most_of(jitter) + (float)(deep - 1);
    end = most_of(is_ray ? last : none - 1);
    F longest = zero;
    for (int a = 0; a < 3; ++a) {
        const F nearest = least_of(origin[a]), farthest = most_of(origin[a]);
        const F slow = least_of(speed[a]) * step, fast = most_of(speed[a]) * step;
        const F rounding = 1.0e-3f + 1.0e-6f * most(farthest, zero - nearest);
        slope[a] = slow;
        low[a] = nearest + slow * (slow > zero ? early : late) - rounding;
        const F high = farthest + fast * (fast > zero ? late : early) + rounding;
        longest = most(longest, high - low[a] + (fast - slow) * real(end));
        const I is_parallel = (slow < 1.0e-12f) & (slow > -1.0e-12f);
        inverse_slope[a] = 1.0f / (is_parallel ? zero + 1.0e-12f : slow);
    }
    float span = 0.0f;
    for (int q = 0; q < N; ++q) span = end[q] >= 0 ? wp::max(span, longest[q]) : span;
    return span;
};
float span = bound(least_of_quad, most_of_quad, DEEP);
// Then the lower corners of all of a block's samples are among four along each axis.
is_by_quad = span < 3.0f && wp::min(wp::min(here.shape[0], here.shape[1]), here.shape[2]) >= AROUND;
auto itself = [](auto v) { return v; };
if (!is_by_quad) span = bound(itself, itself, 1);
has_around = HAS_AROUND && is_by_quad && here.kind < 5;
rays_together = is_by_quad ? QUAD : 1;
in_turn = is_by_quad ? whole(lane) / QUAD : whole(lane);

const long long plane_bytes = here.plane * (here.kind < 2 ? 1 : 2), row_bytes = here.row * (here.kind < 2 ? 1 : 2);
auto read = [&](auto* rows, const char* start) {
    for (int z = 0; z < AROUND; ++z)
        for (int y = 0; y < AROUND; ++y)
            __builtin_memcpy(rows + z * AROUND + y, start + z * plane_bytes + y * row_bytes, sizeof(*rows));
};
auto take_block = [&](int ray, int start, const int* corner) {
    Window& window = windows[waiting++];
    window.ray = ray, window.start = start;
    int* from = window.around.corner;
    for (int a = 0; a < 3; ++a) from[a] = wp::max(wp::min(corner[a], here.shape[a] - AROUND), 0);
    if (!has_around) return;
    // Read now: when they are looked at, they are there.
    const char* first = (const char*)here.voxels + from[2] * plane_bytes + from[1] * row_bytes;
    if (here.kind < 2) read((unsigned*)window.around.voxels, first + from[0]);
    else read((unsigned long long*)window.around.voxels, first + 2 * from[0]);
};

const int mx = layer.vacancy.shape[2], my = layer.vacancy.shape[1];
const unsigned char* vacancy = layer.vacancy.data;
const I turn = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
I first = is_by_quad ? least_of_quad(k <= last ? k : none + 0x3FFFFFFF) + turn * DEEP : k;
// What is known to be empty, or is taken; of a ray alone all is taken from a sample on that may be visible.
const int tested = is_by_quad ? DEEP : 1, deep = N / rays_together;
const float to_cell = is_by_quad ? 0.0f : 0.5f;  // Cells reach from half a voxel before their first one.
while (bits(first <= end)) {
    const I is_alive = first <= end;
    I corner[3], cell[3];
    F from[3];
    for (int a = 0; a < 3; ++a) {
        from[a] = low[a] + slope[a] * real(first);
        corner[a] = is_alive ? whole(least(most(from[a] + to_cell, zero), (float)(here.last[a])-zero)) : none;
        cell[a] = corner[a] / CELL;
    }
    const I index = (cell[2] * my + cell[1]) * mx + cell[0];
    I vacant;
    for (int q = 0; q < N; ++q) vacant[q] = vacancy[index[q]];
    I is_empty = vacant > 0;
    F border = zero + 1.0e9f;
    for (int a = 0; a < 3; ++a) {
        const F beyond = real(cell[a] + vacant) * EDGE - 0.5f - span, before = real(cell[a] - vacant + 1) * EDGE - 0.5f;
        is_empty &= from[a] < beyond;
        border = least(border, ((inverse_slope[a] > zero ? beyond : before) - low[a]) * inverse_slope[a]);
    }
    // The last block that is as empty reaches further than its first sample.
    I next = whole(__builtin_elementwise_ceil(border - 1.0e-3f)) + (tested - 1);
    next = is_empty ? (next > first + tested ? next : first + tested) : first + deep;
    if (const unsigned seen = bits(is_alive & ~is_empty)) {
        alignas(64) int indices[N], corners[3][N], starts[N], bit[N];
        const I place = (corner[2] / 2 % 4 * 4 + corner[1] / 2 % 4) * 4 + corner[0] / 2 % 4;
        __builtin_memcpy(indices, &index, sizeof(index));
        __builtin_memcpy(corners, corner, sizeof(corner));
        __builtin_memcpy(starts, &first, sizeof(first));
        __builtin_memcpy(bit, &place, sizeof(place));
        for (unsigned rest = seen; rest; rest &= rest - 1) {
            const int n = __builtin_ctz(rest), at[3] = {corners[0][n], corners[1][n], corners[2][n]};
            if (is_by_quad && !(occupancy_of(indices[n]) >> bit[n] & 1)) continue;
            take_block(is_by_quad ? n - n % QUAD : n, starts[n], at);
        }
        if (waiting > MAX_WAITING - N) {
            take();
            F clear;
            __builtin_memcpy(&clear, left, sizeof(clear));
            end = (is_by_quad ? most_of_quad(clear) : clear) > CLOSED ? end : none - 1;
        }
    }
    first = is_by_quad ? most_of_quad(next) + turn * DEEP : next;
}
take();
