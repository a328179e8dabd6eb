// The spectra of all views of one pair of slices, laid on a Cartesian grid, by one thread: nothing is added twice at once,
// and the order of the sums is always the same.
//
// In scope: spectra (pair, view, frequency, real and imaginary), gains (frequency from 0 up), weights (view), turns (view,
// cosine and sine), shifts (pair, view: columns from the grid's middle to the axis), table (step, tap), grid (pair,
// row, column, real and imaginary; the middle is frequency 0), pair; TAPS, WIDE (TAPS, rounded up), STEPS.
// The table's taps alternate in sign: that moves the middle of the picture to the middle of the grid.

typedef float F __attribute__((vector_size(8 * WIDE)));
typedef float Stored __attribute__((vector_size(8 * WIDE), aligned(4)));

const long long views = spectra.shape[1], length = spectra.shape[2] / 2, size = grid.shape[1];
const int last = length / 2 - 1;
float* plane = grid.data + pair * size * size * 2;

for (long long view = 0; view < views; ++view) {
    const float* spectrum = spectra.data + (pair * views + view) * length * 2;
    const double turn = 6.283185307179586 * shifts.data[pair * views + view] / length;
    const double step_x = turns.data[2 * view] * size / length, step_y = -turns.data[2 * view + 1] * size / length;
    const double turn_cosine = cos(turn), turn_sine = sin(turn);
    double real = cos(-turn * last), imaginary = sin(-turn * last);
    for (int k = -last; k <= last; ++k) {
        const float* sample = spectrum + 2 * (k < 0 ? k + length : k);
        const float gain = weights.data[view] * gains.data[k < 0 ? -k : k];
        const float a = gain * (float)(sample[0] * real - sample[1] * imaginary);
        const float b = gain * (float)(sample[0] * imaginary + sample[1] * real);
        const double turned = real * turn_cosine - imaginary * turn_sine;
        imaginary = real * turn_sine + imaginary * turn_cosine, real = turned;

        const double x = k * step_x + size / 2 - 0.5 * TAPS, y = k * step_y + size / 2 - 0.5 * TAPS;
        const int column = (int)(__builtin_ceil(x)), row = (int)(__builtin_ceil(y));
        const float at_x = (float)(column - x) * STEPS, at_y = (float)(row - y) * STEPS;
        const int step_of_x = (int)(at_x), step_of_y = (int)(at_y);
        const float beyond_x = at_x - step_of_x, beyond_y = at_y - step_of_y;
        const float* taps_x = table.data + step_of_x * WIDE;
        const float* taps_y = table.data + step_of_y * WIDE;
        const float sign = (row + column) & 1 ? -1.0f : 1.0f;
        float along[WIDE], down[WIDE];
        for (int t = 0; t < WIDE; ++t) {
            along[t] = sign * (taps_x[t] + beyond_x * (taps_x[t + WIDE] - taps_x[t]));
            down[t] = taps_y[t] + beyond_y * (taps_y[t + WIDE] - taps_y[t]);
        }
        if (column >= 0 && row >= 0 && column + WIDE <= size && row + TAPS <= size) {
            alignas(64) float numbers[2 * WIDE];
            for (int t = 0; t < WIDE; ++t) numbers[2 * t] = a * along[t], numbers[2 * t + 1] = b * along[t];
            const F line = *(const F*)(numbers);
            float* place = plane + (row * size + column) * 2;
            for (int t = 0; t < TAPS; ++t, place += 2 * size) *(Stored*)(place) += down[t] * line;
        } else {
            for (int t = 0; t < TAPS; ++t)
                for (int u = 0; u < TAPS; ++u) {
                    float* place = plane + ((row + t + size) % size * size + (column + u + size) % size) * 2;
                    place[0] += a * along[u] * down[t], place[1] += b * along[u] * down[t];
                }
        }
    }
}
