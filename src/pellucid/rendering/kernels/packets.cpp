// Sixteen rays of a tile go through the cells side by side, in the lanes of vectors; where a ray meets visible cells,
// sixteen of its samples are taken at once.
//
// In scope: view, layer, rows, row, column, color, depth, and the numbers that packets.py puts before this text. N:
// lanes of a vector, which are the pixels of a tile or samples of a ray; SIDE: pixels along the edge of a tile;
// IN_BRICKS: whether the volume is in bricks, in which case samples that are taken at once lie in one cell.
// What samples add is put together one by one, front to back: so a picture depends neither on how they were grouped
// nor on what was skipped.

constexpr int STEPS = 8;  // cells that every ray of a tile passes before their samples are taken
constexpr float NOTHING = 3.0e38f;
constexpr float CLOSED = 1.0f - OPAQUE;  // so little light is left that a ray ends

typedef float F __attribute__((vector_size(4 * N)));
typedef int I __attribute__((vector_size(4 * N)));
typedef unsigned U __attribute__((vector_size(4 * N)));
typedef unsigned short S __attribute__((vector_size(2 * N)));
typedef _Float16 H __attribute__((vector_size(2 * N)));
typedef float Q __attribute__((vector_size(16)));
typedef bool M __attribute__((ext_vector_type(N)));

const F zero = {};
const I none = {};
const F lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

auto whole = [](F v) -> I { return __builtin_convertvector(v, I); };
auto real = [](I v) -> F { return __builtin_convertvector(v, F); };
auto least = [](F a, F b) -> F { return a < b ? a : b; };
auto most = [](F a, F b) -> F { return a > b ? a : b; };
auto bits = [](I is) -> unsigned {
    const M mask = __builtin_convertvector(is, M);
    unsigned short packed;
    __builtin_memcpy(&packed, &mask, sizeof(packed));
    return packed;
};

// The rays, as rays.make_ray makes them.

const F across = F{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3} + (float)(column);
const F down = F{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3} + (float)(row);
const long long width = color.shape[1];
const int columns = width - column < SIDE ? width - column : SIDE, lines = rows[1] - row < SIDE ? rows[1] - row : SIDE;
alignas(64) float scenery_depth[N] = {};
for (int y = 0; y < lines; ++y)
    for (int x = 0; x < columns; ++x)
        scenery_depth[y * SIDE + x] = view.scenery_depth.data[(row + y) * width + column + x];
F through[3], eye[3], direction[3], origin[3], speed[3], inverse[3];
for (int a = 0; a < 3; ++a) through[a] = view.corner[a] + view.across[a] * across + view.down[a] * down;
auto length_of = [](const F* v) -> F { return __builtin_elementwise_sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); };
const F length = length_of(through);
for (int a = 0; a < 3; ++a) {
    eye[a] = view.is_perspective ? zero + view.eye[a] : through[a];
    direction[a] = view.is_perspective ? through[a] / length : zero + view.forward[a];
}
const auto& to_voxel = layer.to_voxel.data;
for (int a = 0; a < 3; ++a) {
    origin[a] = to_voxel[a][0] * eye[0] + to_voxel[a][1] * eye[1] + to_voxel[a][2] * eye[2] + layer.shift[a];
    speed[a] = to_voxel[a][0] * direction[0] + to_voxel[a][1] * direction[1] + to_voxel[a][2] * direction[2];
}
F jitter = zero + 0.5f;
if (view.is_jittered) {
    U h = ((U)whole(down) * 0x1E3779B1u) ^ ((U)whole(across) * 0x05EBCA77u);
    h = (h ^ (h >> 15u)) * 0x2C1B3C6Du;
    h = (h ^ (h >> 12u)) * 0x297A2D39u;
    h = h ^ (h >> 15u);
    const F shifted = real((I)(h >> 8u)) / 16777216.0f + view.jitter_shift;
    jitter = shifted - __builtin_elementwise_floor(shifted);
}

const float step = view.step;
F near = zero, far;
__builtin_memcpy(&far, scenery_depth, sizeof(far));
auto height_over = [&](const wp::vec4& plane, F& along) -> F {
    along = plane[0] * direction[0] + plane[1] * direction[1] + plane[2] * direction[2];
    return plane[3] - (plane[0] * eye[0] + plane[1] * eye[1] + plane[2] * eye[2]);
};
for (int i = 0; i < view.planes.shape[0]; ++i) {
    F along;
    const F height = height_over(view.planes.data[i], along);
    const I is_parallel = (along < 1.0e-9f) & (along > -1.0e-9f);
    const F reached = height / along;
    near = (~is_parallel & (along > 0.0f)) ? most(near, reached) : near;
    far = (~is_parallel & (along < 0.0f)) ? least(far, reached) : far;
    far = (is_parallel & (height > 0.0f)) ? zero - 1.0f : far;
}
for (int a = 0; a < 3; ++a) {
    const I is_parallel = (speed[a] < 1.0e-12f) & (speed[a] > -1.0e-12f);
    const F along = is_parallel ? zero + 1.0e-12f : speed[a];
    const F low = (layer.low[a] - origin[a]) / along, high = (layer.high[a] - origin[a]) / along;
    near = most(near, least(low, high));
    far = least(far, most(low, high));
    inverse[a] = 1.0f / (along * step);
}
const I is_hit = (far > near) & (across < (float)(width)) & (down < (float)(rows[1]));
I k = is_hit ? whole(__builtin_elementwise_ceil(near / step - jitter)) : none;
I last = is_hit ? whole(__builtin_elementwise_floor(far / step - jitter)) : none - 1;
for (int i = 0; i < view.borders.shape[0]; ++i) {
    F along;
    const F height = height_over(view.borders.data[i], along);
    const I is_parallel = (along < 1.0e-12f) & (along > -1.0e-12f);
    F beyond = is_parallel ? (height <= 0.0f ? zero - 1.0e9f : zero + 1.0e9f) : height / along / step - jitter;
    beyond = most(least(beyond, zero + 1.0e9f), zero - 1.0e9f);
    const I first_beyond = whole(__builtin_elementwise_ceil(beyond));
    const I is_behind = (along >= -1.0e-12f) == (none + view.sides.data[i] > 0);
    k = (is_behind & (first_beyond > k)) ? first_beyond : k;
    last = (~is_behind & (first_beyond - 1 < last)) ? first_beyond - 1 : last;
}

// The same ray by ray, with what each has gathered: colour, what is left of its light, and where half of it was gone.

alignas(64) float origins[3][N], speeds[3][N], directions[3][N], jitters[N], left[N], reached[N];
alignas(64) int lasts[N], taken[N];
Q sums[N] = {};
__builtin_memcpy(origins, origin, sizeof(origins));
__builtin_memcpy(speeds, speed, sizeof(speeds));
__builtin_memcpy(directions, direction, sizeof(directions));
__builtin_memcpy(jitters, &jitter, sizeof(jitters));
__builtin_memcpy(taken, &k, sizeof(taken));
for (int q = 0; q < N; ++q) left[q] = 1.0f, reached[q] = NOTHING;
if (view.before.shape[0] > 0)
    for (int q = 0; q < N; ++q) {
        if (q % SIDE >= columns || q / SIDE >= lines) continue;
        const long long pixel = (row + q / SIDE) * width + column + q % SIDE;
        for (int c = 0; c < 3; ++c) sums[q][c] = view.before.data[pixel][c];
        left[q] = 1.0f - view.before.data[pixel][3];
        reached[q] = view.before_depth.data[pixel];
        if (left[q] <= CLOSED) last[q] = k[q] - 1;
    }
__builtin_memcpy(lasts, &last, sizeof(lasts));

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
auto powered = [&](F base, float exponent) -> F {
    F power;
    for (int q = 0; q < N; ++q) power[q] = __builtin_powf(base[q], exponent);
    return power;
};
auto along_gradient = [&](int q, const F* in) -> Lit {
    const F x = in[0], y = in[1], z = in[2];
    F slope[3];
    const F gx = (value_at(x + 1.0f, y, z) - value_at(x - 1.0f, y, z)) * (0.5f * here.scale[0]);
    const F gy = (value_at(x, y + 1.0f, z) - value_at(x, y - 1.0f, z)) * (0.5f * here.scale[1]);
    const F gz = (value_at(x, y, z + 1.0f) - value_at(x, y, z - 1.0f)) * (0.5f * here.scale[2]);
    for (int a = 0; a < 3; ++a) slope[a] = to_voxel[0][a] * gx + to_voxel[1][a] * gy + to_voxel[2][a] * gz;
    const F steepness = length_of(slope);
    const auto& light = layer.light;
    float towards[3], half[3], size = 0.0f;
    for (int a = 0; a < 3; ++a) towards[a] = light.is_headlight ? -directions[a][q] : light.towards[a];
    for (int a = 0; a < 3; ++a) half[a] = towards[a] - directions[a][q], size += half[a] * half[a];
    size = __builtin_sqrtf(size);
    const F to_light = (slope[0] * towards[0] + slope[1] * towards[1] + slope[2] * towards[2]) / steepness;
    const F to_half = (slope[0] * half[0] + slope[1] * half[1] + slope[2] * half[2]) / (steepness * size);
    const I is_flat = steepness < 1.0e-9f;
    const F diffuse = light.ambient + light.diffuse * __builtin_elementwise_abs(to_light);
    const F shine = light.specular * powered(__builtin_elementwise_abs(to_half), light.shininess);
    return {is_flat ? (light.ambient + light.diffuse) - zero : diffuse, is_flat ? zero : shine};
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

// Sixteen samples of one ray, from number ``start`` to before ``end``.

const Q* table = (const Q*)layer.table.data;
const float top_row = layer.table.shape[0] - 1;
auto take = [&](int q, int start, int end) {
    const F distance = (lane + (float)(start) + jitters[q]) * step;
    F at[3], in[3];
    for (int a = 0; a < 3; ++a) in[a] = at[a] = origins[a][q] + speeds[a][q] * distance;
    if (IN_BRICKS)
        for (int a = 0; a < 3; ++a) in[a] = at[a] * here.scale[a] + here.shift[a];
    const F place = (value_at(in[0], in[1], in[2]) - layer.value_low) * layer.value_scale + 0.5f;
    const I entry = whole(least(most(place, zero), top_row - zero));
    unsigned seen = bits((entry >= layer.shown[0]) & (entry <= layer.shown[1]) & (lane < (float)(end - start)));
    if (!seen) return;
    alignas(64) int entries[N];
    __builtin_memcpy(entries, &entry, sizeof(entry));
    Q sum = sums[q];
    float clear = left[q];
    auto gather = [&](auto add) {
        for (unsigned rest = seen; rest && clear > CLOSED; rest &= rest - 1) {
            const int n = __builtin_ctz(rest);
            const Q color = table[entries[n]];
            const float weight = clear * color[3];
            add(n, color, weight);
            clear -= weight;
        }
    };
    if (layer.shading == UNLIT) gather([&](int, Q color, float weight) { sum += color * weight; });
    else {
        const Lit light = lit(q, at, in);
        alignas(64) float brightness[N], shine[N];
        __builtin_memcpy(brightness, &light.brightness, sizeof(brightness));
        __builtin_memcpy(shine, &light.shine, sizeof(shine));
        gather([&](int n, Q color, float weight) { sum += color * (weight * brightness[n]) + weight * shine[n]; });
    }
    if (left[q] > 0.5f && clear <= 0.5f)
        for (; left[q] > 0.5f; seen &= seen - 1) {
            left[q] -= left[q] * table[entries[__builtin_ctz(seen)]][3];
            reached[q] = ((float)(start + __builtin_ctz(seen)) + jitters[q]) * step;
        }
    sums[q] = sum;
    left[q] = clear;
};

// From cell to cell.

const int mx = layer.vacancy.shape[2], my = layer.vacancy.shape[1];
const unsigned char* vacancy = layer.vacancy.data;
auto enter = [&](int number, float weight) __attribute__((noinline)) {
    const int cell[3] = {number % mx, number / mx % my, number / mx / my};
    int brick[3], bricks[3];
    for (int a = 0; a < 3; ++a) {
        brick[a] = cell[a] * CELL >> BRICK_SHIFT;
        bricks[a] = (layer.field.shape[a] + BRICK - 1) >> BRICK_SHIFT;
    }
    float& wanted = layer.field.wanted.data[(brick[2] * bricks[1] + brick[1]) * bricks[0] + brick[0]];
    wanted += IN_BRICKS ? weight : SIDE * weight;
#if IN_BRICKS
    locate(cell);
#endif
};
F from_corner[3], ahead[3], sign[3];
for (int a = 0; a < 3; ++a) {
    from_corner[a] = origin[a] + 0.5f;
    ahead[a] = speed[a] > zero ? zero + 1.0f : zero;
    sign[a] = ahead[a] * 2.0f - 1.0f;
}
alignas(64) int starts[STEPS][N], ends[STEPS][N], cells[STEPS][N];
while (unsigned alive = bits(k <= last)) {
    I visible = none;  // a bit for every step
    for (int s = 0; s < STEPS && alive; ++s) {
        const I is_alive = k <= last;
        const F distance = (real(k) + jitter) * step;
        I cell[3];
        for (int a = 0; a < 3; ++a) {
            const int cells = layer.vacancy.shape[2 - a];
            cell[a] = whole((from_corner[a] + speed[a] * distance) * (1.0f / EDGE));
            cell[a] = cell[a] < cells ? cell[a] : none + (cells - 1);
            cell[a] = (is_alive & (cell[a] > 0)) ? cell[a] : none;
        }
        const I index = (cell[2] * my + cell[1]) * mx + cell[0];
        I vacant;
        for (int q = 0; q < N; ++q) vacant[q] = vacancy[index[q]];
        const F around = most(real(vacant - 1), zero);
        F border = zero + 1.0e9f;
        for (int a = 0; a < 3; ++a) {
            const F wall = (real(cell[a]) + ahead[a] + sign[a] * around) * EDGE;
            border = least(border, (wall - from_corner[a]) * inverse[a]);
        }
        // A little short of the border, so that rounding never takes a sample of the next cell with it.
        I next = whole(__builtin_elementwise_ceil(border - jitter - 1.0e-3f));
        next = next > k ? next : k + 1;
        next = next <= last ? next : last + 1;
        next = is_alive ? next : k;
        visible |= (is_alive & (vacant == 0)) & (1 << s);
        __builtin_memcpy(starts[s], &k, sizeof(k));
        __builtin_memcpy(ends[s], &next, sizeof(next));
        __builtin_memcpy(cells[s], &index, sizeof(index));
        k = next;
        alive = bits(k <= last);
    }
    for (unsigned seeing = bits(visible != 0); seeing; seeing &= seeing - 1) {
        const int q = __builtin_ctz(seeing);
        for (unsigned rest = visible[q]; rest && left[q] > CLOSED; rest &= rest - 1) {
            const int s = __builtin_ctz(rest);
            // All tell which bricks they want; of a volume that is there, those on the tile's diagonal are enough.
            if (IN_BRICKS || q % (SIDE + 1) == 0) enter(cells[s][q], (ends[s][q] - starts[s][q]) * left[q]);
            int start = starts[s][q] > taken[q] ? starts[s][q] : taken[q];
            const int end = IN_BRICKS ? ends[s][q] : lasts[q] + 1;
            for (; start < ends[s][q] && left[q] > CLOSED; start += N) take(q, start, end);
            taken[q] = IN_BRICKS ? end : start;
        }
        lasts[q] = left[q] > CLOSED ? lasts[q] : -2147483647;
    }
    __builtin_memcpy(&last, lasts, sizeof(last));
}

// Over what was drawn before.

for (int q = 0; q < N; ++q) {
    if (q % SIDE >= columns || q / SIDE >= lines) continue;
    const long long pixel = (row + q / SIDE) * width + column + q % SIDE;
    Q over;
    __builtin_memcpy(&over, view.scenery.data + pixel, sizeof(over));
    sums[q][3] = 1.0f - left[q];
    over = sums[q] + over * left[q];
    __builtin_memcpy(color.data + pixel, &over, sizeof(over));
    depth.data[pixel] = wp::min(reached[q], scenery_depth[q]);
}
