// Sixteen columns of the picture at a time: transformed, freed of the window's fading, and parted into slices.
//
// In scope: half (sixteen columns, row, column, lane), fading (column), squares (slice: of the radius beyond which pixels are 0), radices,
// twiddles, per_pair, tasks, task, scratch (task, float), images (slice, row, column).

constexpr int GROUP = 4;  // columns that are read together
const int size = half.shape[1] / 256, columns = images.shape[1], slices = images.shape[0], top = size / 2 - columns / 2;
V* room = (V*)(scratch.data + (long long)(task) * scratch.shape[1]);
V* done = room + (GROUP + 1LL) * size;
const float middle = 0.5f * (columns - 1);

for (int first = task * 16; first < columns; first += tasks * 16) {
    const int count = first + 16 < columns ? 16 : columns - first;
    for (int some = 0; some < count; some += GROUP) {
        const int group = some + GROUP < count ? GROUP : count - some;
        const V* in = (const V*)(half.data) + (long long)(first) * size + some;
        for (int row = 0; row < size; ++row, in += 16)
            for (int i = 0; i < group; ++i) room[(long long)(i) * size + row] = in[i];
        for (int i = 0; i < group; ++i) {
            V *line = room + (long long)(i) * size, *spare = room + (long long)(GROUP) * size;
            const V* found = transform(line, spare, size, radices.data, radices.shape[0], twiddles.data, 1.0f);
            V* out = done + (long long)(some + i) * columns;
            const float fade = fading.data[first + some + i];
            for (int row = 0; row < columns; ++row) out[row] = found[top + row] * (fade * fading.data[row]);
        }
    }
    for (int row = 0; row < columns; ++row) {
        V tile[16];  // by columns; then turned over, by lanes
        for (int column = 0; column < 16; ++column) tile[column] = done[(long long)(column) * columns + row];
        for (int i = 0; i < 16; ++i)
            if (!(i & 1)) {
                const V a = tile[i], b = tile[i | 1];
                tile[i] = __builtin_shufflevector(a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30);
                tile[i | 1] = __builtin_shufflevector(a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31);
            }
        for (int i = 0; i < 16; ++i)
            if (!(i & 2)) {
                const V a = tile[i], b = tile[i | 2];
                tile[i] = __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
                tile[i | 2] = __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
            }
        for (int i = 0; i < 16; ++i)
            if (!(i & 4)) {
                const V a = tile[i], b = tile[i | 4];
                tile[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
                tile[i | 4] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
            }
        for (int i = 0; i < 16; ++i)
            if (!(i & 8)) {
                const V a = tile[i], b = tile[i | 8];
                tile[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
                tile[i | 8] = __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
            }
        const float y = row - middle;
        for (int slice = 0; slice < slices; ++slice) {
            const float* lane = (const float*)(tile + slice / per_pair + 8 * (slice % per_pair));
            const float reach = squares.data[slice] - y * y;
            float* out = images.data + ((long long)(slice) * columns + row) * columns + first;
            for (int column = 0; column < count; ++column) {
                const float x = first + column - middle;
                out[column] = x * x <= reach ? lane[column] : 0.0f;
            }
        }
    }
}
