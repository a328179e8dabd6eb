// The light on samples, as shading.shaded defines it.

struct Lit { F diffuse, shine; };  // the part of the diffuse light that is reflected, and what is mirrored
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
// Sixteen samples are those of one ray, or four of each ray of a quad: the first of every ray, then the second.
bool is_by_quad = false;
auto of_rays = [&](const float* each, int q) -> F {  // what a sample needs of its ray; q: the first ray
    if (!is_by_quad) return zero + each[q];
    Q four;
    __builtin_memcpy(&four, each + q, sizeof(four));
    return __builtin_shufflevector(four, four, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
};
auto along_gradient = [&](int q, const F* in) __attribute__((noinline)) -> Lit {
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
    F half[3], direction[3], to_light = zero, to_half = zero, to_far = zero;
    for (int a = 0; a < 3; ++a) direction[a] = of_rays(directions[a], q), half[a] = light.towards[a] - direction[a];
    const F size = length_of(half);
    for (int a = 0; a < 3; ++a) {
        to_light += slope[a] * light.towards[a];
        to_half += slope[a] * half[a];
        to_far += slope[a] * direction[a];
    }
    auto limited = [&](F v) -> F { return most(least(v, zero + 1.0f), zero); };
    const F falling = to_light / steepness, side = limited(0.5f - TURN * to_far / steepness), facing = side * 2.0f - 1.0f;
    const F diffuse = side * most(falling, zero) + (1.0f - side) * most(zero - falling, zero);
    const F mirrored = limited((facing > zero ? to_half : zero - to_half) / (steepness * size));
    const F surface = least(steepness, 1.0f - zero);
    // Beside voxels that are NaN or infinite there is no gradient, and no comparison with it is true.
    const I is_flat = ~((steepness > LEVEL) & (steepness < 1.0e18f));
    const F turned = is_flat ? zero : surface * (diffuse - 1.0f);
    const F shine = light.specular * powered(mirrored, light.shininess) * limited(GLINT * facing * falling);
    return {1.0f + turned, is_flat ? zero : surface * shine};
};

// Windows: sixteen samples, of one ray from number ``start`` to before ``end``, or of a quad four of each from ``start``
// on. Several are looked at before anything is added, so that none waits for another.

const Q* table = (const Q*)layer.table.data;
const float top_row = layer.table.shape[0] - 1;
struct Window {
    int ray, start, end;  // the first of its rays
    unsigned seen;  // a bit for each sample that is visible
    alignas(64) int is_seen[N], entries[N];  // of the table
    Around around;
};
Window windows[MAX_WAITING];
int waiting = 0;
bool has_around = false;  // whether windows know the voxels around them
int rays_together = 1;  // in a window
I in_turn = whole(lane);  // samples before it, of its ray
auto places = [&](const Window& window, F* at, F* in) {
    const int q = window.ray;
    const F distance = (real(in_turn + window.start) + of_rays(jitters, q)) * step;
    for (int a = 0; a < 3; ++a) in[a] = at[a] = of_rays(origins[a], q) + of_rays(speeds[a], q) * distance;
    if (IN_BRICKS)
        for (int a = 0; a < 3; ++a) in[a] = at[a] * here.scale[a] + here.shift[a];
};
auto look = [&](Window& window) {
    F at[3], in[3];
    places(window, at, in);
    const F value = has_around ? value_in(in[0], in[1], in[2], &window.around) : value_at(in[0], in[1], in[2]);
    const F place = (value - layer.value_low) * layer.value_scale + 0.5f;
    const I number = in_turn + window.start;
    const I entry = whole(least(most(place, zero), top_row - zero));
    I is_seen = (entry >= layer.shown[0]) & (entry <= layer.shown[1]);
#if IN_BRICKS
    is_seen &= number < window.end;
#else
    is_seen &= (number >= (I)of_rays((float*)firsts, window.ray)) & (number <= (I)of_rays((float*)lasts, window.ray));
#endif
    window.seen = bits(is_seen);
    __builtin_memcpy(window.is_seen, &is_seen, sizeof(is_seen));
    __builtin_memcpy(window.entries, &entry, sizeof(entry));
};
auto of_ray = [&](int r) -> unsigned { return is_by_quad ? 0x1111u << r : 0xFFFFu; };  // its bits
// Sample by sample: add_color(sum, its lane, its colour, how much it counts).
auto gather = [&](const Window& window, int q, auto add_color) {
    Q sum = sums[q];
    float clear = left[q];
    for (unsigned rest = window.seen & of_ray(q - window.ray); rest && clear > CLOSED; rest &= rest - 1) {
        const int n = __builtin_ctz(rest);
        const Q color = table[window.entries[n]];
        const float weight = clear * color[3];
        add_color(sum, n, color, weight);
        clear -= weight;
    }
    sums[q] = sum;
    left[q] = clear;
};
// The same for the four rays of a quad at once, with four lanes for the colour of each.
auto in_colors = [](const float* four) -> F {
    Q each;
    __builtin_memcpy(&each, four, sizeof(each));
    return __builtin_shufflevector(each, each, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
};
auto joined = [](Q a, Q b, Q c, Q d) -> F {
    const auto front = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
    const auto back = __builtin_shufflevector(c, d, 0, 1, 2, 3, 4, 5, 6, 7);
    return __builtin_shufflevector(front, back, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
};
auto gather_quad = [&](const Window& window, auto add_color) {
    const F before = in_colors(left + window.ray);
    F sum, clear = before, last_but_one = before, colors[DEEP], opacities[DEEP], weights[DEEP];
    __builtin_memcpy(&sum, sums + window.ray, sizeof(sum));
#pragma unroll
    for (int s = 0; s < DEEP; ++s) {
        const int* entries = window.entries + s * QUAD;
        const F color = colors[s] = joined(table[entries[0]], table[entries[1]], table[entries[2]], table[entries[3]]);
        const F opacity = __builtin_shufflevector(color, color, 3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15);
        opacities[s] = ((I)in_colors((const float*)window.is_seen + s * QUAD) & (before > CLOSED)) ? opacity : zero;
        weights[s] = clear * opacities[s];
        last_but_one = clear;
        clear -= weights[s];
    }
    if (bits((before > CLOSED) & (last_but_one <= CLOSED))) {  // A ray ended before its last sample.
        clear = before;
#pragma unroll
        for (int s = 0; s < DEEP; ++s) {
            weights[s] = clear > CLOSED ? clear * opacities[s] : zero;
            clear -= weights[s];
        }
    }
#pragma unroll
    for (int s = 0; s < DEEP; ++s) add_color(sum, s * QUAD, colors[s], weights[s]);
    __builtin_memcpy(sums + window.ray, &sum, sizeof(sum));
    const Q first = __builtin_shufflevector(clear, clear, 0, 4, 8, 12);
    __builtin_memcpy(left + window.ray, &first, sizeof(first));
};
auto add_lit = [&](const Window& window) __attribute__((noinline)) {
    F at[3], in[3];
    places(window, at, in);
    Lit light = {zero + 1.0f, zero};
    if (layer.shading != SHADOW) light = along_gradient(window.ray, in);
    alignas(64) float diffuse[N], shine[N];
    __builtin_memcpy(diffuse, &light.diffuse, sizeof(diffuse));
    __builtin_memcpy(shine, &light.shine, sizeof(shine));
    if (is_by_quad && layer.shading == GRADIENT) {
        gather_quad(window, [&](F& sum, int n, F color, F weight) {
            const F brightness = layer.light.ambient + layer.light.diffuse * in_colors(diffuse + n);
            sum += (color * brightness + in_colors(shine + n)) * weight;
        });
        return;
    }
    for (int q = window.ray; q < window.ray + rays_together; ++q)
        gather(window, q, [&](Q& sum, int n, Q color, float weight) {
            if (layer.shading >= SHADOW && (spent[q] += weight) >= light_rays.share) follow(q, at, n, weight);
            const float brightness = layer.light.ambient + layer.light.diffuse * shadows[q] * diffuse[n];
            sum += (color * brightness + shadows[q] * shine[n]) * (weight * skies[q]);
        });
};
auto add = [&](const Window& window) {
    float before[QUAD];
    for (int r = 0; r < rays_together; ++r) before[r] = left[window.ray + r];
    if (layer.shading != UNLIT) add_lit(window);
    else if (is_by_quad) gather_quad(window, [](F& sum, int, F color, F weight) { sum += color * weight; });
    else gather(window, window.ray, [](Q& sum, int, Q color, float weight) { sum += color * weight; });
    bool is_half_gone = false;
    for (int r = 0; r < rays_together; ++r) is_half_gone |= (before[r] > 0.5f) & (left[window.ray + r] <= 0.5f);
    for (int r = 0; r < rays_together && is_half_gone; ++r) {
        const int q = window.ray + r;
        if (left[q] > 0.5f) continue;
        // Light is rounded otherwise here: just above a half may be left behind the last sample.
        for (unsigned rest = window.seen & of_ray(r); rest && before[r] > 0.5f; rest &= rest - 1) {
            const int n = __builtin_ctz(rest);
            before[r] -= before[r] * table[window.entries[n]][3];
            reached[q] = ((float)(window.start + n / rays_together) + jitters[q]) * step;
        }
    }
};
auto take = [&]() {
    for (int n = 0; n < waiting; ++n) look(windows[n]);
    for (int n = 0; n < waiting; ++n) {
        const Window& window = windows[n];
        if (!window.seen || (!is_by_quad && left[window.ray] <= CLOSED)) continue;
        // Of a volume that is there, two quads, or the rays on the tile's diagonal, are enough to tell.
        if (!IN_BRICKS && window.ray % (is_by_quad ? N - QUAD : SIDE + 1) == 0) {
            const int* corner = window.around.corner;
            const int cell[3] = {(corner[0] + 1) / CELL, (corner[1] + 1) / CELL, (corner[2] + 1) / CELL};
            enter(cell, (is_by_quad ? 2 * N : SIDE * N) * left[window.ray]);
        }
        add(window);
    }
    waiting = 0;
};
