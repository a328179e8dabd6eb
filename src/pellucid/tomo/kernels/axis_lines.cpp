// The slice along a line through the axis: the sum over the views of what each sees there.
//
// In scope: filtered (slice, view, column), cosines and weights (line, view), axis (the column of the axis), slice, line,
// values (slice, line, column); LANES, ROUNDING.
//
// A place on the line is as far from the axis in a view as its column is, times the cosine of the angle between the two.

typedef float F __attribute__((vector_size(4 * LANES)));
typedef int I __attribute__((vector_size(4 * LANES)));
typedef float Four __attribute__((vector_size(16)));
typedef float Pair __attribute__((vector_size(8), aligned(4)));  // wherever it begins

const long long views = filtered.shape[1], columns = filtered.shape[2];
const float* seen = filtered.data + (long long)(slice) * views * columns;
const double* cosine = cosines.data + (long long)(line) * views;
const float* weight = weights.data + (long long)(line) * views;
float* to = values.data + ((long long)(slice) * values.shape[1] + line) * columns;
F across;
for (int lane = 0; lane < LANES; ++lane) across[lane] = (float)(lane);

for (long long first = 0; first < columns; first += LANES) {
    F total = {};
    for (long long view = 0; view < views; ++view) {
        if (weight[view] == 0.0f) continue;
        const float* row = seen + view * columns;
        const double step = cosine[view], start = axis + (first - axis) * step, end = start + (LANES - 1) * step;
        if ((start < end ? start : end) < 0 || (start < end ? end : start) >= columns - 1 - ROUNDING) {
            for (int lane = 0; lane < LANES; ++lane) {
                const double place = start + lane * step;
                if (place < -ROUNDING || place > columns - 1 + ROUNDING) continue;
                long long left = (long long)(__builtin_floor(place));
                left = left < 0 ? 0 : (left > columns - 2 ? columns - 2 : left);
                total[lane] += weight[view] * (row[left] + (float)(place - left) * (row[left + 1] - row[left]));
            }
            continue;
        }
        const double whole = __builtin_floor(start);
        const F place = (float)(start - whole) + across * (float)(step);
        const F down = __builtin_elementwise_floor(place);
        const I left = __builtin_convertvector(down, I);
        const float* from = row + (long long)(whole);
        F low, high;
        for (int lane = 0; lane < LANES; lane += 4) {  // Pairs of neighbours, four at a time.
            const Pair a = *(const Pair*)(from + left[lane]), b = *(const Pair*)(from + left[lane + 1]);
            const Pair c = *(const Pair*)(from + left[lane + 2]), d = *(const Pair*)(from + left[lane + 3]);
            const Four ab = __builtin_shufflevector(a, b, 0, 1, 2, 3), cd = __builtin_shufflevector(c, d, 0, 1, 2, 3);
            ((Four*)(&low))[lane / 4] = __builtin_shufflevector(ab, cd, 0, 2, 4, 6);
            ((Four*)(&high))[lane / 4] = __builtin_shufflevector(ab, cd, 1, 3, 5, 7);
        }
        total += weight[view] * (low + (place - down) * (high - low));
    }
    for (int lane = 0; lane < LANES && first + lane < columns; ++lane) to[first + lane] = total[lane];
}
