// VIEWS views of LANES slices at once: every pixel is divided between the two bins that it lies between, which is the
// transpose of what direct.cpp does.
//
// In scope: images (row, column, lane), turns (view, cosine and sine), axis, radius, group (of views), packed (packet, view,
// bin, lane), which is 0; LANES, VIEWS. Bin 0 of a packed row is column -1 of the detector.

typedef float F __attribute__((vector_size(4 * LANES)));
typedef float Stored __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int I __attribute__((vector_size(4 * LANES)));

const long long views = packed.shape[1], bins = packed.shape[2], size = images.shape[0];
const double half = 0.5 * (size - 1);
const long long first_view = (long long)(group) * VIEWS;
const int count = views - first_view < VIEWS ? views - first_view : VIEWS;
alignas(64) int bin[LANES];
alignas(64) float weight[LANES];
F across;
for (int p = 0; p < LANES; ++p) across[p] = (float)(p);

for (long long row = 0; row < size; ++row) {
    const double y = half - row, beyond = (double)(radius) * radius - y * y;
    if (beyond < 0) continue;
    long long left = 0, stop = size;
    while (left < size && (left - half) * (left - half) > beyond) ++left;
    while (stop > left && (stop - 1 - half) * (stop - 1 - half) > beyond) --stop;
    for (int v = 0; v < count; ++v) {
        const double c = turns.data[2 * (first_view + v)], s = turns.data[2 * (first_view + v) + 1];
        float* line = packed.data + (first_view + v) * bins * LANES;
        for (long long column = left; column < stop; column += LANES) {
            const double place = (column - half) * c + y * s + axis;
            const double whole = __builtin_floor(place);
            F at = (float)(place - whole) + across * (float)(c);
            const float low = (float)(-1 - whole), high = (float)(bins - 3 - whole);
            at = at < low ? F{} + low : at;
            at = at > high ? F{} + high : at;
            const F floor = __builtin_elementwise_floor(at);
            *(I*)(bin) = __builtin_convertvector(floor, I) * LANES;
            *(F*)(weight) = at - floor;
            float* near = line + (1 + (long long)(whole)) * LANES;
            const int pixels = stop - column < LANES ? stop - column : LANES;
            for (int p = 0; p < pixels; ++p) {
                const F value = *(const Stored*)(images.data + (row * size + column + p) * LANES);
                Stored* pair = (Stored*)(near + bin[p]);
                const F share = weight[p] * value;
                pair[0] += value - share;
                pair[1] += share;
            }
        }
    }
}
// What fell beside the detector is not seen.
for (int v = 0; v < count; ++v) {
    float* line = packed.data + (first_view + v) * bins * LANES;
    for (int lane = 0; lane < LANES; ++lane)
        line[lane] = line[(bins - 2) * LANES + lane] = line[(bins - 1) * LANES + lane] = 0.0f;
}
