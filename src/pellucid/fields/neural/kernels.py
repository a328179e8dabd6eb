"""Values of a neural field in a kernel: on CUDA 32 points at a time with tensor cores, on the CPU one by one.

Here: NeuralStruct, value_of, and the kernels that decode bricks and points.
Not here: how parameters are packed (device_model), rays (rendering.kernels.composite_neural).

A cell of a feature grid is stored whole, its eight corners together: 32 bytes in half precision on CUDA, which is one
sector of memory, and 64 bytes in float32 on the CPU, which is one line of its cache. Grids have a ring of zeros around
them, so that points outside need no special case. On CUDA a warp's features go through shared memory once; the hidden
layers stay in registers, because the result of one product of matrices is laid out as the next one wants its input.
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

from pathlib import Path

import warp as wp

from pellucid.fields.sizes import APRON, BRICK, CELL, HIDDEN, MAX_PAIRS, PADDED

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
    weights: of the decoder. low, scale: from what it returns to values. last: the last voxel along (x, y, z). spline:
    coefficients that count below the network, x fastest; spline_cells: along (x, y, z), 0 without one; from a voxel
    to cells, ``spline_scale`` and ``spline_shift``."""

    cells: wp.array(dtype=wp.uint32)
    places: wp.array(dtype=wp.float32)
    sizes: wp.array(dtype=wp.int32)
    weights: wp.array(dtype=wp.uint32)
    pairs: wp.int32
    low: wp.float32
    scale: wp.float32
    last: wp.vec3
    spline: wp.array(dtype=wp.float32)
    spline_cells: wp.vec3i
    spline_scale: wp.vec3
    spline_shift: wp.vec3


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


@wp.func_native(_native(Path(__file__).with_name("value.cpp").read_text()))
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
    first: wp.int32,
    model: NeuralStruct,
    points: wp.array(dtype=wp.vec3),
    rounds: wp.int32,
    values: wp.array(dtype=wp.float32),
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
