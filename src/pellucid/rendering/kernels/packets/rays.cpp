// Sixteen rays of a tile, in the lanes of vectors; where they meet what is visible, sixteen samples are taken at once.
//
// In scope: view, layer, rows, row, column, color, depth, and the numbers that __init__.py puts before this text. N:
// lanes of a vector, which are the pixels of a tile, or samples; SIDE: pixels along the edge of a tile; IN_BRICKS:
// whether the volume is in bricks, in which case samples that are taken at once lie on one ray and in one cell (cells),
// and otherwise on the four rays of a quad of pixels (blocks).
// What samples add is put together one by one, front to back: so a picture depends neither on how they were grouped
// nor on what was skipped.

constexpr int QUAD = 4, DEEP = N / QUAD;  // rays of a quad, and of each the samples that are taken at once
constexpr int MAX_WAITING = 32;  // windows that wait to be looked at
constexpr float NOTHING = 3.0e38f;
constexpr float CLOSED = 1.0f - OPAQUE;  // so little light is left that a ray ends

typedef float F __attribute__((vector_size(4 * N)));
typedef int I __attribute__((vector_size(4 * N)));
typedef unsigned U __attribute__((vector_size(4 * N)));
typedef unsigned short S __attribute__((vector_size(2 * N)));
typedef _Float16 H __attribute__((vector_size(2 * N)));
typedef float Q __attribute__((vector_size(16)));
typedef char Bytes __attribute__((vector_size(4 * N)));
typedef short Words __attribute__((vector_size(4 * N)));
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

// The rays, as rays.make_ray makes them, quad by quad.

const F across = F{0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3} + (float)(column);
const F down = F{0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3} + (float)(row);
auto x_of = [](int q) -> int { return (q & 1) + (q >> 1 & 2); };
auto y_of = [](int q) -> int { return (q >> 1 & 1) + (q >> 2 & 2); };
const long long width = color.shape[1];
const int columns = width - column < SIDE ? width - column : SIDE, lines = rows[1] - row < SIDE ? rows[1] - row : SIDE;
alignas(64) float scenery_depth[N] = {};
for (int q = 0; q < N; ++q)
    if (x_of(q) < columns && y_of(q) < lines)
        scenery_depth[q] = view.scenery_depth.data[(row + y_of(q)) * width + column + x_of(q)];
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
alignas(64) int firsts[N], lasts[N];
alignas(64) Q sums[N] = {};
__builtin_memcpy(origins, origin, sizeof(origins));
__builtin_memcpy(speeds, speed, sizeof(speeds));
__builtin_memcpy(directions, direction, sizeof(directions));
__builtin_memcpy(jitters, &jitter, sizeof(jitters));
__builtin_memcpy(firsts, &k, sizeof(firsts));
for (int q = 0; q < N; ++q) left[q] = 1.0f, reached[q] = NOTHING;
if (view.before.shape[0] > 0)
    for (int q = 0; q < N; ++q) {
        if (x_of(q) >= columns || y_of(q) >= lines) continue;
        const long long pixel = (row + y_of(q)) * width + column + x_of(q);
        for (int c = 0; c < 3; ++c) sums[q][c] = view.before.data[pixel][c];
        left[q] = 1.0f - view.before.data[pixel][3];
        reached[q] = view.before_depth.data[pixel];
        if (left[q] <= CLOSED) last[q] = k[q] - 1;
    }
__builtin_memcpy(lasts, &last, sizeof(lasts));
