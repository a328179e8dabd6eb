// What of a cell can be seen, in 64 bits for its corners at every second voxel: whether a sample can be visible whose
// lower corner is up to four voxels behind one. Found when the first ray comes to the cell.

auto find_occupancy = [&](int index) __attribute__((noinline)) -> unsigned long long {
    constexpr int BITS = CELL / 2, REACH = 5, ROWS = CELL - 1 + REACH;
    const int mx = layer.vacancy.shape[2], my = layer.vacancy.shape[1];
    const int x0 = index % mx * CELL, y0 = index / mx % my * CELL, z0 = index / mx / my * CELL;
    const int nx = here.shape[0], ny = here.shape[1], nz = here.shape[2];
    auto row_of = [&](F value) -> I {
        const F place = (value - layer.value_low) * layer.value_scale + 0.5f;
        return whole(least(most(place, zero), layer.table.shape[0] - 1.0f - zero));
    };
    auto found = [&](const auto* voxels) -> unsigned long long {
        auto some = voxels[0];
        using T = decltype(some);
        typedef T V __attribute__((vector_size(N * sizeof(T))));
        auto lower = [](V a, V b) -> V { return a < b ? a : b; };
        auto upper = [](V a, V b) -> V { return a > b ? a : b; };
        // Over REACH voxels and one more, from every second on.
        auto over = [](const V* v, int stride, auto better) -> V {
            V best = v[0];
            for (int n = 1; n <= REACH; ++n) best = better(best, v[n * stride]);
            return best;
        };
        auto along_x = [](V v, auto better) -> V {
            const V two = better(v, __builtin_shufflevector(v, v, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15));
            const V four = better(two, __builtin_shufflevector(two, two, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15, 15));
            return better(four, __builtin_shufflevector(two, two, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15, 15, 15, 15));
        };
        V lows[ROWS][BITS], highs[ROWS][BITS];
        I is_number = none - 1;
        for (int z = 0; z < ROWS; ++z) {
            V rows[ROWS];
            for (int y = 0; y < ROWS; ++y) {
                const T* row = voxels + wp::min(z0 + z, nz - 1) * here.plane + wp::min(y0 + y, ny - 1) * here.row + x0;
                if (x0 + N <= nx) __builtin_memcpy(&rows[y], row, sizeof(V));
                else
                    for (int x = 0; x < N; ++x) rows[y][x] = row[wp::min(x, nx - 1 - x0)];
                if ((T)(0.5f) == (T)(0)) continue;
                const F value = __builtin_convertvector(rows[y], F);
                is_number &= (value < NOTHING) & (value > -NOTHING);
            }
            for (int y = 0; y < BITS; ++y) lows[z][y] = over(rows + 2 * y, 1, lower), highs[z][y] = over(rows + 2 * y, 1, upper);
        }
        unsigned long long mask = 0;
        for (int n = 0; n < BITS * BITS; ++n) {
            const V low = along_x(over(&lows[n / BITS * 2][n % BITS], BITS, lower), lower);
            const V high = along_x(over(&highs[n / BITS * 2][n % BITS], BITS, upper), upper);
            const I first = row_of(__builtin_convertvector(low, F)), last = row_of(__builtin_convertvector(high, F));
            const unsigned is = bits((last >= layer.shown[0]) & (first <= layer.shown[1]));
            for (int x = 0; x < BITS; ++x) mask |= (unsigned long long)(is >> 2 * x & 1u) << (n * BITS + x);
        }
        // Beside what is no number, or infinite, anything can be.
        return bits(~is_number) ? ~0ull : mask;
    };
    switch (here.kind) {
        case 0: return found((const unsigned char*)here.voxels);
        case 1: return found((const signed char*)here.voxels);
        case 2: return found((const unsigned short*)here.voxels);
        case 3: return found((const short*)here.voxels);
        case 4: return found((const _Float16*)here.voxels);
        default: return found((const float*)here.voxels);
    }
};
auto occupancy_of = [&](int index) -> unsigned long long {
    unsigned long long& known = layer.occupancy.data[index];
    // 0: not known yet. Whichever thread finds it, finds the same.
    if (!known) known = wp::max(find_occupancy(index), 1ull);
    return known;
};
