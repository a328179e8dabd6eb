"""Marching cubes for many labels at once: which voxels are chosen, which edges are cut, and the parts of all surfaces.

Here: the kernels, and what they are given.
Not here: running them (label_surfaces), grouping by label (grouping_kernels), one surface (surface_kernels).

Four bits for every voxel: whether its label is chosen, and for the edges that leave it along x, y and z whether their
ends differ and one of them is chosen. A cube has triangles if one of its twelve edges is cut, so that most of a volume
is left out 64 voxels at a time. A cut edge has a vertex for each end that is chosen: first that of its lower end.
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.rendering.geometry.surface_kernels import SPAN, SWITCH


@wp.struct
class LabelGrid:
    """Voxels whose labels get surfaces.

    voxels: address of the first; kind: of VOXEL_KINDS; plane, row: voxels from one to the next; shape: (x, y, z);
    words: of a row; span: words of a kernel thread; spans: of a row. start: the first voxel in the volume, spacing:
    both (x, y, z). The number of a label among the chosen ones is numbers[label - least] where is_dense, and -1 where
    it is not chosen; else numbers[i] where sorted[i] is the label.
    """

    voxels: wp.uint64
    kind: wp.int32
    plane: wp.int64
    row: wp.int64
    shape: wp.vec3i
    words: wp.int32
    span: wp.int32
    spans: wp.int32
    start: wp.vec3i
    spacing: wp.vec3d
    least: wp.int64
    is_dense: wp.int32
    sorted: wp.array(dtype=wp.int64)
    numbers: wp.array(dtype=wp.int32)


LABELS = (
    SPAN
    + """
    Word* planes[4];  // chosen voxels, and cut edges along x, y and z
    for (int k = 0; k < 4; ++k) planes[k] = (Word*)bits.data + (long long)k * nz * ny * words;
    auto row_at = [&](int k, int plane, int row) -> Word* { return planes[k] + ((long long)plane * ny + row) * words; };
    // The word of the voxels one further along x.
    auto next_of = [&](const Word* row, int w) -> Word {
        return (row[w] >> 1) | (w + 1 < words ? row[w + 1] << 63 : 0);
    };
    auto number_of = [&](auto voxel) -> int {
        using T = decltype(voxel);
        if ((T)(0.5f) != (T)(0)) {
            const double real = (double)voxel;
            if (!(real >= -9e18 && real <= 9e18) || (double)(long long)real != real) return -1;
        }
        const long long label = (long long)voxel;
        if (grid.is_dense) {
            const Word at = (Word)label - (Word)grid.least;
            return at < (Word)grid.numbers.shape[0] ? grid.numbers.data[at] : -1;
        }
        int low = 0, high = grid.sorted.shape[0];
        while (low < high) {
            const int middle = (low + high) / 2;
            if (grid.sorted.data[middle] < label) low = middle + 1; else high = middle;
        }
        return low < grid.sorted.shape[0] && grid.sorted.data[low] == label ? grid.numbers.data[low] : -1;
    };
"""
)

COMPARE = """
    // Which of some voxels, 64 or the last few of a row, differ from others.
    auto differing = [](const auto* some, const auto* others, int count) -> Word {
        Word word = 0;
        if (count >= 64) {
            unsigned char differs[64];
            for (int i = 0; i < 64; ++i) differs[i] = some[i] != others[i];
            for (int k = 0; k < 8; ++k) {
                Word eight = 0;
                for (int i = 0; i < 8; ++i) eight |= (Word)differs[8 * k + i] << (8 * i);
                word |= ((eight * 0x0102040810204080ull) >> 56) << (8 * k);
            }
        } else {
            for (int i = 0; i < count; ++i) word |= (Word)(some[i] != others[i]) << i;
        }
        return word;
    };
"""


@wp.func_native(
    LABELS
    + COMPARE
    + """
    Word* chosen = row_at(0, z, y);
    auto body = [&](const auto* voxels) {
        const auto* from = voxels + z * grid.plane + y * grid.row;
        auto last = from[64 * (long long)begin];
        bool is_last_chosen = number_of(last) >= 0;
        for (int w = begin; w < end; ++w) {
            const auto* some = from + 64 * (long long)w;
            const int count = wp::min(64, nx - 64 * w);
            // A run of equal labels is looked up once. Bit i: a run begins at voxel i.
            Word word = 0, left = differing(some, some + 1, wp::min(64, nx - 1 - 64 * w)) << 1 | 1;
            if (count < 64) left &= (1ull << count) - 1;
            while (left) {
                const int first = lowest(left);
                left &= left - 1;
                const int stop = left ? lowest(left) : count;
                if (some[first] != last) {
                    last = some[first];
                    is_last_chosen = number_of(last) >= 0;
                }
                const int length = stop - first;
                if (is_last_chosen) word |= (length >= 64 ? ~0ull : (1ull << length) - 1) << first;
            }
            chosen[w] = word;
        }
    };
"""
    + SWITCH
)
def find_chosen(grid: LabelGrid, z: wp.int32, y: wp.int32, span: wp.int32, bits: wp.array(dtype=wp.uint64)):
    """Which voxels of a span have a chosen label."""
    ...


@wp.func_native(
    LABELS
    + COMPARE
    + """
    const Word* chosen = row_at(0, z, y);
    const Word* ends[3] = {nullptr, row_at(0, z, y + has_below), row_at(0, z + has_behind, y)};
    auto body = [&](const auto* voxels) {
        const auto* from = voxels + z * grid.plane + y * grid.row;
        const long long steps[3] = {1, has_below ? grid.row : 0, has_behind ? grid.plane : 0};
        for (int axis = 0; axis < 3; ++axis) {
            Word* cut = row_at(1 + axis, z, y);
            for (int w = begin; w < end; ++w) {
                const auto* some = from + 64 * (long long)w;
                const int count = wp::min(64, nx - (axis == 0) - 64 * w);
                const Word any = chosen[w] | (axis ? ends[axis][w] : next_of(chosen, w));
                cut[w] = any && steps[axis] ? any & differing(some, some + steps[axis], count) : 0;
            }
        }
    };
"""
    + SWITCH
)
def find_cuts(grid: LabelGrid, z: wp.int32, y: wp.int32, span: wp.int32, bits: wp.array(dtype=wp.uint64)):
    """Which edges that leave the voxels of a span are cut."""
    ...


WALK = (
    LABELS
    + """
    // In the rows at (y, z), (y + 1, z), (y, z + 1), (y + 1, z + 1).
    const Word *chosen[4], *x_cuts[4], *y_cuts[2], *z_cuts[2];
    for (int r = 0; r < 4; ++r) {
        const int plane = z + (r >> 1 && has_behind), row = y + ((r & 1) && has_below);
        chosen[r] = row_at(0, plane, row);
        x_cuts[r] = row_at(1, plane, row);
    }
    for (int r = 0; r < 2; ++r) {
        y_cuts[r] = row_at(2, z + (r && has_behind), y);
        z_cuts[r] = row_at(3, z, y + (r && has_below));
    }
    auto cubes_of = [&](int w) -> Word {
        const int left = nx - 1 - 64 * w;
        if (!has_below || !has_behind || left <= 0) return 0;
        Word any = 0;
        for (int r = 0; r < 4; ++r) any |= x_cuts[r][w];
        for (int r = 0; r < 2; ++r) any |= y_cuts[r][w] | next_of(y_cuts[r], w) | z_cuts[r][w] | next_of(z_cuts[r], w);
        return left >= 64 ? any : any & ((1ull << left) - 1);
    };
    // The corners of cube i whose labels are chosen, as bits.
    auto chosen_at = [&](int w, int i) -> int {
        int found = 0;
        for (int r = 0; r < 4; ++r)
            found |= ((int)(chosen[r][w] >> i & 1) | (int)(next_of(chosen[r], w) >> i & 1) << 1) << (2 * r);
        return found;
    };
    // The corners whose label is that of the first chosen one, as bits.
    auto case_of = [&](const auto* corner, int some) -> int {
        int first = 0, found = 0;
        while (!(some >> first & 1)) ++first;
        for (int c = 0; c < 8; ++c) found |= (corner[c] == corner[first]) << c;
        return found;
    };
    auto read_corners = [&](const auto* from, auto* corner) {
        for (int c = 0; c < 8; ++c)
            corner[c] = from[(c & 1) + (c >> 1 & 1) * grid.row + (c >> 2 & 1) * grid.plane];
    };
"""
)


@wp.func_native(
    WALK
    + """
    int counts[3] = {0, 0, 0}, triangle_count = 0;
    auto body = [&](const auto* voxels) {
        const auto* from = voxels + z * grid.plane + y * grid.row;
        auto first_voxel = from[0];
        for (int w = begin; w < end; ++w) {
            const Word cuts[3] = {x_cuts[0][w], y_cuts[0][w], z_cuts[0][w]};
            const Word far[3] = {next_of(chosen[0], w), chosen[1][w], chosen[2][w]};
            for (int axis = 0; axis < 3; ++axis)
                if (cuts[axis]) counts[axis] += ones(cuts[axis] & chosen[0][w]) + ones(cuts[axis] & far[axis]);
            for (Word left = cubes_of(w); left; left &= left - 1) {
                const int i = lowest(left);
                decltype(first_voxel) corner[8];
                read_corners(from + 64 * w + i, corner);
                for (int some = chosen_at(w, i); some;) {
                    const int number = case_of(corner, some);
                    some &= ~number;
                    triangle_count += triangles_of.data[number];
                }
            }
        }
    };
"""
    + SWITCH
    + """
    for (int axis = 0; axis < 3; ++axis) edges.data[place(z, y, axis)] = counts[axis];
    triangles.data[((long long)z * ny + y) * spans + span] = triangle_count;
"""
)
def count_span(
    grid: LabelGrid,
    z: wp.int32,
    y: wp.int32,
    span: wp.int32,
    bits: wp.array(dtype=wp.uint64),
    triangles_of: wp.array(dtype=wp.uint8),
    edges: wp.array(dtype=wp.int32),
    triangles: wp.array(dtype=wp.int32),
):
    """How many vertices the edges that begin in a span have, and how many triangles its cubes."""
    ...


@wp.func_native(
    WALK
    + """
    auto first_of = [&](int plane, int row, int axis) -> int { return (int)starts.data[place(plane, row, axis)]; };
    const int behind = z + has_behind, below = y + has_below;
    int x_at[4] = {first_of(z, y, 0), first_of(z, below, 0), first_of(behind, y, 0), first_of(behind, below, 0)};
    int y_at[2] = {first_of(z, y, 1), first_of(behind, y, 1)};
    int z_at[2] = {first_of(z, y, 2), first_of(z, below, 2)};
    long long out = triangle_starts.data[((long long)z * ny + y) * spans + span];
    auto body = [&](const auto* voxels) {
        const auto* from = voxels + z * grid.plane + y * grid.row;
        auto first_voxel = from[0];
        long long vertex[3] = {x_at[0], y_at[0], z_at[0]};
        auto write = [&](int axis, int x, long long step, bool is_near, bool is_far) {
            double at[3] = {(double)(grid.start[0] + x), (double)(grid.start[1] + y), (double)(grid.start[2] + z)};
            at[axis] += 0.5;
            for (int end_of = 0; end_of < 2; ++end_of) {
                if (!(end_of ? is_far : is_near)) continue;
                for (int i = 0; i < 3; ++i) vertices.data[3 * vertex[axis] + i] = (float)(at[i] * grid.spacing[i]);
                vertex_labels.data[vertex[axis]++] = number_of(from[x + end_of * step]);
            }
        };
        for (int w = begin; w < end; ++w) {
            const Word cuts[3] = {x_cuts[0][w], y_cuts[0][w], z_cuts[0][w]};
            const Word far[3] = {next_of(chosen[0], w), chosen[1][w], chosen[2][w]};
            const long long steps[3] = {1, grid.row, grid.plane};
            for (int axis = 0; axis < 3; ++axis)
                for (Word left = cuts[axis]; left; left &= left - 1) {
                    const int i = lowest(left);
                    write(axis, 64 * w + i, steps[axis], chosen[0][w] >> i & 1, far[axis] >> i & 1);
                }
            for (Word left = cubes_of(w); left; left &= left - 1) {
                const int i = lowest(left), all = chosen_at(w, i);
                decltype(first_voxel) corner[8];
                read_corners(from + 64 * w + i, corner);
                auto vertices_on = [&](int a, int b) -> int {
                    return corner[a] != corner[b] ? (all >> a & 1) + (all >> b & 1) : 0;
                };
                // In the order of cube_cases.EDGES: the first vertex on each, and its lower corner.
                const int edge[12] = {
                    x_at[0], x_at[1], x_at[2], x_at[3],
                    y_at[0], y_at[0] + vertices_on(0, 2), y_at[1], y_at[1] + vertices_on(4, 6),
                    z_at[0], z_at[0] + vertices_on(0, 4), z_at[1], z_at[1] + vertices_on(2, 6),
                };
                const int lower[12] = {0, 2, 4, 6, 0, 1, 4, 5, 0, 1, 2, 3};
                for (int some = all; some;) {
                    const int number = case_of(corner, some);
                    int owner = 0;
                    while (!((some & number) >> owner & 1)) ++owner;
                    some &= ~number;
                    const int label = number_of(corner[owner]);
                    const signed char* listed = table.data + number * table.shape[1];
                    for (int t = 0; t < triangles_of.data[number]; ++t) {
                        for (int k = 3 * t; k < 3 * t + 3; ++k) {
                            const int e = listed[k];
                            // At the lower end another label has the first vertex of the edge, if it is chosen.
                            const bool is_second = (all & ~number) >> lower[e] & 1;
                            triangles.data[3 * out + k % 3] = edge[e] + is_second;
                        }
                        triangle_labels.data[out++] = label;
                    }
                }
                for (int r = 0; r < 4; ++r) x_at[r] += vertices_on(2 * r, 2 * r + 1);
                y_at[0] += vertices_on(0, 2), y_at[1] += vertices_on(4, 6);
                z_at[0] += vertices_on(0, 4), z_at[1] += vertices_on(2, 6);
            }
        }
    };
"""
    + SWITCH
)
def make_span(
    grid: LabelGrid,
    z: wp.int32,
    y: wp.int32,
    span: wp.int32,
    bits: wp.array(dtype=wp.uint64),
    triangles_of: wp.array(dtype=wp.uint8),
    table: wp.array2d(dtype=wp.int8),
    starts: wp.array(dtype=wp.int64),
    triangle_starts: wp.array(dtype=wp.int64),
    vertices: wp.array(dtype=wp.float32),
    vertex_labels: wp.array(dtype=wp.int32),
    triangles: wp.array(dtype=wp.int32),
    triangle_labels: wp.array(dtype=wp.int32),
):
    """The vertices on edges that begin in a span and the triangles of its cubes, and the number of each one's label."""
    ...


@wp.kernel(enable_backward=False)
def label_chosen(first: wp.int32, grid: LabelGrid, bits: wp.array(dtype=wp.uint64)):
    z, y, span = wp.tid()
    find_chosen(grid, z + first, y, span, bits)


@wp.kernel(enable_backward=False)
def label_cuts(first: wp.int32, grid: LabelGrid, bits: wp.array(dtype=wp.uint64)):
    z, y, span = wp.tid()
    find_cuts(grid, z + first, y, span, bits)


@wp.kernel(enable_backward=False)
def label_counts(
    first: wp.int32,
    grid: LabelGrid,
    bits: wp.array(dtype=wp.uint64),
    triangles_of: wp.array(dtype=wp.uint8),
    edges: wp.array(dtype=wp.int32),
    triangles: wp.array(dtype=wp.int32),
):
    z, y, span = wp.tid()
    count_span(grid, z + first, y, span, bits, triangles_of, edges, triangles)


@wp.kernel(enable_backward=False)
def label_parts(
    first: wp.int32,
    grid: LabelGrid,
    bits: wp.array(dtype=wp.uint64),
    triangles_of: wp.array(dtype=wp.uint8),
    table: wp.array2d(dtype=wp.int8),
    starts: wp.array(dtype=wp.int64),
    triangle_starts: wp.array(dtype=wp.int64),
    vertices: wp.array(dtype=wp.float32),
    vertex_labels: wp.array(dtype=wp.int32),
    triangles: wp.array(dtype=wp.int32),
    triangle_labels: wp.array(dtype=wp.int32),
):
    z, y, span = wp.tid()
    make_span(
        grid, z + first, y, span, bits, triangles_of, table, starts, triangle_starts,
        vertices, vertex_labels, triangles, triangle_labels,
    )  # fmt: skip
