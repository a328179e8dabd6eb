// The value of any neural field at a point (px, py, pz) in [-1, 1]: the body of blended_kernels.value_at.
// "model" is an AnyFieldStruct. In float32 on every device; each thread is alone.
{
// A product and a sum in one instruction, which Warp does not ask for on a CPU.
#pragma clang fp contract(fast)
float encoded[MAX_WIDTH], hidden[2][HIDDEN];
const int width = model.width, grid_count = model.grids.shape[0], level_count = model.levels.shape[0];
const int wave_count = model.waves.shape[0];

for (int g = 0; g < grid_count; ++g) {
    const int* grid = (const int*)(model.grids.data) + 6 * g;
    const float* t = model.transforms.data + 12 * g;
    const int features = grid[4];
    float* to = encoded + grid[5];
    int low[3], high[3];
    float part[3][2];
    bool is_inside = true;
    for (int a = 0; a < 3; ++a) {
        const int n = grid[1 + a];
        const float at = (t[4*a] * px + t[4*a + 1] * py + t[4*a + 2] * pz + t[4*a + 3] + 1.0f) * 0.5f * (n - 1);
        is_inside = is_inside && at > -1.0f && at < (float)(n);
        const float start = floorf(wp::min(wp::max(at, -1.0f), (float)(n)));
        const int cell = (int)(start);
        part[a][0] = cell >= 0 && cell < n ? 1.0f - (at - start) : 0.0f;
        part[a][1] = cell + 1 < n ? at - start : 0.0f;
        low[a] = wp::min(wp::max(cell, 0), n - 1);
        high[a] = wp::min(wp::max(cell + 1, 0), n - 1);
    }
    for (int f = 0; f < features; ++f) to[f] = 0.0f;
    for (int c = 0; is_inside && c < 8; ++c) {
        const long long x = c & 1 ? high[0] : low[0], y = c & 2 ? high[1] : low[1], z = c & 4 ? high[2] : low[2];
        const float share = part[0][c & 1] * part[1][c >> 1 & 1] * part[2][c >> 2 & 1];
        const float* from = model.table.data + grid[0] + ((z * grid[2] + y) * grid[1] + x) * features;
        for (int f = 0; f < features; ++f) to[f] += share * from[f];
    }
}

const float point[3] = {px, py, pz};
for (int l = 0; l < level_count; ++l) {
    const int* level = (const int*)(model.levels.data) + 5 * l;
    const long long cells = level[1], side = cells + 1, rows = level[2];
    const int features = level[3];
    float* to = encoded + level[4];
    long long cell[3];
    float part[3];
    for (int a = 0; a < 3; ++a) {
        const float at = wp::min(wp::max((point[a] + 1.0f) * (0.5f * cells), 0.0f), (float)(cells));
        cell[a] = wp::min((long long)(at), cells - 1);
        part[a] = at - cell[a];
    }
    const bool is_dense = side <= 4096 && side * side * side <= rows;
    for (int f = 0; f < features; ++f) to[f] = 0.0f;
    for (int c = 0; c < 8; ++c) {
        const long long x = cell[0] + (c & 1), y = cell[1] + (c >> 1 & 1), z = cell[2] + (c >> 2 & 1);
        const unsigned int mixed =
            (unsigned int)(x) ^ (unsigned int)(y) * 2654435761u ^ (unsigned int)(z) * 805459861u;
        const long long found = is_dense ? x + side * (y + side * z) : (long long)(mixed % (unsigned int)(rows));
        const float share = (c & 1 ? part[0] : 1.0f - part[0]) * (c & 2 ? part[1] : 1.0f - part[1])
            * (c & 4 ? part[2] : 1.0f - part[2]);
        const float* from = model.table.data + level[0] + found * features;
        for (int f = 0; f < features; ++f) to[f] += share * from[f];
    }
}

for (int w = 0; w < wave_count; ++w) {
    const float* wave = model.waves.data + 3 * w;
    const float phase = 3.14159265358979f * (wave[0] * px + wave[1] * py + wave[2] * pz);
    encoded[width - 2 * wave_count + w] = sinf(phase);
    encoded[width - wave_count + w] = cosf(phase);
}

// Hidden layers have rows of HIDDEN weights, filled up with zeros; then one weight of the last layer for each unit.
const float* w = model.weights.data;
const float* in = encoded;
for (int layer = 0, count = width; layer < model.layers; ++layer, count = HIDDEN) {
    float sums[HIDDEN];
    for (int n = 0; n < HIDDEN; ++n) sums[n] = 0.0f;
    for (int k = 0; k < count; ++k, w += HIDDEN) {
        const float value = in[k];
        for (int n = 0; n < HIDDEN; ++n) sums[n] += value * w[n];
    }
    float* out = hidden[layer & 1];
    if (model.is_snake) {
        for (int n = 0; n < HIDDEN; ++n) {
            const float wave = sinf(sums[n]);
            out[n] = sums[n] + wave * wave;
        }
    } else {
        for (int n = 0; n < HIDDEN; ++n) out[n] = wp::max(sums[n], 0.0f);
    }
    in = out;
}
float value = 0.0f;
for (int n = 0; n < HIDDEN; ++n) value += in[n] * w[n];
value = value * model.scale + model.low;

// The cubic spline below the network: 4 x 4 x 4 coefficients count.
if (model.spline_cells[0] > 0) {
    float weights[3][4];
    int first[3];
    for (int a = 0; a < 3; ++a) {
        const int cells = model.spline_cells[a];
        const float at = wp::min(wp::max((point[a] + 1.0f) * (0.5f * cells), 0.0f), (float)(cells));
        first[a] = wp::min((int)(at), cells - 1);
        const float t = at - first[a], s = 1.0f - t;
        weights[a][0] = s*s*s / 6.0f;
        weights[a][1] = (3.0f*t*t*t - 6.0f*t*t + 4.0f) / 6.0f;
        weights[a][2] = (3.0f*s*s*s - 6.0f*s*s + 4.0f) / 6.0f;
        weights[a][3] = t*t*t / 6.0f;
    }
    const int nx = model.spline_cells[0], ny = model.spline_cells[1];
    for (int n = 0; n < 4; ++n)
        for (int m = 0; m < 4; ++m) {
            const float* row =
                model.spline.data + ((long long)(first[2] + n) * (ny + 3) + first[1] + m) * (nx + 3) + first[0];
            float total = 0.0f;
            for (int i = 0; i < 4; ++i) total += weights[0][i] * row[i];
            value += weights[2][n] * weights[1][m] * total;
        }
}
return value;
}
