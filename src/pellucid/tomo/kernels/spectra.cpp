// The filtered spectra of some views of sixteen slices, turned so that the axis lies in the middle of the grid.
//
// In scope: sinograms (slice, view, column), edges (slice: 1 continued behind its border by fading, 2 by an ellipse),
// borders (slice, view, square and fall of the left and the right ellipse, and how far both borders are from the axis), fade (by step behind the border), gains (frequency from 0 up), weights (view), shifts (pair, view), radices, twiddles, per_pair,
// tasks, task, scratch (task, float), spectra (view, frequency, lane).

typedef double D __attribute__((vector_size(64)));
typedef float F __attribute__((vector_size(32)));

const int slices = sinograms.shape[0], views = sinograms.shape[1], columns = sinograms.shape[2];
const int length = spectra.shape[1] / 16, pairs = (slices + per_pair - 1) / per_pair, last = length / 2 - 1;
V* room = (V*)(scratch.data + (long long)(task) * scratch.shape[1]);
float* numbers = (float*)(room);

for (int view = task; view < views; view += tasks) {
    for (int i = 0; i < length; ++i) room[i] = V{};
    for (int block = 0; block < columns; block += 16) {  // As many columns as stay in the cache for all slices.
        const int stop = block + 16 < columns ? block + 16 : columns;
        for (int slice = 0; slice < slices; ++slice) {
            const float* row = sinograms.data + ((long long)(slice) * views + view) * columns;
            float* lane = numbers + slice / per_pair + 8 * (slice % per_pair);
            for (int column = block; column < stop; ++column) lane[16 * column] = row[column];
        }
    }
    for (int slice = 0; slice < slices; ++slice) {
        if (!edges.data[slice]) continue;
        const float* row = sinograms.data + ((long long)(slice) * views + view) * columns;
        float* lane = numbers + slice / per_pair + 8 * (slice % per_pair);
        if (edges.data[slice] == 2) {
            const float* fit = borders.data + 6 * ((long long)(slice) * views + view);
            const float wide = columns;
            for (int step = 1; step < fade.shape[0]; ++step) {
                const float away = step / wide;
                const float right = fit[2] - fit[3] * away * (2.0f * fit[5] + away);
                const float left = fit[0] - fit[1] * away * (2.0f * fit[4] + away);
                lane[16 * (columns - 1 + step)] = right > 0.0f ? sqrtf(right) : 0.0f;
                lane[16 * (length - step)] = left > 0.0f ? sqrtf(left) : 0.0f;
            }
            continue;
        }
        for (int step = 1; step < fade.shape[0]; ++step) {
            lane[16 * (columns - 1 + step)] = row[columns - 1] * fade.data[step];
            lane[16 * (length - step)] = row[0] * fade.data[step];
        }
    }
    const V* found = transform(room, room + length, length, radices.data, radices.shape[0], twiddles.data, -1.0f);
    V* kept = (V*)(spectra.data + (long long)(view) * length * 16);
    D turns, cosine, sine, real, imaginary;
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
        const F a = __builtin_convertvector(real, F), b = __builtin_convertvector(imaginary, F);
        const V both_a = __builtin_shufflevector(a, a, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
        const V both_b = __builtin_shufflevector(b, b, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
        kept[place] = gain * (found[place] * both_a + times_i(found[place]) * both_b);
        const D turned = real * cosine - imaginary * sine;
        imaginary = real * sine + imaginary * cosine, real = turned;
    }
}
