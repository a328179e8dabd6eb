// Values between voxels, as sampling.value_in and gradient_in define them. Places are in the grid's coordinates.

auto here = layer.field.whole;
#if IN_BRICKS
auto locate = [&](const int* cell) {  // as sampling.locate does, with the whole apron, which gradients need
    static const int bytes[] = {1, 1, 2, 2, 2, 4};
    for (int n = 0; n < layer.field.levels.shape[0]; ++n) {
        const auto& level = layer.field.levels.data[n];
        int brick[3];
        for (int a = 0; a < 3; ++a) brick[a] = cell[a] * CELL >> (level.halvings[a] + BRICK_SHIFT);
        const int page = level.first_page + (brick[2] * level.bricks[1] + brick[1]) * level.bricks[0] + brick[0];
        const long long slot = layer.field.pages.data[page];
        if (slot < 0) continue;
        here.row = PADDED, here.plane = PADDED * PADDED;
        for (int a = 0; a < 3; ++a) {
            const int low = brick[a] * BRICK - APRON, high = wp::min(low + PADDED, level.shape[a]) - 1;
            here.last[a] = wp::max(high - 1, 0);
            here.low[a] = wp::max(low, 0), here.high[a] = high;
            here.scale[a] = 1.0f / (float)(1 << level.halvings[a]);
            here.shift[a] = 0.5f * here.scale[a] - 0.5f;
        }
        long long corner = 0;  // of the level, from the first voxel of the slot
        for (int a = 2; a >= 0; --a) corner = corner * PADDED + APRON - brick[a] * BRICK;
        here.voxels = layer.field.whole.voxels + bytes[here.kind] * (slot * here.plane * PADDED + corner);
        return;
    }
};
#endif
// Neighbours of 8 bits in the two lowest bytes, or of 16 bits in both halves, as numbers.
auto by_kind = [&](auto between, auto bytes, auto words) __attribute__((always_inline)) -> F {
    auto halves = [](U v) -> F {
        const S narrow = __builtin_convertvector(v, S);
        H half;
        __builtin_memcpy(&half, &narrow, sizeof(half));
        return __builtin_convertvector(half, F);
    };
    switch (here.kind) {
        case 0: return between([&](int n, F& a, F& b) {
            const U both = bytes(n);
            a = real((I)(both & 0xFFu)), b = real((I)(both >> 8u & 0xFFu));
        });
        case 1: return between([&](int n, F& a, F& b) {
            const U both = bytes(n);
            a = real((I)(both << 24u) >> 24), b = real((I)(both << 16u) >> 24);
        });
        case 2: return between([&](int n, F& a, F& b) {
            const U both = words(n);
            a = real((I)(both & 0xFFFFu)), b = real((I)(both >> 16u));
        });
        case 3: return between([&](int n, F& a, F& b) {
            const U both = words(n);
            a = real((I)(both << 16u) >> 16), b = real((I)both >> 16);
        });
        default: return between([&](int n, F& a, F& b) {
            const U both = words(n);
            a = halves(both & 0xFFFFu), b = halves(both >> 16u);
        });
    }
};
auto in_grid = [&](F at, int a) -> F {
    return most(least(at, here.high[a] - zero), here.low[a] - zero);
};
// So many voxels along each axis, in which most often all samples lie, and the first of them; of 8 or 16 bits each.
constexpr int AROUND = 4;
struct Around {
    U voxels[2];
    int corner[3];
};
#ifdef __AVX512VBMI__
constexpr bool HAS_AROUND = true;
#else
constexpr bool HAS_AROUND = false;
#endif
auto value_in = [&](F x, F y, F z, const Around* around) __attribute__((always_inline)) -> F {
    x = in_grid(x, 0), y = in_grid(y, 1), z = in_grid(z, 2);
    I i = whole(x), j = whole(y), l = whole(z);
    i = i > here.last[0] ? none + here.last[0] : i;
    j = j > here.last[1] ? none + here.last[1] : j;
    l = l > here.last[2] ? none + here.last[2] : l;
    const F u = x - real(i), v = y - real(j), w = z - real(l);
    auto between = [&](auto pair) -> F {
        F a, b, c, d, e, f, g, h;
        pair(0, a, b), pair(1, c, d), pair(2, e, f), pair(3, g, h);
        a = a + (b - a) * u, c = c + (d - c) * u, e = e + (f - e) * u, g = g + (h - g) * u;
        a = a + (c - a) * v, e = e + (g - e) * v;
        return a + (e - a) * w;
    };
#ifdef __AVX512VBMI__
    const int none_around[3] = {}, *corner = around ? around->corner : none_around;
    const U dx = (U)(i - corner[0]), dy = (U)(j - corner[1]), dz = (U)(l - corner[2]);
    if (around && !bits((I)(dx | dy | dz) & ~3 | (I)((dx == 3u) | (dy == 3u) | (dz == 3u)))) {
        // All at once: each lane takes its voxels out of a register.
        static const unsigned to_row[] = {0, 4, 16, 20};
        const U at = (dz << 4) + (dy << 2) + dx;
        auto bytes = [&](int n) -> U {
            const U place = at * 0x0101u + (0x0100u + to_row[n] * 0x0101u);
            return (U)__builtin_ia32_permvarqi512((Bytes)around->voxels[0], (Bytes)place);
        };
        auto words = [&](int n) -> U {
            const U place = at * 0x10001u + (0x10000u + to_row[n] * 0x10001u);
            return (U)__builtin_ia32_vpermi2varhi512((Words)around->voxels[0], (Words)place, (Words)around->voxels[1]);
        };
        return by_kind(between, bytes, words);
    }
#endif
    // Counted from the first lane's voxel, so that 32 bits are enough in volumes of any size.
    const int i0 = i[0], j0 = j[0], l0 = l[0], row = (int)(here.row), plane = (int)(here.plane);
    const long long base = l0 * here.plane + j0 * here.row + i0;
    const int to_row[] = {0, row, plane, plane + row};
    const I from = (l - l0) * plane + (j - j0) * row + (i - i0);
    const char* voxels = (const char*)here.voxels;
    // Two neighbours of 8 or 16 bits come in one read.
    auto bytes = [&](int n) -> U {
        const char* start = voxels + base + to_row[n];
        U both;
        for (int q = 0; q < N; ++q) {
            unsigned short two;
            __builtin_memcpy(&two, start + from[q], sizeof(two));
            both[q] = two;
        }
        return both;
    };
    auto words = [&](int n) -> U {
        const char* start = voxels + 2 * (base + to_row[n]);
        U both;
        for (int q = 0; q < N; ++q) {
            unsigned two;
            __builtin_memcpy(&two, start + 2 * (long long)(from[q]), sizeof(two));
            both[q] = two;
        }
        return both;
    };
    if (here.kind < 5) return by_kind(between, bytes, words);
    return between([&](int n, F& a, F& b) {
        const float* start = (const float*)voxels + base + to_row[n];
        for (int q = 0; q < N; ++q) a[q] = start[from[q]], b[q] = start[from[q] + 1];
    });
};
auto value_at = [&](F x, F y, F z) __attribute__((always_inline)) -> F { return value_in(x, y, z, nullptr); };

// Into a cell: a brick is wanted, by so much.

auto enter = [&](const int* cell, float weight) __attribute__((noinline)) {
    int brick[3], bricks[3];
    for (int a = 0; a < 3; ++a) {
        brick[a] = cell[a] * CELL >> BRICK_SHIFT;
        bricks[a] = (layer.field.shape[a] + BRICK - 1) >> BRICK_SHIFT;
    }
    layer.field.wanted.data[(brick[2] * bricks[1] + brick[1]) * bricks[0] + brick[0]] += weight;
#if IN_BRICKS
    locate(cell);
#endif
};
