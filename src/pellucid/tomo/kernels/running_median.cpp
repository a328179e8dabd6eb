// The median over a window of columns that moves by one, for LANES ranks side by side. ranked is (column, rank).
// The window is kept sorted: the new value is carried in, and the gap of the old one is closed.
// Beyond the border the columns are mirrored, the border itself repeated.
float window[WINDOW + 1][LANES];
const int columns = ranked.shape[1];
const int ranks = ranked.shape[2];
const int half = size / 2;
const int lanes = ranks - rank < LANES ? ranks - rank : LANES;
const float *from = &wp::index(ranked, slice, 0, rank);
float *to = &wp::index(smooth, slice, 0, rank);
auto mirrored = [columns](int column) {
    const int period = 2 * columns;
    column = ((column % period) + period) % period;
    return column < columns ? column : period - 1 - column;
};
auto insert = [&](int count, const float *values) {
    float carried[LANES];
    for (int lane = 0; lane < LANES; ++lane) carried[lane] = lane < lanes ? values[lane] : 0.0f;
    for (int i = 0; i < count; ++i) {
        for (int lane = 0; lane < LANES; ++lane) {
            const float held = window[i][lane];
            const float low = held < carried[lane] ? held : carried[lane];
            const float high = held < carried[lane] ? carried[lane] : held;
            window[i][lane] = low;
            carried[lane] = high;
        }
    }
    for (int lane = 0; lane < LANES; ++lane) window[count][lane] = carried[lane];
};
for (int i = 0; i < size; ++i) insert(i, from + (long long)mirrored(i - half) * ranks);
for (int column = 0; column < columns; ++column) {
    float *out = to + (long long)column * ranks;
    for (int lane = 0; lane < lanes; ++lane) out[lane] = window[half][lane];
    if (column + 1 == columns) break;
    insert(size, from + (long long)mirrored(column + half + 1) * ranks);
    const float *left = from + (long long)mirrored(column - half) * ranks;
    float old[LANES];
    int passed[LANES];
    for (int lane = 0; lane < LANES; ++lane) {
        old[lane] = lane < lanes ? left[lane] : 0.0f;
        passed[lane] = 0;
    }
    for (int i = 0; i < size; ++i) {
        for (int lane = 0; lane < LANES; ++lane) {
            const float held = window[i][lane];
            const float next = window[i + 1][lane];
            passed[lane] |= (held == old[lane]) ? -1 : 0;
            window[i][lane] = passed[lane] ? next : held;
        }
    }
}
