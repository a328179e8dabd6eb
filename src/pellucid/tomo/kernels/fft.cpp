// Fast Fourier transforms of sixteen slices at once: a vector V holds the real parts of eight complex numbers and then
// their imaginary parts, each pair of slices being one complex number. Stockham's order: every pass reads one buffer and
// writes the other, and the result is in natural order.
//
// Twiddle factors come as a table: for every pass, of every p below n / radix, the factors 1 to radix - 1 as cosine and
// sine, whose signs say the direction; ``direction`` says it for the butterflies: -1 forward, 1 back.

typedef float V __attribute__((vector_size(64)));

const V NEGATE_FIRST = {-1, -1, -1, -1, -1, -1, -1, -1, 1, 1, 1, 1, 1, 1, 1, 1};

auto swapped = [](V v) -> V {
    return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
};

auto times_i = [&](V v) -> V { return swapped(v) * NEGATE_FIRST; };

auto times = [&](V v, const float* factor) -> V { return v * factor[0] + times_i(v) * factor[1]; };

auto pass_2 = [&](const V* x, V* y, int m, int s, const float* w) {
    for (int p = 0; p < m; ++p, w += 2)
        for (int q = 0; q < s; ++q) {
            const V a = x[q + s * p], b = x[q + s * (p + m)];
            V* out = y + q + s * 2 * p;
            out[0] = a + b, out[s] = times(a - b, w);
        }
};

auto pass_3 = [&](const V* x, V* y, int m, int s, const float* w, float direction) {
    const float sine = direction * 0.8660254037844386f;
    for (int p = 0; p < m; ++p, w += 4)
        for (int q = 0; q < s; ++q) {
            const V a = x[q + s * p], b = x[q + s * (p + m)], c = x[q + s * (p + 2 * m)];
            const V sum = b + c, half = a - 0.5f * sum, turned = sine * times_i(b - c);
            V* out = y + q + s * 3 * p;
            out[0] = a + sum, out[s] = times(half + turned, w), out[2 * s] = times(half - turned, w + 2);
        }
};

auto pass_4 = [&](const V* x, V* y, int m, int s, const float* w, float direction) {
    const V turn = direction * NEGATE_FIRST;
    for (int p = 0; p < m; ++p, w += 6)
        for (int q = 0; q < s; ++q) {
            const V* in = x + q + s * p;
            const V a = in[0], b = in[s * m], c = in[2 * s * m], d = in[3 * s * m];
            const V even = a + c, odd = b + d, left = a - c, right = swapped(b - d) * turn;
            V* out = y + q + s * 4 * p;
            out[0] = even + odd, out[s] = times(left + right, w);
            out[2 * s] = times(even - odd, w + 2), out[3 * s] = times(left - right, w + 4);
        }
};

auto pass_5 = [&](const V* x, V* y, int m, int s, const float* w, float direction) {
    const float c1 = 0.30901699437494745f, c2 = -0.8090169943749475f;
    const float s1 = direction * 0.9510565162951535f, s2 = direction * 0.5877852522924731f;
    for (int p = 0; p < m; ++p, w += 8)
        for (int q = 0; q < s; ++q) {
            const V* in = x + q + s * p;
            const V a = in[0], b = in[s * m], c = in[2 * s * m], d = in[3 * s * m], e = in[4 * s * m];
            const V near = b + e, far = c + d, near_turned = times_i(b - e), far_turned = times_i(c - d);
            const V first = a + c1 * near + c2 * far, first_turned = s1 * near_turned + s2 * far_turned;
            const V second = a + c2 * near + c1 * far, second_turned = s2 * near_turned - s1 * far_turned;
            V* out = y + q + s * 5 * p;
            out[0] = a + near + far;
            out[s] = times(first + first_turned, w), out[2 * s] = times(second + second_turned, w + 2);
            out[3 * s] = times(second - second_turned, w + 4), out[4 * s] = times(first - first_turned, w + 6);
        }
};

auto pass_8 = [&](const V* x, V* y, int m, int s, const float* w, float direction) {
    const V turn = direction * NEGATE_FIRST;
    const float eighth = 0.7071067811865476f;
    for (int p = 0; p < m; ++p, w += 14)
        for (int q = 0; q < s; ++q) {
            const V* in = x + q + s * p;
            const long long step = (long long)(s) * m;
            const V a = in[0], b = in[step], c = in[2 * step], d = in[3 * step];
            const V e = in[4 * step], f = in[5 * step], g = in[6 * step], h = in[7 * step];
            const V ae = a + e, cg = c + g, a_e = a - e, c_g = swapped(c - g) * turn;
            const V bf = b + f, dh = d + h, b_f = b - f, d_h = swapped(d - h) * turn;
            const V even0 = ae + cg, even1 = a_e + c_g, even2 = ae - cg, even3 = a_e - c_g;
            const V odd0 = bf + dh, odd2 = swapped(bf - dh) * turn;
            const V plus = b_f + d_h, minus = b_f - d_h;
            const V odd1 = eighth * (plus + swapped(plus) * turn), odd3 = eighth * (swapped(minus) * turn - minus);
            V* out = y + q + s * 8 * p;
            out[0] = even0 + odd0, out[s] = times(even1 + odd1, w), out[2 * s] = times(even2 + odd2, w + 2);
            out[3 * s] = times(even3 + odd3, w + 4), out[4 * s] = times(even0 - odd0, w + 6);
            out[5 * s] = times(even1 - odd1, w + 8), out[6 * s] = times(even2 - odd2, w + 10);
            out[7 * s] = times(even3 - odd3, w + 12);
        }
};

// Transforms x of length n; y is room. Returns which of them the result is in.
auto transform = [&](V* x, V* y, int n, const int* radices, int passes, const float* w, float direction) -> V* {
    for (int pass = 0, s = 1; pass < passes; ++pass) {
        const int radix = radices[pass], m = n / radix;
        if (radix == 8) pass_8(x, y, m, s, w, direction);
        else if (radix == 4) pass_4(x, y, m, s, w, direction);
        else if (radix == 3) pass_3(x, y, m, s, w, direction);
        else if (radix == 5) pass_5(x, y, m, s, w, direction);
        else pass_2(x, y, m, s, w);
        w += 2 * (radix - 1) * m, n = m, s *= radix;
        V* other = x;
        x = y, y = other;
    }
    return x;
};
