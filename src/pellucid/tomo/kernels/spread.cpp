// The spectra of all views of one pair of slices, laid on a Cartesian grid, by one thread: nothing is added twice at once,
// and the order of the sums is always the same.
//
// In scope: spectra (pair, view, frequency, real and imaginary), gains (frequency from 0 up), weights (view), turns (view,
// cosine and sine), shifts (pair, view: columns from the grid's middle to the axis), table (step, tap), grid (pair,
// row, column, real and imaginary; the middle is frequency 0), pair; TAPS, WIDE (TAPS, rounded up), STEPS.
// The table's taps alternate in sign: that moves the middle of the picture to the middle of the grid.

typedef float Taps __attribute__((vector_size(4 * WIDE)));
typedef float StoredTaps __attribute__((vector_size(4 * WIDE), aligned(4)));
typedef float F __attribute__((vector_size(8 * WIDE)));
typedef float Stored __attribute__((vector_size(8 * WIDE), aligned(4)));
constexpr int CHUNK = 256;  // samples whose phases are made before they are spread

const long long views = spectra.shape[1], length = spectra.shape[2] / 2, size = grid.shape[1], stride = grid.shape[2];
const int last = length / 2 - 1;
const double corner = size / 2 - 0.5 * TAPS;
float* plane = grid.data + pair * size * stride;
float values[CHUNK][2];

for (long long view = 0; view < views; ++view) {
    const float* spectrum = spectra.data + (pair * views + view) * length * 2;
    const double turn = 6.283185307179586 * shifts.data[pair * views + view] / length;
    const double step_x = turns.data[2 * view] * size / length, step_y = -turns.data[2 * view + 1] * size / length;
    const double turn_cosine = cos(turn), turn_sine = sin(turn);
    for (int first = -last; first <= last; first += CHUNK) {
        const int count = last + 1 - first < CHUNK ? last + 1 - first : CHUNK;
        double real = cos(turn * first), imaginary = sin(turn * first);
        for (int i = 0; i < count; ++i) {
            const int k = first + i;
            const float* sample = spectrum + 2 * (k < 0 ? k + length : k);
            const float gain = weights.data[view] * gains.data[k < 0 ? -k : k];
            values[i][0] = gain * (float)(sample[0] * real - sample[1] * imaginary);
            values[i][1] = gain * (float)(sample[0] * imaginary + sample[1] * real);
            const double turned = real * turn_cosine - imaginary * turn_sine;
            imaginary = real * turn_sine + imaginary * turn_cosine, real = turned;
        }
        for (int i = 0; i < count; ++i) {
            const double x = (first + i) * step_x + corner, y = (first + i) * step_y + corner;
            const double whole_x = __builtin_ceil(x), whole_y = __builtin_ceil(y);
            const int column = (int)(whole_x), row = (int)(whole_y);
            const float at_x = (float)(whole_x - x) * STEPS, at_y = (float)(whole_y - y) * STEPS;
            const int step_of_x = (int)(at_x), step_of_y = (int)(at_y);
            const StoredTaps* taps_x = (const StoredTaps*)(table.data + step_of_x * WIDE);
            const StoredTaps* taps_y = (const StoredTaps*)(table.data + step_of_y * WIDE);
            const float sign = (row + column) & 1 ? -1.0f : 1.0f;
            const Taps along = sign * (taps_x[0] + (at_x - step_of_x) * (taps_x[1] - taps_x[0]));
            const Taps down = taps_y[0] + (at_y - step_of_y) * (taps_y[1] - taps_y[0]);
            const Taps a = values[i][0] * along, b = values[i][1] * along;
            if (column >= 0 && row >= 0 && column + WIDE <= size && row + TAPS <= size) {
                const F line = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
                float* place = plane + row * stride + column * 2;
#pragma clang loop unroll(full)
                for (int t = 0; t < TAPS; ++t, place += stride) *(Stored*)(place) += down[t] * line;
            } else {
                for (int t = 0; t < TAPS; ++t)
                    for (int u = 0; u < TAPS; ++u) {
                        float* place = plane + (row + t + size) % size * stride + (column + u + size) % size * 2;
                        place[0] += a[u] * down[t], place[1] += b[u] * down[t];
                    }
            }
        }
    }
}
