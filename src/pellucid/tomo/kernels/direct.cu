// One pixel of LANES slices, on CUDA: neighbouring threads read the same few bins, sixteen bytes at a time.
//
// In scope: packed (packet, view, bin, lane), turns (view, cosine and sine), axis, radius, packet, row, column, image; LANES,
// IS_TRANSPOSE: as in direct.cpp.

const long long views = packed.shape[1], bins = packed.shape[2], size = image.shape[1];
const float x = column - 0.5f * (size - 1), y = 0.5f * (size - 1) - row;
if (x * x + y * y > radius * radius) return;
float sums[LANES] = {};
const float* line = packed.data + (long long)(packet) * views * bins * LANES;
const float last = (float)(bins - 3);
#pragma unroll 4
for (int view = 0; view < views; ++view, line += bins * LANES) {
    const float cosine = turns.data[2 * view], sine = turns.data[2 * view + 1];
    const float place = fminf(fmaxf(x * cosine + y * sine + axis, -1.0f), last);
    const float whole = floorf(place);
    float weight = place - whole, other = 1.0f;
    if (IS_TRANSPOSE) {
        const float steepness = 1.0f / fmaxf(fabsf(cosine), fabsf(sine));
        other = fmaxf(0.0f, steepness * (1.0f - weight * steepness));
        weight = fmaxf(0.0f, steepness * (1.0f - (1.0f - weight) * steepness));
    }
    const float4* near = (const float4*)(line + ((int)(whole) + 1) * LANES);
#pragma unroll
    for (int four = 0; four < LANES / 4; ++four) {
        const float4 a = __ldg(near + four), b = __ldg(near + four + LANES / 4);
        sums[4 * four + 0] += other * a.x + weight * (IS_TRANSPOSE ? b.x : b.x - a.x);
        sums[4 * four + 1] += other * a.y + weight * (IS_TRANSPOSE ? b.y : b.y - a.y);
        sums[4 * four + 2] += other * a.z + weight * (IS_TRANSPOSE ? b.z : b.z - a.z);
        sums[4 * four + 3] += other * a.w + weight * (IS_TRANSPOSE ? b.w : b.w - a.w);
    }
}
const long long first_slice = (long long)(packet) * LANES, slices = image.shape[0];
for (int lane = 0; lane < LANES && first_slice + lane < slices; ++lane)
    image.data[((first_slice + lane) * size + row) * size + column] = sums[lane];
