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

// The light on samples of one ray, as lighting.shaded defines it: colour * brightness + shine.

struct Lit { F brightness, shine; };
auto brightness_at = [&](F x, F y, F z) __attribute__((noinline)) -> F {
    const auto& shape = layer.brightness.shape;
    const float* light = layer.brightness.data;
    auto split = [&](F at, int cells, I& corner) -> F {
        at = at / EVERY;
        corner = whole(most(at, zero));
        corner = corner > (cells > 2 ? cells - 2 : 0) ? none + (cells > 2 ? cells - 2 : 0) : corner;
        return most(least(at - real(corner), zero + 1.0f), zero);
    };
    I i, j, l;
    const F u = split(x, shape[2], i), v = split(y, shape[1], j), w = split(z, shape[0], l);
    const int dx = shape[2] > 1, dy = shape[1] > 1 ? shape[2] : 0, dz = shape[0] > 1 ? shape[1] * shape[2] : 0;
    const I at = (l * shape[1] + j) * shape[2] + i;
    auto along = [&](int shift) -> F {
        F a, b;
        for (int q = 0; q < N; ++q) a[q] = light[at[q] + shift], b[q] = light[at[q] + shift + dx];
        return a + (b - a) * u;
    };
    const F a = along(0), b = along(dy), c = along(dz), d = along(dz + dy);
    const F e = a + (b - a) * v, f = c + (d - c) * v;
    return e + (f - e) * w;
};
auto powered = [&](F base, float exponent) -> F {  // of a base from 0 to 1, to some 1e-5 of the result
    const I bit_pattern = (I)most(base, 1.0e-37f - zero);
    const F mantissa = (F)((bit_pattern & 0x7FFFFF) | 0x3F800000);
    const F s = (mantissa - 1.0f) / (mantissa + 1.0f), t = s * s;
    const F logarithm = s * (2.88539f + t * (0.961797f + t * (0.577078f + t * (0.412198f + t * 0.320599f))));
    const F power = most((real((bit_pattern >> 23) - 127) + logarithm) * exponent, -126.0f - zero);
    const F nearest = __builtin_elementwise_floor(power + 0.5f), f = (power - nearest) * 0.693147f;
    const F fraction = 1.0f + f * (1.0f + f * (0.5f + f * (0.166667f + f * (0.0416667f + f * 0.00833333f))));
    return fraction * (F)((whole(nearest) + 127) << 23);
};
auto step_by_step = [&](const F* in, F* gradient) {
    const F x = in[0], y = in[1], z = in[2];
    gradient[0] = value_at(x + 1.0f, y, z) - value_at(x - 1.0f, y, z);
    gradient[1] = value_at(x, y + 1.0f, z) - value_at(x, y - 1.0f, z);
    gradient[2] = value_at(x, y, z + 1.0f) - value_at(x, y, z - 1.0f);
};
// The same away from all borders, where the four voxels of a row come in one read.
auto row_by_row = [&](const F* in, F* gradient) {
    const I i = whole(in[0]), j = whole(in[1]), l = whole(in[2]);
    const F u = in[0] - real(i), v = in[1] - real(j), w = in[2] - real(l);
    const int i0 = i[0], j0 = j[0], l0 = l[0], row = (int)(here.row), plane = (int)(here.plane);
    const I from = (l - l0) * plane + (j - j0) * row + (i - i0);
    const char* first = (const char*)here.voxels + (l0 * here.plane + j0 * here.row + i0 - 1);
    F along[4][4], across[2][2];  // by plane and row: values; by plane and row in the middle: how they change along x
    for (int b = 0; b < 4; ++b)
        for (int a = 0; a < 4; ++a) {
            const bool is_middle = a % 3 != 0 && b % 3 != 0;
            if (a % 3 == 0 && b % 3 == 0) continue;
            const char* start = first + (b - 1) * plane + (a - 1) * row;
            U four;
            for (int q = 0; q < N; ++q) {
                unsigned voxels;
                __builtin_memcpy(&voxels, start + from[q], sizeof(voxels));
                four[q] = voxels;
            }
            const F middle = real((I)((four >> 8u) & 0xFFu)), next = real((I)((four >> 16u) & 0xFFu));
            along[b][a] = middle + (next - middle) * u;
            if (!is_middle) continue;
            const F low = next - real((I)(four & 0xFFu)), high = real((I)(four >> 24u)) - middle;
            across[b - 1][a - 1] = low + (high - low) * u;
        }
    auto mixed = [](F a, F b, F weight) -> F { return a + (b - a) * weight; };
    gradient[0] = mixed(mixed(across[0][0], across[0][1], v), mixed(across[1][0], across[1][1], v), w);
    const F near = mixed(along[1][2] - along[1][0], along[1][3] - along[1][1], v);
    gradient[1] = mixed(near, mixed(along[2][2] - along[2][0], along[2][3] - along[2][1], v), w);
    const F left = mixed(along[2][1] - along[0][1], along[3][1] - along[1][1], w);
    gradient[2] = mixed(left, mixed(along[2][2] - along[0][2], along[3][2] - along[1][2], w), v);
};
auto along_gradient = [&](int q, const F* in) -> Lit {
    I is_inside = none - 1;
    for (int a = 0; a < 3; ++a) is_inside &= (in[a] >= here.low[a] + 1.0f) & (in[a] < here.high[a] - 1.0f);
    F slope[3], gradient[3];
    if (here.kind == 0 && bits(is_inside) == (1u << N) - 1u) row_by_row(in, gradient);
    else step_by_step(in, gradient);
    for (int a = 0; a < 3; ++a) gradient[a] *= 0.5f * here.scale[a];
    for (int a = 0; a < 3; ++a)
        slope[a] = (to_voxel[0][a] * gradient[0] + to_voxel[1][a] * gradient[1] + to_voxel[2][a] * gradient[2])
                   * layer.firmness;
    const F steepness = length_of(slope);
    const auto& light = layer.light;
    float towards[3], half[3], size = 0.0f;
    for (int a = 0; a < 3; ++a) towards[a] = light.is_headlight ? -directions[a][q] : light.towards[a];
    for (int a = 0; a < 3; ++a) half[a] = towards[a] - directions[a][q], size += half[a] * half[a];
    size = __builtin_sqrtf(size);
    const F to_light = (slope[0] * towards[0] + slope[1] * towards[1] + slope[2] * towards[2]) / steepness;
    const F to_half = (slope[0] * half[0] + slope[1] * half[1] + slope[2] * half[2]) / (steepness * size);
    const F surface = least(steepness, 1.0f - zero);
    // Beside voxels that are NaN or infinite there is no gradient, and no comparison with it is true.
    const I is_flat = ~((steepness > LEVEL) & (steepness < 1.0e18f));
    const F turned = is_flat ? zero : surface * (__builtin_elementwise_abs(to_light) - 1.0f);
    const F shine = light.specular * powered(__builtin_elementwise_abs(to_half), light.shininess);
    return {light.ambient + light.diffuse * (1.0f + turned), is_flat ? zero : surface * shine};
};
auto lit = [&](int q, const F* at, const F* in) __attribute__((noinline)) -> Lit {
    Lit light = {zero + 1.0f, zero};
    if (layer.shading == GRADIENT || layer.shading == OCCLUSION) light = along_gradient(q, in);
    if (layer.shading != SHADOW && layer.shading != OCCLUSION) return light;
    float towards[3], pace = 0.0f;
    for (int a = 0; a < 3; ++a) pace += speeds[a][q] * speeds[a][q];
    pace = __builtin_sqrtf(pace);
    for (int a = 0; a < 3; ++a) towards[a] = (layer.towards_light[a] - speeds[a][q] / pace) * BEFORE;
    const F there = brightness_at(at[0] + towards[0], at[1] + towards[1], at[2] + towards[2]);
    if (layer.shading == SHADOW) return {layer.light.ambient + layer.light.diffuse * there, zero};
    const F sky = least(SKY * there, zero + 1.0f);
    return {light.brightness * sky, light.shine * sky};
};

// Windows: sixteen samples of one ray, from number ``start`` to before ``end``. Several are looked at before anything
// is added, so that none waits for another.

const Q* table = (const Q*)layer.table.data;
const float top_row = layer.table.shape[0] - 1;
struct Window {
    int ray, start, end;
    unsigned seen;  // a bit for each sample that is visible
    alignas(64) int entries[N];  // of the table
};
Window windows[MOST];
int waiting = 0;
auto places = [&](const Window& window, F* at, F* in) {
    const int q = window.ray;
    const F distance = (lane + (float)(window.start) + jitters[q]) * step;
    for (int a = 0; a < 3; ++a) in[a] = at[a] = origins[a][q] + speeds[a][q] * distance;
    if (IN_BRICKS)
        for (int a = 0; a < 3; ++a) in[a] = at[a] * here.scale[a] + here.shift[a];
};
auto look = [&](Window& window) {
    F at[3], in[3];
    places(window, at, in);
    const F place = (value_at(in[0], in[1], in[2]) - layer.value_low) * layer.value_scale + 0.5f;
    const I entry = whole(least(most(place, zero), top_row - zero));
    const I is_taken = lane < (float)(window.end - window.start);
    window.seen = bits((entry >= layer.shown[0]) & (entry <= layer.shown[1]) & is_taken);
    __builtin_memcpy(window.entries, &entry, sizeof(entry));
};
auto add = [&](const Window& window) {
    const int q = window.ray;
    Q sum = sums[q];
    float clear = left[q];
    auto gather = [&](auto add_color) {
        for (unsigned rest = window.seen; rest && clear > CLOSED; rest &= rest - 1) {
            const int n = __builtin_ctz(rest);
            const Q color = table[window.entries[n]];
            const float weight = clear * color[3];
            add_color(n, color, weight);
            clear -= weight;
        }
    };
    if (layer.shading == UNLIT) gather([&](int, Q color, float weight) { sum += color * weight; });
    else {
        F at[3], in[3];
        places(window, at, in);
        const Lit light = lit(q, at, in);
        alignas(64) float brightness[N], shine[N];
        __builtin_memcpy(brightness, &light.brightness, sizeof(brightness));
        __builtin_memcpy(shine, &light.shine, sizeof(shine));
        gather([&](int n, Q color, float weight) { sum += color * (weight * brightness[n]) + weight * shine[n]; });
    }
    if (left[q] > 0.5f && clear <= 0.5f)
        for (unsigned rest = window.seen; left[q] > 0.5f; rest &= rest - 1) {
            left[q] -= left[q] * table[window.entries[__builtin_ctz(rest)]][3];
            reached[q] = ((float)(window.start + __builtin_ctz(rest)) + jitters[q]) * step;
        }
    sums[q] = sum;
    left[q] = clear;
};
auto take = [&]() {
    for (int n = 0; n < waiting; ++n) look(windows[n]);
    for (int n = 0; n < waiting; ++n)
        if (windows[n].seen && left[windows[n].ray] > CLOSED) add(windows[n]);
    waiting = 0;
};
