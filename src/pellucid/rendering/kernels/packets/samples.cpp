// The light on samples of one ray, as shading.shaded defines it.

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
    float half[3], size = 0.0f;
    for (int a = 0; a < 3; ++a) half[a] = light.towards[a] - directions[a][q], size += half[a] * half[a];
    size = __builtin_sqrtf(size);
    F to_light = zero, to_half = zero, to_far = zero;
    for (int a = 0; a < 3; ++a) {
        to_light += slope[a] * light.towards[a];
        to_half += slope[a] * half[a];
        to_far += slope[a] * directions[a][q];
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

// Windows: sixteen samples of one ray, from number ``start`` to before ``end``. Several are looked at before anything
// is added, so that none waits for another.

const Q* table = (const Q*)layer.table.data;
const float top_row = layer.table.shape[0] - 1;
struct Window {
    int ray, start, end;
    unsigned seen;  // a bit for each sample that is visible
    alignas(64) int entries[N];  // of the table
};
Window windows[MAX_WAITING];
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
        Lit light = {zero + 1.0f, zero};
        if (layer.shading != SHADOW) light = along_gradient(q, in);
        alignas(64) float diffuse[N], shine[N];
        __builtin_memcpy(diffuse, &light.diffuse, sizeof(diffuse));
        __builtin_memcpy(shine, &light.shine, sizeof(shine));
        gather([&](int n, Q color, float weight) {
            if (layer.shading >= SHADOW && (spent[q] += weight) >= light_rays.share) follow(q, at, n, weight);
            const float brightness = layer.light.ambient + layer.light.diffuse * shadows[q] * diffuse[n];
            sum += (color * brightness + shadows[q] * shine[n]) * (weight * skies[q]);
        });
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
