// Sixteen columns of the picture at a time: transformed, freed of the window's fading, and parted into slices.
//
// In scope: half (row, column, lane), fading (column), squares (slice: of the radius beyond which pixels are 0), radices,
// twiddles, per_pair, tasks, task, scratch (task, float), images (slice, row, column).

const int size = half.shape[0], columns = half.shape[1] / 16, slices = images.shape[0], top = size / 2 - columns / 2;
V* room = (V*)(scratch.data + (long long)(task) * scratch.shape[1]);
V* done = room + 2LL * size;
const float middle = 0.5f * (columns - 1);

for (int first = task * 16; first < columns; first += tasks * 16) {
    const int count = first + 16 < columns ? 16 : columns - first;
    for (int column = 0; column < count; ++column) {
        const V* in = (const V*)(half.data) + first + column;
        for (int row = 0; row < size; ++row) room[row] = in[(long long)(row) * columns];
        const V* found = transform(room, room + size, size, radices.data, radices.shape[0], twiddles.data, 1.0f);
        for (int row = 0; row < columns; ++row)
            done[row * 16 + column] = found[top + row] * (fading.data[first + column] * fading.data[row]);
    }
    for (int slice = 0; slice < slices; ++slice) {
        const float* lane = (const float*)(done) + slice / per_pair + 8 * (slice % per_pair);
        for (int row = 0; row < columns; ++row) {
            float* out = images.data + ((long long)(slice) * columns + row) * columns + first;
            const float y = row - middle;
            for (int column = 0; column < count; ++column) {
                const float x = first + column - middle;
                out[column] = x * x + y * y <= squares.data[slice] ? lane[16 * (16 * row + column)] : 0.0f;
            }
        }
    }
}
