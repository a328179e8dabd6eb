// From cell to cell: a volume in bricks, ray by ray.

constexpr int STEPS = 4;  // cells that every ray of a tile passes before their samples are taken

const int mx = layer.vacancy.shape[2], my = layer.vacancy.shape[1];
const unsigned char* vacancy = layer.vacancy.data;
alignas(64) int starts[STEPS][N], ends[STEPS][N], cells[3][STEPS][N];
F from_corner[3], ahead[3], sign[3];
for (int a = 0; a < 3; ++a) {
    from_corner[a] = origin[a] + 0.5f;
    ahead[a] = speed[a] > zero ? zero + 1.0f : zero;
    sign[a] = ahead[a] * 2.0f - 1.0f;
}
while (unsigned alive = bits(k <= last)) {
    I visible = none;  // a bit for every step
    for (int s = 0; s < STEPS && alive; ++s) {
        const I is_alive = k <= last;
        const F distance = (real(k) + jitter) * step;
        I cell[3];
        for (int a = 0; a < 3; ++a) {
            const int cells = layer.vacancy.shape[2 - a];
            cell[a] = whole((from_corner[a] + speed[a] * distance) * (1.0f / EDGE));
            cell[a] = cell[a] < cells ? cell[a] : none + (cells - 1);
            cell[a] = (is_alive & (cell[a] > 0)) ? cell[a] : none;
        }
        const I index = (cell[2] * my + cell[1]) * mx + cell[0];
        I vacant;
        for (int q = 0; q < N; ++q) vacant[q] = vacancy[index[q]];
        const F around = most(real(vacant - 1), zero);
        F border = zero + 1.0e9f;
        for (int a = 0; a < 3; ++a) {
            const F wall = (real(cell[a]) + ahead[a] + sign[a] * around) * EDGE;
            border = least(border, (wall - from_corner[a]) * inverse[a]);
        }
        // A little short of the border, so that rounding never takes a sample of the next cell with it.
        I next = whole(__builtin_elementwise_ceil(border - jitter - 1.0e-3f));
        next = next > k ? next : k + 1;
        next = next <= last ? next : last + 1;
        next = is_alive ? next : k;
        visible |= (is_alive & (vacant == 0)) & (1 << s);
        __builtin_memcpy(starts[s], &k, sizeof(k));
        __builtin_memcpy(ends[s], &next, sizeof(next));
        for (int a = 0; a < 3; ++a) __builtin_memcpy(cells[a][s], &cell[a], sizeof(cell[a]));
        k = next;
        alive = bits(k <= last);
    }
    for (unsigned seeing = bits(visible != 0); seeing; seeing &= seeing - 1) {
        const int q = __builtin_ctz(seeing);
        for (unsigned rest = visible[q]; rest && left[q] > CLOSED; rest &= rest - 1) {
            const int s = __builtin_ctz(rest), cell[3] = {cells[0][s][q], cells[1][s][q], cells[2][s][q]};
            enter(cell, (ends[s][q] - starts[s][q]) * left[q]);
            for (int start = starts[s][q]; start < ends[s][q]; start += N) {
                windows[waiting].ray = q, windows[waiting].start = start, windows[waiting].end = ends[s][q];
                if (++waiting == MAX_WAITING) take();
            }
            take();
        }
    }
    for (int q = 0; q < N; ++q) lasts[q] = left[q] > CLOSED ? lasts[q] : -2147483647;
    __builtin_memcpy(&last, lasts, sizeof(last));
}
