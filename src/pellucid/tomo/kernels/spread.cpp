// Some rows of the grid at a time: the spectra of all views that reach them are laid there, in the order of views and
// frequencies, so that every cell adds up the same numbers in the same order in every thread; then the rows are
// transformed, while they are in the cache, and the picture's columns are kept.
//
// In scope: spectra (view, frequency, lane), turns (view, cosine and sine), table (step, tap; taps alternate in sign, which
// moves the middle of the picture to the middle of the grid), radices, twiddles, tasks, task, scratch (task, float),
// half (sixteen columns, row, column, lane), columns (of the picture); TAPS, WIDE, STEPS, BAND (rows at a time).

constexpr int MARGIN = WIDE;  // columns beyond either end, which belong to the other end
const int views = turns.shape[0], length = spectra.shape[1] / 16, size = half.shape[1] / 256;
const int last = length / 2 - 1, wide = size + 2 * MARGIN, left = size / 2 - columns / 2;
const double corner = size / 2 - 0.5 * TAPS;
V* cells = (V*)(scratch.data + (long long)(task) * scratch.shape[1]);
V* room = cells + (long long)(BAND) * wide;

for (int first = task * BAND; first < size; first += tasks * BAND) {
    const int rows = first + BAND < size ? BAND : size - first;
    for (int i = 0; i < rows * wide; ++i) cells[i] = V{};
    for (int view = 0; view < views; ++view) {
        const V* spectrum = (const V*)(spectra.data + (long long)(view) * length * 16);
        const double step_x = turns.data[2 * view] * size / length, step_y = -turns.data[2 * view + 1] * size / length;
        for (int turn = -1; turn <= 1; ++turn) {  // Windows at the border reach into the rows of the other end.
            const int top = first + turn * size;
            const double low = top - TAPS - corner, high = top + rows - corner;
            int from = -last, to = last;
            if (step_y > 1e-12 || step_y < -1e-12) {
                const double one = low / step_y, other = high / step_y;
                const double begin = one < other ? one : other, end = one < other ? other : one;
                if (begin > from) from = begin > last ? last + 1 : (int)(__builtin_floor(begin));
                if (end < to) to = end < -last ? -last - 1 : (int)(__builtin_ceil(end));
            } else if (low > 0 || high < 0) continue;
            for (int k = from; k <= to; ++k) {
                const double x = k * step_x + corner, y = k * step_y + corner;
                const double whole_x = __builtin_ceil(x), whole_y = __builtin_ceil(y);
                const int column = (int)(whole_x), row = (int)(whole_y) - top;
                if (row <= -TAPS || row >= rows) continue;
                const float at_x = (float)(whole_x - x) * STEPS, at_y = (float)(whole_y - y) * STEPS;
                const int step_of_x = (int)(at_x), step_of_y = (int)(at_y);
                const float *taps_x = table.data + step_of_x * WIDE, *taps_y = table.data + step_of_y * WIDE;
                const float share_x = at_x - step_of_x, share_y = at_y - step_of_y;
                const float sign = (row + top + column) & 1 ? -1.0f : 1.0f;
                float along[TAPS], down[TAPS];
                for (int t = 0; t < TAPS; ++t) {
                    along[t] = taps_x[t] + share_x * (taps_x[t + WIDE] - taps_x[t]);
                    down[t] = sign * (taps_y[t] + share_y * (taps_y[t + WIDE] - taps_y[t]));
                }
                const V value = spectrum[k < 0 ? k + length : k];
                V* place = cells + (long long)(row) * wide + column + MARGIN;
                if (row >= 0 && row + TAPS <= rows) {
#pragma clang loop unroll(full)
                    for (int t = 0; t < TAPS; ++t, place += wide) {
                        const V line = down[t] * value;
#pragma clang loop unroll(full)
                        for (int u = 0; u < TAPS; ++u) place[u] += along[u] * line;
                    }
                } else {
                    for (int t = 0; t < TAPS; ++t, place += wide)
                        if (row + t >= 0 && row + t < rows) {
                            const V line = down[t] * value;
                            for (int u = 0; u < TAPS; ++u) place[u] += along[u] * line;
                        }
                }
            }
        }
    }
    for (int row = 0; row < rows; ++row) {
        V* line = cells + (long long)(row) * wide + MARGIN;
        for (int i = 0; i < MARGIN; ++i) line[i] += line[size + i], line[size - MARGIN + i] += line[i - MARGIN];
        const V* found = transform(line, room, size, radices.data, radices.shape[0], twiddles.data, 1.0f);
        for (int block = 0; block < half.shape[0]; ++block) {
            V* out = (V*)(half.data) + ((long long)(block) * size + first + row) * 16;
            const int count = 16 * (block + 1) < columns ? 16 : columns - 16 * block;
            for (int i = 0; i < count; ++i) out[i] = found[left + 16 * block + i];
        }
    }
}
