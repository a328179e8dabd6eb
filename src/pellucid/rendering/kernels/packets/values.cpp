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
auto in_grid = [&](F at, int a) -> F {
    return most(least(at, here.high[a] - zero), here.low[a] - zero);
};
auto value_at = [&](F x, F y, F z) __attribute__((always_inline)) -> F {
    x = in_grid(x, 0), y = in_grid(y, 1), z = in_grid(z, 2);
    I i = whole(x), j = whole(y), l = whole(z);
    i = i > here.last[0] ? none + here.last[0] : i;
    j = j > here.last[1] ? none + here.last[1] : j;
    l = l > here.last[2] ? none + here.last[2] : l;
    const F u = x - real(i), v = y - real(j), w = z - real(l);
    // Counted from the first lane's voxel, so that 32 bits are enough in volumes of any size.
    const int i0 = i[0], j0 = j[0], l0 = l[0];
    const long long base = l0 * here.plane + j0 * here.row + i0;
    const int row = (int)(here.row), plane = (int)(here.plane);
    const I from = (l - l0) * plane + (j - j0) * row + (i - i0);
    auto between = [&](auto pair) -> F {
        F a, b, c, d, e, f, g, h;
        pair(0, a, b), pair(row, c, d), pair(plane, e, f), pair(plane + row, g, h);
        a = a + (b - a) * u, c = c + (d - c) * u, e = e + (f - e) * u, g = g + (h - g) * u;
        a = a + (c - a) * v, e = e + (g - e) * v;
        return a + (e - a) * w;
    };
    // Two neighbours of 8 or 16 bits come in one read.
    const char* voxels = (const char*)here.voxels;
    auto bytes = [&](int shift) -> U {
        const char* start = voxels + base + shift;
        U both;
        for (int q = 0; q < N; ++q) {
            unsigned short two;
            __builtin_memcpy(&two, start + from[q], sizeof(two));
            both[q] = two;
        }
        return both;
    };
    auto words = [&](int shift) -> U {
        const char* start = voxels + 2 * (base + shift);
        U both;
        for (int q = 0; q < N; ++q) {
            unsigned two;
            __builtin_memcpy(&two, start + 2 * (long long)(from[q]), sizeof(two));
            both[q] = two;
        }
        return both;
    };
    auto halves = [](U v) -> F {
        const S narrow = __builtin_convertvector(v, S);
        H half;
        __builtin_memcpy(&half, &narrow, sizeof(half));
        return __builtin_convertvector(half, F);
    };
    switch (here.kind) {
        case 0: return between([&](int shift, F& a, F& b) {
            const U both = bytes(shift);
            a = real((I)(both & 0xFFu)), b = real((I)(both >> 8u));
        });
        case 1: return between([&](int shift, F& a, F& b) {
            const U both = bytes(shift);
            a = real((I)(both << 24u) >> 24), b = real((I)(both << 16u) >> 24);
        });
        case 2: return between([&](int shift, F& a, F& b) {
            const U both = words(shift);
            a = real((I)(both & 0xFFFFu)), b = real((I)(both >> 16u));
        });
        case 3: return between([&](int shift, F& a, F& b) {
            const U both = words(shift);
            a = real((I)(both << 16u) >> 16), b = real((I)both >> 16);
        });
        case 4: return between([&](int shift, F& a, F& b) {
            const U both = words(shift);
            a = halves(both & 0xFFFFu), b = halves(both >> 16u);
        });
        default: return between([&](int shift, F& a, F& b) {
            const float* start = (const float*)voxels + base + shift;
            for (int q = 0; q < N; ++q) a[q] = start[from[q]], b[q] = start[from[q] + 1];
        });
    }
};

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
