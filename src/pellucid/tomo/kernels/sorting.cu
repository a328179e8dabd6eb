// Sorts the views of one column, with their places, in the memory that the threads of a block share (bitonic).
// Equal values keep their order: the place is the second key.
__shared__ unsigned int keys[LENGTH];
__shared__ unsigned short places[LENGTH];
const int views = columns_first.shape[2];
for (int i = thread; i < LENGTH; i += THREADS) {
    unsigned int bits = 0xFFFFFFFFu;
    if (i < views) {
        bits = __float_as_uint(wp::index(columns_first, slice, column, i));
        bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    }
    keys[i] = bits;
    places[i] = (unsigned short)i;
}
for (int width = 2; width <= LENGTH; width *= 2) {
    for (int step = width / 2; step > 0; step /= 2) {
        __syncthreads();
        for (int i = thread; i < LENGTH / 2; i += THREADS) {
            const int low = 2 * i - (i & (step - 1));
            const int high = low + step;
            const unsigned int a = keys[low], b = keys[high];
            const unsigned short p = places[low], q = places[high];
            const bool is_after = a > b || (a == b && p > q);
            if (is_after == ((low & width) == 0)) {
                keys[low] = b;
                keys[high] = a;
                places[low] = q;
                places[high] = p;
            }
        }
    }
}
__syncthreads();
for (int i = thread; i < views; i += THREADS) {
    const unsigned int bits = keys[i];
    wp::index(ranked, slice, column, i) = __uint_as_float(bits & 0x80000000u ? bits & 0x7FFFFFFFu : ~bits);
    wp::index(order, slice, column, i) = (int)places[i];
}
__syncthreads();
