// One cell of those of LANES grids that are in a packet: the sum of all samples that lie within the window around it.
// Nothing is added atomically, so that the result is the same every time. Neighbouring threads have the packets of one
// cell, which lie side by side: so their reads become one, and few registers let many threads wait for memory at once.
//
// In scope: spectra (view, place, lane), steps (view: cells right and down from one sample to the next), inverses (of
// the steps), starts (of every bin of angles, its first view), row, column, packet, grid (lane, row, column).

const int last = (int)(spectra.shape[1]) / 2, size = grid.shape[1];
const float farthest = (float)(last) * size / (2 * last + 2);
constexpr int NUMBERS = 2 * LANES / PACKETS;
float sums[NUMBERS] = {};

auto add_view = [&](int view, int x, int y) {
    const double step_x = steps.data[2 * view], step_y = steps.data[2 * view + 1];
    const float inverse_x = inverses.data[2 * view], inverse_y = inverses.data[2 * view + 1];
    const float left = (x - HALF) * inverse_x, right = (x + HALF) * inverse_x;
    const float top = (y - HALF) * inverse_y, bottom = (y + HALF) * inverse_y;
    // A little too many: the window says where it ends.
    const float low = fmaxf(fminf(left, right), fminf(top, bottom)) - 0.01f;
    const float high = fminf(fmaxf(left, right), fmaxf(top, bottom)) + 0.01f;
    // Along an axis, all samples are equally far from the cell: 1e30 steps, which no integer holds.
    const int begin = (int)(ceilf(fminf(fmaxf(low, (float)(-last)), (float)(last + 1))));
    const int end = (int)(floorf(fmaxf(fminf(high, (float)(last)), (float)(-last - 1))));
    if (begin > end) return;
    // Only the way from the cell is taken to single precision.
    float u = (float)(x - begin * step_x) / HALF, v = (float)(y - begin * step_y) / HALF;
    const float du = (float)(step_x) / HALF, dv = (float)(step_y) / HALF;
    const long long place = (long long)(view) * (2 * last + 1) + begin + last;
    const Packet* sample = (const Packet*)(spectra.data + place * 2 * LANES) + packet;
    // Without a branch, so that several reads are under way at once: hardly any sample is outside.
#pragma unroll 4
    for (int k = begin; k <= end; ++k, sample += PACKETS, u -= du, v -= dv) {
        const Packet values = __ldg(sample);
        const float across = 1.0f - u * u, down = 1.0f - v * v;
        const float exponent = STEEPNESS * (sqrtf(fmaxf(across, 0.0f)) + sqrtf(fmaxf(down, 0.0f)) - 2.0f);
        const float weight = fminf(across, down) > 0.0f ? __expf(exponent) : 0.0f;
        const float* numbers = (const float*)(&values);
#pragma unroll
        for (int n = 0; n < NUMBERS; ++n) sums[n] += weight * numbers[n];
    }
};

auto add_views = [&](int x, int y) {
    const float distance = sqrtf((float)(x) * x + (float)(y) * y), reach = 1.4143f * HALF;
    if (distance > farthest + reach) return;
    int low = 0, high = BINS;
    if (distance > reach) {
        const float angle = atan2f((float)(-y), (float)(x)), open = asinf(reach / distance);
        low = (int)(floorf((angle - open) * (BINS / 3.14159265f) - 0.01f));
        high = (int)(floorf((angle + open) * (BINS / 3.14159265f) + 0.01f)) + 1;
    }
    if (high - low > BINS) low = 0, high = BINS;
    // Lines have no direction: half a turn further on there are the same again.
    for (int turn = -1; turn <= 2; ++turn) {
        const int first = max(low + turn * BINS, 0), stop = min(high + turn * BINS, BINS);
        if (first >= stop) continue;
        for (int view = starts.data[first]; view < starts.data[stop]; ++view) add_view(view, x, y);
    }
};

const int x = column - size / 2, y = row - size / 2;
const int other_x = x < 0 ? x + size : x - size, other_y = y < 0 ? y + size : y - size;
const bool is_near_x = abs(other_x) < size / 2 + HALF, is_near_y = abs(other_y) < size / 2 + HALF;
add_views(x, y);
// What goes beyond the border of the grid comes in again on the other side.
if (is_near_x) add_views(other_x, y);
if (is_near_y) add_views(x, other_y);
if (is_near_x && is_near_y) add_views(other_x, other_y);

const float sign = (row + column) % 2 == 0 ? 1.0f : -1.0f;
for (int n = 0; n < NUMBERS / 2; ++n) {
    const int lane = packet * (NUMBERS / 2) + n;
    if (lane >= grid.shape[0]) break;
    float2* cell = (float2*)(grid.data + ((long long)(lane) * size + row) * 2 * size + 2 * column);
    *cell = make_float2(sign * sums[2 * n], sign * sums[2 * n + 1]);
}
