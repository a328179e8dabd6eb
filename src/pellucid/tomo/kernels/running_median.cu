// The running median for one rank, in registers: the loops are unrolled for the largest window, and a smaller one is filled up
// with infinities, which stay at the end.
float window[WINDOW + 1];
const int columns = ranked.shape[1];
const int half = size / 2;
auto mirrored = [columns](int column) {
    const int period = 2 * columns;
    column = ((column % period) + period) % period;
    return column < columns ? column : period - 1 - column;
};
#pragma unroll
for (int i = 0; i <= WINDOW; ++i) window[i] = INFINITY;
auto insert = [&](float carried) {
#pragma unroll
    for (int i = 0; i <= WINDOW; ++i) {
        const float low = fminf(window[i], carried);
        carried = fmaxf(window[i], carried);
        window[i] = low;
    }
};
for (int i = 0; i < size; ++i) insert(wp::index(ranked, slice, mirrored(begin + i - half), rank));
for (int column = begin; column < end; ++column) {
    float middle = window[0];
#pragma unroll
    for (int i = 1; i <= WINDOW / 2; ++i) middle = i == half ? window[i] : middle;
    wp::index(smooth, slice, column, rank) = middle;
    if (column + 1 == end) break;
    insert(wp::index(ranked, slice, mirrored(column + half + 1), rank));
    const float old = wp::index(ranked, slice, mirrored(column - half), rank);
    bool passed = false;
#pragma unroll
    for (int i = 0; i < WINDOW; ++i) {
        passed = passed || window[i] == old;
        window[i] = passed ? window[i + 1] : window[i];
    }
    window[WINDOW] = INFINITY;
}
