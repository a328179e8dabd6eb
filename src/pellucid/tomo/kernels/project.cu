// One ray through LANES slices, on CUDA, by Joseph's method: on every line that it crosses, it reads the two pixels that it
// passes between, sixteen bytes at a time.
//
// In scope: images (packet, row, column, lane) with a border of zeros (one before the first row and column, two behind the
// last), rays (view; by how many places it moves from line to line, and from bin to bin; whether lines are columns), axis,
// packet, view, bin, sinograms (slice, view, column); LANES, BORDER.

const long long wide = images.shape[1], size = wide - BORDER, views = sinograms.shape[1], bins = sinograms.shape[2];
const float per_line = rays.data[3 * view], per_bin = rays.data[3 * view + 1];
const bool is_steep = rays.data[3 * view + 2] != 0.0f;
const long long next_line = (is_steep ? 1 : wide) * LANES, next_place = (is_steep ? wide : 1) * LANES;
const double half = 0.5 * (size - 1);
const float start = (float)(half * (1.0 - (double)(per_line)) + ((double)(bin) - (double)(axis)) * (double)(per_bin));
const float last = (float)(size);
const float* line = images.data + (long long)(packet) * wide * wide * LANES + next_line + next_place;
float sums[LANES] = {};
#pragma unroll 4
for (int i = 0; i < size; ++i, line += next_line) {
    const float place = fminf(fmaxf(fmaf((float)(i), per_line, start), -1.0f), last);
    const float whole = floorf(place), weight = place - whole;
    const float4* near = (const float4*)(line + (long long)(whole) * next_place);
    const float4* next = (const float4*)(line + ((long long)(whole) + 1) * next_place);
#pragma unroll
    for (int four = 0; four < LANES / 4; ++four) {
        const float4 a = __ldg(near + four), b = __ldg(next + four);
        sums[4 * four + 0] += a.x + weight * (b.x - a.x);
        sums[4 * four + 1] += a.y + weight * (b.y - a.y);
        sums[4 * four + 2] += a.z + weight * (b.z - a.z);
        sums[4 * four + 3] += a.w + weight * (b.w - a.w);
    }
}
const float length = fabsf(per_bin);
const long long first_slice = (long long)(packet) * LANES, slices = sinograms.shape[0];
for (int lane = 0; lane < LANES && first_slice + lane < slices; ++lane)
    sinograms.data[((first_slice + lane) * views + view) * bins + bin] = length * sums[lane];
