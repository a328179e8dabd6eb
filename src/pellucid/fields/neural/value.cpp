// The value of a neural field at a point of voxel coordinates at[0..2] (x, y, z): the body of kernels.value_of.
// "model" is a NeuralStruct, "weights" the address of the decoder in shared memory.
const float x = wp::min(wp::max(at[0], 0.0f), model.last[0]);
const float y = wp::min(wp::max(at[1], 0.0f), model.last[1]);
const float z = wp::min(wp::max(at[2], 0.0f), model.last[2]);

// The cell of a grid that the point lies in, and where it lies in there.
auto locate = [&](int g, float& a, float& b, float& c) -> unsigned {
    const float* t = model.places.data + 12 * g;
    const int* n = model.sizes.data + 4 * g;
    const float u = wp::min(wp::max(t[0]*x + t[1]*y + t[2]*z + t[3], 0.0f), n[0] + 1.0f);
    const float v = wp::min(wp::max(t[4]*x + t[5]*y + t[6]*z + t[7], 0.0f), n[1] + 1.0f);
    const float w = wp::min(wp::max(t[8]*x + t[9]*y + t[10]*z + t[11], 0.0f), n[2] + 1.0f);
    const int i = wp::min((int)(u), n[0]), j = wp::min((int)(v), n[1]), k = wp::min((int)(w), n[2]);
    a = u - i; b = v - j; c = w - k;
    return (unsigned)(n[3] + (k*(n[1] + 1) + j)*(n[0] + 1) + i);
};

// The cubic spline under the network: 4 x 4 x 4 coefficients count.
auto spline = [&]() -> float {
    const int nx = model.spline_cells[0], ny = model.spline_cells[1], nz = model.spline_cells[2];
    if (nx == 0) return 0.0f;
    auto place = [](float at, int cells, float* weights) -> int {
        at = wp::min(wp::max(at, 0.0f), (float)(cells));
        const int first = wp::min((int)(at), cells - 1);
        const float t = at - first, s = 1.0f - t;
        weights[0] = s*s*s / 6.0f;
        weights[1] = (3.0f*t*t*t - 6.0f*t*t + 4.0f) / 6.0f;
        weights[2] = (3.0f*s*s*s - 6.0f*s*s + 4.0f) / 6.0f;
        weights[3] = t*t*t / 6.0f;
        return first;
    };
    float a[4], b[4], c[4];
    const int i = place(x * model.spline_scale[0] + model.spline_shift[0], nx, a);
    const int j = place(y * model.spline_scale[1] + model.spline_shift[1], ny, b);
    const int k = place(z * model.spline_scale[2] + model.spline_shift[2], nz, c);
    float total = 0.0f;
    for (int n = 0; n < 4; ++n)
        for (int m = 0; m < 4; ++m) {
            const float* row = model.spline.data + ((long long)(k + n) * (ny + 3) + j + m) * (nx + 3) + i;
            total += c[n] * b[m] * (a[0]*row[0] + a[1]*row[1] + a[2]*row[2] + a[3]*row[3]);
        }
    return total;
};

#if defined(__CUDA_ARCH__)

constexpr int STRIDE = MAX_PAIRS + 4;
__shared__ __align__(16) unsigned rows[THREADS * STRIDE];
const unsigned lane = threadIdx.x & 31u;
const int stride = model.pairs + 4;
unsigned* warp_rows = rows + (threadIdx.x >> 5) * 32 * STRIDE;
__syncwarp();
if (is_wanted) {
    unsigned* row = warp_rows + lane * stride;
    for (int g = 0; g < model.pairs; g += 4) {
        unsigned found[4];
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
            float a, b, c;
            const uint4* cell = (const uint4*)(model.cells.data) + 2ULL * locate(g + n, a, b, c);
            const uint4 low = __ldg(cell), high = __ldg(cell + 1);
            unsigned A, B, C;
            asm("cvt.rn.f16x2.f32 %0, %1, %1;" : "=r"(A) : "f"(a));
            asm("cvt.rn.f16x2.f32 %0, %1, %1;" : "=r"(B) : "f"(b));
            asm("cvt.rn.f16x2.f32 %0, %1, %1;" : "=r"(C) : "f"(c));
            auto mix = [](unsigned part, unsigned p, unsigned q) -> unsigned {
                unsigned difference, mixed;
                asm("sub.f16x2 %0, %1, %2;" : "=r"(difference) : "r"(q), "r"(p));
                asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(mixed) : "r"(part), "r"(difference), "r"(p));
                return mixed;
            };
            const unsigned near = mix(B, mix(A, low.x, low.y), mix(A, low.z, low.w));
            const unsigned far = mix(B, mix(A, high.x, high.y), mix(A, high.z, high.w));
            found[n] = mix(C, near, far);
        }
        *(uint4*)(row + g) = make_uint4(found[0], found[1], found[2], found[3]);
    }
}
__syncwarp();
// Fragments of m16n8k16 products: 2 tiles of 16 points, 8 tiles of 8 hidden units, two half2 each.
unsigned first[2][8][2], second[2][8][2];
#pragma unroll
for (int m = 0; m < 2; ++m)
    for (int n = 0; n < 8; ++n) first[m][n][0] = first[m][n][1] = second[m][n][0] = second[m][n][1] = 0u;
auto multiply = [](unsigned* d, const unsigned* a, unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
        : "+r"(d[0]), "+r"(d[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
};
auto load4 = [](unsigned address) -> uint4 {
    uint4 q;
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
        : "=r"(q.x), "=r"(q.y), "=r"(q.z), "=r"(q.w) : "r"(address));
    return q;
};
const unsigned own = (unsigned)(__cvta_generic_to_shared(warp_rows));
const int tiles = model.pairs / 8;
for (int k = 0; k < tiles; ++k) {
    unsigned a[2][4];
    #pragma unroll
    for (int m = 0; m < 2; ++m)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
            : "=r"(a[m][0]), "=r"(a[m][1]), "=r"(a[m][2]), "=r"(a[m][3])
            : "r"(own + 4u * ((m*16 + (lane & 15u)) * stride + k*8 + (lane >> 4) * 4)));
    #pragma unroll
    for (int n = 0; n < 4; ++n) {
        const uint4 b = load4(weights + ((k*4 + n)*32 + lane) * 16);
        for (int m = 0; m < 2; ++m) {
            multiply(first[m][2*n], a[m], b.x, b.y);
            multiply(first[m][2*n + 1], a[m], b.z, b.w);
        }
    }
}
auto positive = [](unsigned& value) { asm("max.f16x2 %0, %0, %1;" : "+r"(value) : "r"(0u)); };
#pragma unroll
for (int m = 0; m < 2; ++m)
    for (int n = 0; n < 8; ++n) { positive(first[m][n][0]); positive(first[m][n][1]); }
const unsigned next = weights + tiles * 2048;
#pragma unroll
for (int k = 0; k < 4; ++k) {
    unsigned a[2][4];
    for (int m = 0; m < 2; ++m) {
        a[m][0] = first[m][2*k][0]; a[m][1] = first[m][2*k][1];
        a[m][2] = first[m][2*k + 1][0]; a[m][3] = first[m][2*k + 1][1];
    }
    #pragma unroll
    for (int n = 0; n < 4; ++n) {
        const uint4 b = load4(next + ((k*4 + n)*32 + lane) * 16);
        for (int m = 0; m < 2; ++m) {
            multiply(second[m][2*n], a[m], b.x, b.y);
            multiply(second[m][2*n + 1], a[m], b.z, b.w);
        }
    }
}
// The last layer has one output, in every column: each thread of four has the values of the same four points.
float sums[2][4];
#pragma unroll
for (int m = 0; m < 2; ++m) {
    for (int n = 0; n < 8; ++n) { positive(second[m][n][0]); positive(second[m][n][1]); }
    sums[m][0] = sums[m][1] = sums[m][2] = sums[m][3] = 0.0f;
}
const unsigned end = next + 8192;
#pragma unroll
for (int k = 0; k < 4; ++k) {
    unsigned b0, b1;
    asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];" : "=r"(b0), "=r"(b1) : "r"(end + (k*32 + lane) * 8));
    for (int m = 0; m < 2; ++m)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(sums[m][0]), "+f"(sums[m][1]), "+f"(sums[m][2]), "+f"(sums[m][3])
            : "r"(second[m][2*k][0]), "r"(second[m][2*k][1]), "r"(second[m][2*k + 1][0]),
              "r"(second[m][2*k + 1][1]), "r"(b0), "r"(b1));
}
const unsigned which = lane & 3u;
const float low_half = which & 1u ? sums[0][2] : sums[0][0], high_half = which & 1u ? sums[1][2] : sums[1][0];
const float mine = which & 2u ? high_half : low_half;
const float value = __shfl_sync(0xffffffffu, mine, (lane & 7u) * 4u + (lane >> 3));
return model.low + model.scale * value + (is_wanted ? spline() : 0.0f);

#else

if (is_wanted == 0) return 0.0f;
{
// A product and a sum in one instruction, which Warp does not ask for on a CPU.
#pragma clang fp contract(fast)
float features[2 * MAX_PAIRS], first[HIDDEN], second[HIDDEN];
for (int g = 0; g < model.pairs; ++g) {
    float a, b, c;
    const float* cell = (const float*)(model.cells.data) + 16ULL * locate(g, a, b, c);
    auto mix = [](float part, float p, float q) -> float { return p + part * (q - p); };
    for (int f = 0; f < 2; ++f) {
        const float near = mix(b, mix(a, cell[f], cell[2 + f]), mix(a, cell[4 + f], cell[6 + f]));
        const float far = mix(b, mix(a, cell[8 + f], cell[10 + f]), mix(a, cell[12 + f], cell[14 + f]));
        features[2*g + f] = mix(c, near, far);
    }
}
const float* w = (const float*)(model.weights.data);
for (int n = 0; n < HIDDEN; ++n) first[n] = second[n] = 0.0f;
// Four inputs at once, or the sums would go to memory and back for every input.
auto add = [&](const float* in, int count, float* out) {
    for (int k = 0; k < count; k += 4, w += 4 * HIDDEN)
        for (int n = 0; n < HIDDEN; ++n)
            out[n] += in[k] * w[n] + in[k + 1] * w[HIDDEN + n]
                + (in[k + 2] * w[2 * HIDDEN + n] + in[k + 3] * w[3 * HIDDEN + n]);
    for (int n = 0; n < HIDDEN; ++n) out[n] = wp::max(out[n], 0.0f);
};
add(features, 2 * model.pairs, first);
add(first, HIDDEN, second);
float value = 0.0f;
for (int n = 0; n < HIDDEN; ++n) value += second[n] * w[n];
return model.low + model.scale * value + spline();
}

#endif
