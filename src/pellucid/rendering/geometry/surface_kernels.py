"""Marching cubes row by row: which voxels reach a value, how much surface each row has, and its vertices and triangles.

Here: the kernels, and what they are given.
Not here: running them (surface_extraction), the table of cases (cube_cases), the definition (reference.isosurfaces).

A bit for every voxel says whether it reaches the value. 64 of them are a word, so that the edges and cubes that the
surface passes are found 64 at a time, and most of a volume is left out at once. A kernel thread has one span of a row:
the whole row on a CPU, one word of it on a GPU.
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp


@wp.struct
class SurfaceGrid:
    """Voxels between which a surface is looked for.

    voxels: address of the first; kind: of VOXEL_KINDS; plane, row: voxels from one to the next; shape: (x, y, z);
    words: of a row; span: words of a kernel thread; spans: of a row; own: planes whose edges get vertices here, the
    last one may be the next slab's. value: of the surface; limit: the least whole number that reaches it. start: the
    first voxel in the volume, spacing: both (x, y, z).
    """

    voxels: wp.uint64
    kind: wp.int32
    plane: wp.int64
    row: wp.int64
    shape: wp.vec3i
    words: wp.int32
    span: wp.int32
    spans: wp.int32
    own: wp.int32
    value: wp.float64
    limit: wp.int64
    start: wp.vec3i
    spacing: wp.vec3d


SWITCH = """
    switch (grid.kind) {
        case 0: body((const unsigned char*)grid.voxels); break;
        case 1: body((const signed char*)grid.voxels); break;
        case 2: body((const unsigned short*)grid.voxels); break;
        case 3: body((const short*)grid.voxels); break;
        case 4: body((const unsigned int*)grid.voxels); break;
        case 5: body((const int*)grid.voxels); break;
        case 6: body((const unsigned long long*)grid.voxels); break;
        case 7: body((const long long*)grid.voxels); break;
        case 8: body((const float*)grid.voxels); break;
        default: body((const double*)grid.voxels);
    }
"""
VOXEL_KINDS = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8")


@wp.func_native(
    """
    typedef unsigned long long Word;
    const int nx = grid.shape[0], ny = grid.shape[1];
    const int begin = span * grid.span, end = wp::min(begin + grid.span, grid.words);
    Word* words = (Word*)bits.data + ((long long)z * ny + y) * grid.words;
    auto body = [&](const auto* voxels) {
        auto one = voxels[0];
        using T = decltype(one);
        const bool is_real = (T)(0.5f) != (T)(0);
        const T limit = is_real ? (T)grid.value : (T)grid.limit;
        const T* from = voxels + z * grid.plane + y * grid.row;
        for (int w = begin; w < end; ++w) {
            const T* some = from + 64 * (long long)w;
            Word word = 0;
            if (64 * w + 64 <= nx) {
                unsigned char reaches[64];
                for (int i = 0; i < 64; ++i) reaches[i] = some[i] >= limit;
                for (int k = 0; k < 8; ++k) {
                    Word eight = 0;
                    for (int i = 0; i < 8; ++i) eight |= (Word)reaches[8 * k + i] << (8 * i);
                    word |= ((eight * 0x0102040810204080ull) >> 56) << (8 * k);
                }
            } else {
                for (int i = 0; i < nx - 64 * w; ++i) word |= (Word)(some[i] >= limit) << i;
            }
            words[w] = word;
        }
    };
"""
    + SWITCH
)
def find_bits(grid: SurfaceGrid, z: wp.int32, y: wp.int32, span: wp.int32, bits: wp.array(dtype=wp.uint64)):
    """Which voxels of a span reach the value; not-a-number does not."""
    ...


SPAN = """
    typedef unsigned long long Word;
    const int nx = grid.shape[0], ny = grid.shape[1], nz = grid.shape[2], words = grid.words, spans = grid.spans;
    const int begin = span * grid.span, end = wp::min(begin + grid.span, words);
    const bool has_below = y + 1 < ny, has_behind = z + 1 < nz;
    auto ones = [](Word word) -> int {
        word = word - ((word >> 1) & 0x5555555555555555ull);
        word = (word & 0x3333333333333333ull) + ((word >> 2) & 0x3333333333333333ull);
        return (int)((((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0full) * 0x0101010101010101ull) >> 56);
    };
    auto lowest = [&](Word word) -> int { return ones((word & (~word + 1)) - 1); };
    // Edges are numbered plane by plane: in each row those along x, then those along y; then, row by row, along z.
    const long long of_plane = 3ll * ny * spans;
    auto place = [&](int plane, int row, int axis) -> long long {
        const long long within = axis == 2 ? 2ll * ny + row : 2ll * row + axis;
        return plane * of_plane + within * spans + span;
    };
"""
"""What all kernels know of a span; label_surface_kernels too."""

WALK = (
    SPAN
    + """
    // The rows of voxels around the cubes of this one, at (y, z), (y + 1, z), (y, z + 1), (y + 1, z + 1).
    const Word* rows[4];
    for (int r = 0; r < 4; ++r)
        rows[r] = (const Word*)bits.data
            + ((long long)(z + (r >> 1 && has_behind)) * ny + y + ((r & 1) && has_below)) * words;
    // here: the bits of the four rows; next: those of their next voxels along x.
    Word here[4], next[4], x_edges, y_edges, z_edges, cubes;
    auto look = [&](int w) -> bool {
        Word any = 0, all = ~0ull;
        for (int r = 0; r < 4; ++r) {
            here[r] = rows[r][w];
            const Word after = w + 1 < words ? rows[r][w + 1] : 0;
            next[r] = (here[r] >> 1) | (after << 63);
            any |= here[r] | next[r];
            all &= here[r] & next[r];
        }
        if (any == 0 || all == ~0ull) return false;
        const int left = nx - 1 - 64 * w;  // cubes from here on
        const Word within = left >= 64 ? ~0ull : (left <= 0 ? 0ull : (1ull << left) - 1);
        x_edges = (here[0] ^ next[0]) & within;
        y_edges = here[0] ^ here[1];
        z_edges = here[0] ^ here[2];
        cubes = has_below && has_behind ? any & ~all & within : 0;
        return true;
    };
    auto case_at = [&](int i) -> int {
        int found = 0;
        for (int r = 0; r < 4; ++r)
            found |= ((int)(here[r] >> i & 1) | (int)(next[r] >> i & 1) << 1) << (2 * r);
        return found;
    };
"""
)


@wp.func_native(
    WALK
    + """
    int x_count = 0, y_count = 0, z_count = 0, triangle_count = 0;
    for (int w = begin; w < end; ++w) {
        if (!look(w)) continue;
        x_count += ones(x_edges);
        y_count += ones(y_edges);
        z_count += ones(z_edges);
        for (Word left = cubes; left; left &= left - 1) triangle_count += triangles_of.data[case_at(lowest(left))];
    }
    edges.data[place(z, y, 0)] = x_count;
    edges.data[place(z, y, 1)] = y_count;
    edges.data[place(z, y, 2)] = z_count;
    triangles.data[((long long)z * ny + y) * spans + span] = triangle_count;
"""
)
def count_span(
    grid: SurfaceGrid,
    z: wp.int32,
    y: wp.int32,
    span: wp.int32,
    bits: wp.array(dtype=wp.uint64),
    triangles_of: wp.array(dtype=wp.uint8),
    edges: wp.array(dtype=wp.int32),
    triangles: wp.array(dtype=wp.int32),
):
    """How many edges that begin in a span the surface cuts, and how many triangles its cubes have."""
    ...


@wp.func_native(
    WALK
    + """
    const double value = grid.value, nearest = 1.0 / 1024.0;
    auto first_of = [&](int plane, int row, int axis) -> int { return (int)starts.data[place(plane, row, axis)]; };
    const int behind = z + has_behind, below = y + has_below;
    int x_at[4] = {first_of(z, y, 0), first_of(z, below, 0), first_of(behind, y, 0), first_of(behind, below, 0)};
    int y_at[2] = {first_of(z, y, 1), first_of(behind, y, 1)};
    int z_at[2] = {first_of(z, y, 2), first_of(z, below, 2)};
    int* out = triangles.data + 3 * triangle_starts.data[((long long)z * ny + y) * spans + span];
    auto body = [&](const auto* voxels) {
        const auto* from = voxels + z * grid.plane + y * grid.row;
        float* vertex[3];
        for (int axis = 0; axis < 3; ++axis)
            vertex[axis] = vertices.data + 3ll * (axis == 0 ? x_at[0] : axis == 1 ? y_at[0] : z_at[0]);
        auto write = [&](int axis, int x, long long step) {
            const double near = (double)from[x], far = (double)from[x + step];
            double fraction = (value - near) / (far - near);
            if (fraction != fraction) fraction = 0.5;
            fraction = wp::min(wp::max(fraction, nearest), 1.0 - nearest);
            double at[3] = {(double)(grid.start[0] + x), (double)(grid.start[1] + y), (double)(grid.start[2] + z)};
            at[axis] += fraction;
            for (int i = 0; i < 3; ++i) *vertex[axis]++ = (float)(at[i] * grid.spacing[i]);
        };
        for (int w = begin; w < end; ++w) {
            if (!look(w)) continue;
            if (z < grid.own) {
                for (Word left = x_edges; left; left &= left - 1) write(0, 64 * w + lowest(left), 1);
                for (Word left = y_edges; left; left &= left - 1) write(1, 64 * w + lowest(left), grid.row);
                for (Word left = z_edges; left; left &= left - 1) write(2, 64 * w + lowest(left), grid.plane);
            }
            for (Word left = cubes; left; left &= left - 1) {
                const int number = case_at(lowest(left));
                const int y_cut = (number ^ number >> 2) & 1, y_cut_behind = (number >> 4 ^ number >> 6) & 1;
                const int z_cut = (number ^ number >> 4) & 1, z_cut_below = (number >> 2 ^ number >> 6) & 1;
                // In the order of cube_cases.EDGES.
                const int edge[12] = {
                    x_at[0], x_at[1], x_at[2], x_at[3],
                    y_at[0], y_at[0] + y_cut, y_at[1], y_at[1] + y_cut_behind,
                    z_at[0], z_at[0] + z_cut, z_at[1], z_at[1] + z_cut_below,
                };
                const signed char* listed = table.data + number * table.shape[1];
                for (int k = 0; k < 3 * triangles_of.data[number]; ++k) *out++ = edge[listed[k]];
                for (int r = 0; r < 4; ++r) x_at[r] += (number >> 2 * r ^ number >> (2 * r + 1)) & 1;
                y_at[0] += y_cut, y_at[1] += y_cut_behind;
                z_at[0] += z_cut, z_at[1] += z_cut_below;
            }
        }
    };
"""
    + SWITCH
)
def make_span(
    grid: SurfaceGrid,
    z: wp.int32,
    y: wp.int32,
    span: wp.int32,
    bits: wp.array(dtype=wp.uint64),
    triangles_of: wp.array(dtype=wp.uint8),
    table: wp.array2d(dtype=wp.int8),
    starts: wp.array(dtype=wp.int64),
    triangle_starts: wp.array(dtype=wp.int64),
    vertices: wp.array(dtype=wp.float32),
    triangles: wp.array(dtype=wp.int32),
):
    """The vertices on edges that begin in a span, and the triangles of its cubes."""
    ...


@wp.kernel(enable_backward=False)
def surface_bits(first: wp.int32, grid: SurfaceGrid, bits: wp.array(dtype=wp.uint64)):
    z, y, span = wp.tid()
    find_bits(grid, z + first, y, span, bits)


@wp.kernel(enable_backward=False)
def surface_counts(
    first: wp.int32,
    grid: SurfaceGrid,
    bits: wp.array(dtype=wp.uint64),
    triangles_of: wp.array(dtype=wp.uint8),
    edges: wp.array(dtype=wp.int32),
    triangles: wp.array(dtype=wp.int32),
):
    z, y, span = wp.tid()
    count_span(grid, z + first, y, span, bits, triangles_of, edges, triangles)


@wp.kernel(enable_backward=False)
def surface_parts(
    first: wp.int32,
    grid: SurfaceGrid,
    bits: wp.array(dtype=wp.uint64),
    triangles_of: wp.array(dtype=wp.uint8),
    table: wp.array2d(dtype=wp.int8),
    starts: wp.array(dtype=wp.int64),
    triangle_starts: wp.array(dtype=wp.int64),
    vertices: wp.array(dtype=wp.float32),
    triangles: wp.array(dtype=wp.int32),
):
    z, y, span = wp.tid()
    make_span(grid, z + first, y, span, bits, triangles_of, table, starts, triangle_starts, vertices, triangles)
