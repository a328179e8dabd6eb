// The filtered spectra of some views of sixteen slices, turned so that the axis lies in the middle of the grid.
//
// In scope: sinograms (slice, view, column), edges (slice: whether it is continued behind its border), fade (by step
// behind the border), gains (frequency from 0 up), weights (view), shifts (pair, view), radices, twiddles, per_pair,
// tasks, task, scratch (task, float), spectra (view, frequency, lane).

const int slices = sinograms.shape[0], views = sinograms.shape[1], columns = sinograms.shape[2];
const int length = spectra.shape[1] / 16, pairs = (slices + per_pair - 1) / per_pair, last = length / 2 - 1;
V* room = (V*)(scratch.data + (long long)(task) * scratch.shape[1]);
float* numbers = (float*)(room);

for (int view = task; view < views; view += tasks) {
    for (int i = 0; i < length; ++i) room[i] = V{};
    for (int slice = 0; slice < slices; ++slice) {
        const float* row = sinograms.data + ((long long)(slice) * views + view) * columns;
        float* lane = numbers + slice / per_pair + 8 * (slice % per_pair);
        for (int column = 0; column < columns; ++column) lane[16 * column] = row[column];
        if (edges.data[slice])
            for (int step = 1; step < fade.shape[0]; ++step) {
                lane[16 * (columns - 1 + step)] = row[columns - 1] * fade.data[step];
                lane[16 * (length - step)] = row[0] * fade.data[step];
            }
    }
    const V* found = transform(room, room + length, length, radices.data, radices.shape[0], twiddles.data, -1.0f);
    V* kept = (V*)(spectra.data + (long long)(view) * length * 16);
    double turns[8], cosine[8], sine[8], real[8], imaginary[8];
    for (int pair = 0; pair < 8; ++pair) {
        turns[pair] = pair < pairs ? 6.283185307179586 * shifts.data[(long long)(pair) * views + view] / length : 0.0;
        cosine[pair] = cos(turns[pair]), sine[pair] = sin(turns[pair]);
    }
    for (int k = -last; k <= last; ++k) {
        if ((k + last) % 256 == 0)  // What rounding has done to the turning number is forgotten now and then.
            for (int pair = 0; pair < 8; ++pair)
                real[pair] = cos(turns[pair] * k), imaginary[pair] = sin(turns[pair] * k);
        const int place = k < 0 ? k + length : k;
        const float gain = weights.data[view] * gains.data[k < 0 ? -k : k];
        V a, b;
        for (int pair = 0; pair < 8; ++pair) {
            a[pair] = a[pair + 8] = (float)(real[pair]), b[pair] = b[pair + 8] = (float)(imaginary[pair]);
            const double turned = real[pair] * cosine[pair] - imaginary[pair] * sine[pair];
            imaginary[pair] = real[pair] * sine[pair] + imaginary[pair] * cosine[pair], real[pair] = turned;
        }
        kept[place] = gain * (found[place] * a + times_i(found[place]) * b);
    }
}
