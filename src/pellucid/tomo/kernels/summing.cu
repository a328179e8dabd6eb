// Adds up the ranks of one column, without so many at either end: every thread some of them, then in pairs.
__shared__ double parts[THREADS];
double total = 0.0;
for (int rank = left_out + thread; rank < ranked.shape[2] - left_out; rank += THREADS)
    total += (double)(wp::index(ranked, slice, column, rank));
parts[thread] = total;
for (int count = THREADS / 2; count > 0; count /= 2) {
    __syncthreads();
    if (thread < count) parts[thread] += parts[thread + count];
}
if (thread == 0) wp::index(sums, slice, column) = parts[0];
__syncthreads();
