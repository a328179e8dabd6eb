"""Values of a neural field in a kernel: on CUDA 32 points at a time with tensor cores, on the CPU one by one.

Here: NeuralStruct, value_of, and the kernels that decode bricks and points.
Not here: how parameters are packed (device_model), rays (rendering.kernels.composite_neural).

A cell of a feature grid is stored whole, its eight corners together: 32 bytes in half precision on CUDA, which is one
sector of memory, and 64 bytes in float32 on the CPU, which is one line of its cache. Grids have a ring of zeros around
them, so that points outside need no special case. On CUDA a warp's features go through shared memory once; the hidden
layers stay in registers, because the result of one product of matrices is laid out as the next one wants its input.
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.sizes import APRON, BRICK, CELL, PADDED

HIDDEN = 64
MAX_PAIRS = 32
"""Pairs of features of a point that shared memory has room for."""

THREADS = 64
"""Of a block on CUDA: two warps."""

TILE = 4
TILES = wp.constant(PADDED // TILE)
ROUNDS = wp.constant(27)
"""A brick has 9³ tiles of 4³ voxels: 27 blocks take 27 of them each."""
PARTS = PADDED**3 // THREADS // ROUNDS
CELLS = wp.constant(BRICK // CELL)
VOXELS = wp.constant(PADDED)


@wp.struct
class NeuralStruct:
    """A field of feature grids. From a point in voxel coordinates (x, y, z) to a grid's nodes: three rows of four
    numbers in ``places``; ``sizes``: nodes along x, y, z and the first cell. pairs: of features, a multiple of 8.
    weights: of the decoder. low, scale: from what it returns to values. last: the last voxel along (x, y, z)."""

    cells: wp.array(dtype=wp.uint32)
    places: wp.array(dtype=wp.float32)
    sizes: wp.array(dtype=wp.int32)
    weights: wp.array(dtype=wp.uint32)
    pairs: wp.int32
    low: wp.float32
    scale: wp.float32
    last: wp.vec3


_LOCATE = """
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
"""

_ON_CUDA = """
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
        asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(q.x), "=r"(q.y), "=r"(q.z), "=r"(q.w) : "r"(address));
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
            for (int m = 0; m < 2; ++m) { multiply(first[m][2*n], a[m], b.x, b.y); multiply(first[m][2*n + 1], a[m], b.z, b.w); }
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
            for (int m = 0; m < 2; ++m) { multiply(second[m][2*n], a[m], b.x, b.y); multiply(second[m][2*n + 1], a[m], b.z, b.w); }
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
            asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                : "+f"(sums[m][0]), "+f"(sums[m][1]), "+f"(sums[m][2]), "+f"(sums[m][3])
                : "r"(second[m][2*k][0]), "r"(second[m][2*k][1]), "r"(second[m][2*k + 1][0]), "r"(second[m][2*k + 1][1]),
                  "r"(b0), "r"(b1));
    }
    const unsigned which = lane & 3u;
    const float low_half = which & 1u ? sums[0][2] : sums[0][0], high_half = which & 1u ? sums[1][2] : sums[1][0];
    const float mine = which & 2u ? high_half : low_half;
    const float value = __shfl_sync(0xffffffffu, mine, (lane & 7u) * 4u + (lane >> 3));
    return model.low + model.scale * value;
"""

_ON_CPU = """
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
    return model.low + model.scale * value;
    }
"""


def _native(text: str) -> str:
    """C++ with the sizes of this module in place of their names."""
    for name, number in (("MAX_PAIRS", MAX_PAIRS), ("HIDDEN", HIDDEN), ("THREADS", THREADS)):
        text = text.replace(name, str(number))
    return text


@wp.func_native(
    _native("""
#if defined(__CUDA_ARCH__)
    __shared__ __align__(16) unsigned words[MAX_PAIRS / 8 * 512 + 2048 + 256];
    __syncthreads();
    for (int i = threadIdx.x; i < model.weights.shape[0]; i += THREADS) words[i] = model.weights.data[i];
    __syncthreads();
    return (unsigned)(__cvta_generic_to_shared(words));
#else
    return 0u;
#endif
""")
)
def load_weights(model: NeuralStruct) -> wp.uint32:
    """Bring the decoder's weights to shared memory; every thread of a block takes part."""
    return wp.uint32(0)


@wp.func_native(
    _native(
        """
    const float x = wp::min(wp::max(at[0], 0.0f), model.last[0]);
    const float y = wp::min(wp::max(at[1], 0.0f), model.last[1]);
    const float z = wp::min(wp::max(at[2], 0.0f), model.last[2]);
"""
        + _LOCATE
        + "\n#if defined(__CUDA_ARCH__)\n"
        + _ON_CUDA
        + "\n#else\n    if (is_wanted == 0) return 0.0f;\n"
        + _ON_CPU
        + "\n#endif\n"
    )
)
def value_of(model: NeuralStruct, weights: wp.uint32, at: wp.vec3, is_wanted: wp.int32) -> wp.float32:
    """The value at a point in voxel coordinates (x, y, z). weights: what load_weights returned. On CUDA all threads of
    a warp must come here together; the value of one that does not want it is undefined."""
    return 0.0


@wp.func_native(
    """
#if defined(__CUDA_ARCH__)
    return __any_sync(0xffffffffu, is_wanted);
#else
    return is_wanted;
#endif
"""
)
def any_of_warp(is_wanted: wp.int32) -> wp.int32:
    """Whether any thread of the warp wants it; on the CPU every thread is alone."""
    return 0


@wp.func_native(
    """
    auto whole = [&](float low, float high) -> float { return wp::min(wp::max(rintf(value), low), high); };
    switch (kind) {
        case 0: ((unsigned char*)(voxels))[index] = (unsigned char)(whole(0.0f, 255.0f)); break;
        case 1: ((signed char*)(voxels))[index] = (signed char)(whole(-128.0f, 127.0f)); break;
        case 2: ((unsigned short*)(voxels))[index] = (unsigned short)(whole(0.0f, 65535.0f)); break;
        case 3: ((short*)(voxels))[index] = (short)(whole(-32768.0f, 32767.0f)); break;
        case 4: ((wp::half*)(voxels))[index] = wp::half(value); break;
        default: ((float*)(voxels))[index] = is_integer ? rintf(value) : value;
    }
"""
)
def store_voxel(voxels: wp.uint64, index: wp.int64, kind: wp.int32, is_integer: wp.int32, value: wp.float32):
    """Write a value as a voxel of a kind; whole numbers are rounded, and clipped to what the type can hold."""


@wp.func_native(
    """
    auto over = [&](const auto* s) -> wp::vec2 {
        float low = 3.4e38f, high = -3.4e38f;
        for (int z = cell[2]*8 + 1; z < cell[2]*8 + 11; ++z)
            for (int y = cell[1]*8 + 1; y < cell[1]*8 + 11; ++y)
                for (int x = cell[0]*8 + 1; x < cell[0]*8 + 11; ++x) {
                    const float value = (float)(s[first + (z*36 + y)*36 + x]);
                    low = value < low ? value : low;
                    high = value > high ? value : high;
                    if (value != value) low = -3.4e38f;  // NaN is drawn like the lowest value
                }
        return wp::vec2(low, high);
    };
    switch (kind) {
        case 0: return over((const unsigned char*)(voxels));
        case 1: return over((const signed char*)(voxels));
        case 2: return over((const unsigned short*)(voxels));
        case 3: return over((const short*)(voxels));
        case 4: return over((const wp::half*)(voxels));
        default: return over((const float*)(voxels));
    }
"""
)
def cell_range_in_brick(voxels: wp.uint64, first: wp.int64, kind: wp.int32, cell: wp.vec3i) -> wp.vec2:
    """Lowest and highest voxel of a cell of a brick and of one around it."""
    return wp.vec2()


@wp.struct
class BrickOutput:
    """Where decoded bricks go: voxels of a kind, brick after brick. shape: of the level, (x, y, z); scale: voxels of
    the full resolution that one of its voxels joins, along (x, y, z)."""

    voxels: wp.uint64
    kind: wp.int32
    is_integer: wp.int32
    shape: wp.vec3i
    scale: wp.vec3


@wp.kernel(enable_backward=False, module_options={"fast_math": True}, module="unique")
def decode_bricks(first: wp.int32, model: NeuralStruct, bricks: wp.array(dtype=wp.vec3i), out: BrickOutput):
    """Voxels of some bricks of a level, with their aprons; bricks: which, along (x, y, z)."""
    brick, part, thread = wp.tid()
    brick += first
    weights = load_weights(model)
    corner = bricks[brick] * BRICK - wp.vec3i(APRON, APRON, APRON)
    for n in range(ROUNDS):
        tile = part * ROUNDS + n
        inside = wp.vec3i(
            (tile % TILES) * TILE + thread % TILE,
            (tile // TILES % TILES) * TILE + thread // TILE % TILE,
            (tile // (TILES * TILES)) * TILE + thread // (TILE * TILE),
        )
        at = wp.vec3()
        for axis in range(3):
            voxel = wp.clamp(corner[axis] + inside[axis], 0, out.shape[axis] - 1)
            at[axis] = (wp.float32(voxel) + 0.5) * out.scale[axis] - 0.5
        value = value_of(model, weights, at, 1)
        index = wp.int64(brick) * wp.int64(VOXELS * VOXELS * VOXELS) + wp.int64(
            (inside[2] * VOXELS + inside[1]) * VOXELS + inside[0]
        )
        store_voxel(out.voxels, index, out.kind, out.is_integer, value)


@wp.kernel(enable_backward=False)
def find_brick_ranges(first: wp.int32, out: BrickOutput, found: wp.array2d(dtype=wp.vec2)):
    """The range of each of the 4³ cells of decoded bricks of the full resolution."""
    brick, cell = wp.tid()
    brick += first
    at = wp.vec3i(cell % CELLS, cell // CELLS % CELLS, cell // (CELLS * CELLS))
    start = wp.int64(brick) * wp.int64(VOXELS * VOXELS * VOXELS)
    found[brick, cell] = cell_range_in_brick(out.voxels, start, out.kind, at)


@wp.kernel(enable_backward=False)
def put_brick_ranges(
    first: wp.int32,
    bricks: wp.array(dtype=wp.vec3i),
    found: wp.array2d(dtype=wp.vec2),
    margin: wp.float32,
    ranges: wp.array3d(dtype=wp.vec2),
):
    """The ranges of bricks' cells among those of all cells; margin: added on both sides, relative to their width."""
    brick, cell = wp.tid()
    brick += first
    x = bricks[brick][0] * CELLS + cell % CELLS
    y = bricks[brick][1] * CELLS + cell // CELLS % CELLS
    z = bricks[brick][2] * CELLS + cell // (CELLS * CELLS)
    if x < ranges.shape[2] and y < ranges.shape[1] and z < ranges.shape[0]:
        one = found[brick, cell]
        more = (one[1] - one[0]) * margin
        ranges[z, y, x] = wp.vec2(one[0] - more, one[1] + more)


@wp.kernel(enable_backward=False, module_options={"fast_math": True}, module="unique")
def evaluate_points(
    first: wp.int32, model: NeuralStruct, points: wp.array(dtype=wp.vec3), rounds: wp.int32, values: wp.array(dtype=float)
):
    """Values at points in voxel coordinates (x, y, z); each block takes ``rounds`` times as many as it has threads."""
    block, thread = wp.tid()
    block += first
    weights = load_weights(model)
    for n in range(rounds):
        index = (block * rounds + n) * THREADS + thread
        is_wanted = wp.where(index < points.shape[0], 1, 0)
        value = value_of(model, weights, points[wp.min(index, points.shape[0] - 1)], is_wanted)
        if is_wanted != 0:
            values[index] = value
