"""Reading voxels in a kernel: values and gradients between them, and the range of every cell.

Here: Warp functions over a field, whole or in bricks, and the kernels that find value ranges and visible cells.
Not here: who owns the memory (dense, bricks), what is done with the values (rendering).

One compiled kernel serves every voxel type, and fields that are whole as well as fields in bricks: the type is an
argument, switched on once per sample, and where the voxels lie is looked up once per cell (``locate``).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.sizes import APRON, BRICK, BRICK_SHIFT, CELL, EXACT, PADDED, TEXTURED
from pellucid.fields.textures import cpp_snippets

SWITCH = """
    switch (grid.kind) {
        case 0: return body((const unsigned char*)grid.voxels);
        case 1: return body((const signed char*)grid.voxels);
        case 2: return body((const unsigned short*)grid.voxels);
        case 3: return body((const short*)grid.voxels);
        case 4: return body((const wp::half*)grid.voxels);
        default: return body((const float*)grid.voxels);
    }
"""

_CORNER = """
    const int nx = grid.shape[0], ny = grid.shape[1], nz = grid.shape[2];
    auto inside = [&](int axis) -> float {
        return wp::min(wp::max(at[axis] * grid.scale[axis] + grid.shift[axis], grid.low[axis]), grid.high[axis]);
    };
    const float x = inside(0), y = inside(1), z = inside(2);
    const int i = wp::min((int)(x), grid.last[0]), j = wp::min((int)(y), grid.last[1]),
              k = wp::min((int)(z), grid.last[2]);
    const float u = x - i, v = y - j, w = z - k;
    const long long row = grid.row, plane = grid.plane;
"""


@wp.struct
class Grid:
    """Voxels that lie in memory as one array, or a brick of them.

    voxels: address that voxel (0, 0, 0) has, or would have if it were in the brick; kind: of VOXEL_KINDS; shape: voxels
    along (x, y, z); row, plane: voxels from one to the next; low, high: between which there are voxels to interpolate,
    last: the last lower corner there; scale, shift: from coordinates of the field (at full resolution) to the grid's.

    Where kind is TEXTURED, voxels is a texture on CUDA, and low, high, scale and shift are in its coordinates, 0.5 in
    the middle of the first voxel; in a field in bricks row and plane count slots.
    """

    voxels: wp.uint64
    kind: wp.int32
    shape: wp.vec3i
    row: wp.int64
    plane: wp.int64
    last: wp.vec3i
    low: wp.vec3
    high: wp.vec3
    scale: wp.vec3
    shift: wp.vec3


@wp.struct
class BrickLevel:
    """One resolution of a field in bricks. halvings: how often each of (x, y, z) was halved; shape: voxels; bricks: how
    many along (x, y, z); first_page: where its part of the page table begins."""

    halvings: wp.vec3i
    shape: wp.vec3i
    bricks: wp.vec3i
    first_page: wp.int32


@wp.struct
class FieldStruct:
    """Something that has a value everywhere. shape: voxels along (x, y, z) at full resolution.

    whole: its voxels where they are one array; else levels has entries, finest first, and pages says for every brick
    which slot of the pool (whose address is whole.voxels) holds it, -1 where none does. wanted: how much rays saw of
    each brick of level 0, whether it was there or not.
    """

    shape: wp.vec3i
    whole: Grid
    levels: wp.array(dtype=BrickLevel)
    pages: wp.array(dtype=wp.int32)
    wanted: wp.array(dtype=wp.float32)


@wp.func_native("return 1 << halvings;")
def power_of_two(halvings: wp.int32) -> wp.int32:
    return 0


@wp.func_native(
    """
    static const int bytes[] = {1, 1, 2, 2, 2, 4};
    return pool + bytes[kind] * ((long long)(slot) * stride + start);
"""
)
def brick_address(pool: wp.uint64, kind: wp.int32, slot: wp.int32, stride: wp.int64, start: wp.int64) -> wp.uint64:
    """Where the voxel (0, 0, 0) of a level would be, were it in the brick; ``start``: from the slot's first voxel."""
    return wp.uint64(0)


@wp.func
def in_slot(grid: Grid, pool: Grid, brick: wp.vec3i, slot: wp.int32):
    """A brick's grid, moved from the coordinates of its level to those of the texture that holds the pool."""
    across = wp.int32(pool.row)
    layer = wp.int32(pool.plane)
    place = wp.vec3i(slot % across, (slot % layer) // across, slot // layer)
    for axis in range(3):
        offset = wp.float32(place[axis] * PADDED + APRON - brick[axis] * BRICK) + 0.5
        grid.shift[axis] = grid.shift[axis] + offset
        grid.low[axis] = grid.low[axis] + offset
        grid.high[axis] = grid.high[axis] + offset
    return grid


@wp.func
def brick_grid(field: FieldStruct, level: BrickLevel, brick: wp.vec3i, slot: wp.int32):
    """The brick in a slot of the pool, addressed in the coordinates of the whole field."""
    grid = Grid()
    grid.kind = field.whole.kind
    grid.voxels = field.whole.voxels
    grid.shape = level.shape
    grid.row = wp.int64(PADDED)
    grid.plane = wp.int64(PADDED * PADDED)
    for axis in range(3):
        low = brick[axis] * BRICK - 1
        grid.last[axis] = wp.max(wp.min(low + BRICK, level.shape[axis] - 2), 0)
        grid.low[axis] = wp.float32(wp.max(low, 0))
        grid.high[axis] = wp.float32(wp.min(grid.last[axis] + 1, level.shape[axis] - 1))
        grid.scale[axis] = 1.0 / wp.float32(power_of_two(level.halvings[axis]))
        grid.shift[axis] = 0.5 * grid.scale[axis] - 0.5
    if grid.kind >= TEXTURED:
        return in_slot(grid, field.whole, brick, slot)
    x = wp.int64(APRON - brick[0] * BRICK)
    y = wp.int64(APRON - brick[1] * BRICK)
    z = wp.int64(APRON - brick[2] * BRICK)
    start = z * grid.plane + y * grid.row + x
    grid.voxels = brick_address(grid.voxels, grid.kind, slot, wp.int64(PADDED * PADDED * PADDED), start)
    return grid


@wp.func
def locate(field: FieldStruct, cell: wp.vec3i, weight: wp.float32):
    """The voxels to sample inside a cell: of the finest level that is there.

    weight: how much a ray sees of it; if more than 0, the brick is wanted at full resolution. Where nothing is there
    (which a field in bricks never lets happen: its coarsest level stays) the kind is -1.
    """
    if weight > 0.0:
        x = cell[0] * CELL >> BRICK_SHIFT
        y = cell[1] * CELL >> BRICK_SHIFT
        z = cell[2] * CELL >> BRICK_SHIFT
        across = (field.shape[0] + BRICK - 1) >> BRICK_SHIFT
        down = (field.shape[1] + BRICK - 1) >> BRICK_SHIFT
        wp.atomic_add(field.wanted, (z * down + y) * across + x, weight)
    if field.levels.shape[0] == 0:
        return field.whole
    found = Grid()
    slot = wp.int32(-1)
    for i in range(field.levels.shape[0]):
        if slot < 0:
            level = field.levels[i]
            x = cell[0] * CELL >> (level.halvings[0] + BRICK_SHIFT)
            y = cell[1] * CELL >> (level.halvings[1] + BRICK_SHIFT)
            z = cell[2] * CELL >> (level.halvings[2] + BRICK_SHIFT)
            page = level.first_page + (z * level.bricks[1] + y) * level.bricks[0] + x
            slot = field.pages[page]
            if slot >= 0:
                found = brick_grid(field, level, wp.vec3i(x, y, z), slot)
    return found


@wp.func
def cell_at(field: FieldStruct, at: wp.vec3):
    """The cell that a point in voxel coordinates lies in; outside the field, the nearest."""
    cell = wp.vec3i()
    for axis in range(3):
        cell[axis] = wp.clamp(wp.int32((at[axis] + 0.5) / wp.float32(CELL)), 0, (field.shape[axis] - 1) // CELL)
    return cell


@wp.func_native(
    cpp_snippets.VALUE
    + _CORNER
    + """
    const long long first = k * plane + j * row + i;
    const long long dx = nx > 1, dy = ny > 1 ? row : 0, dz = nz > 1 ? plane : 0;
    auto body = [&](const auto* s) -> float {
        s += first;
        const float a = (float)(s[0]) + ((float)(s[dx]) - (float)(s[0])) * u;
        const float b = (float)(s[dy]) + ((float)(s[dy + dx]) - (float)(s[dy])) * u;
        const float c = (float)(s[dz]) + ((float)(s[dz + dx]) - (float)(s[dz])) * u;
        const float d = (float)(s[dz + dy]) + ((float)(s[dz + dy + dx]) - (float)(s[dz + dy])) * u;
        const float e = a + (b - a) * v, f = c + (d - c) * v;
        return e + (f - e) * w;
    };
"""
    + SWITCH
)
def value_in(grid: Grid, at: wp.vec3) -> wp.float32:
    """The value at a point in voxel coordinates (x, y, z), trilinear; outside, the nearest voxel's."""
    return 0.0


@wp.func_native(
    cpp_snippets.GRADIENT
    + _CORNER
    + """
    long long X[4], Y[4], Z[4];
    for (int n = 0; n < 4; ++n) {
        X[n] = wp::min(wp::max(i + n - 1, 0), nx - 1);
        Y[n] = row * wp::min(wp::max(j + n - 1, 0), ny - 1);
        Z[n] = plane * wp::min(wp::max(k + n - 1, 0), nz - 1);
    }
    auto body = [&](const auto* s) -> wp::vec3 {
        auto along = [&](const auto* r, int a) -> float {
            return (float)(r[X[a]]) * (1.0f - u) + (float)(r[X[a + 1]]) * u;
        };
        auto plane = [&](const auto* p, int a, int b) -> float {
            return along(p + Y[b], a) * (1.0f - v) + along(p + Y[b + 1], a) * v;
        };
        auto cell = [&](int a, int b, int c) -> float {
            return plane(s + Z[c], a, b) * (1.0f - w) + plane(s + Z[c + 1], a, b) * w;
        };
        const float gx = cell(2, 1, 1) - cell(0, 1, 1), gy = cell(1, 2, 1) - cell(1, 0, 1);
        const float gz = cell(1, 1, 2) - cell(1, 1, 0);
        return wp::vec3(gx * grid.scale[0], gy * grid.scale[1], gz * grid.scale[2]) * 0.5f;
    };
"""
    + SWITCH
)
def gradient_in(grid: Grid, at: wp.vec3) -> wp.vec3:
    """Change of the value per voxel along (x, y, z): central differences of trilinear values, one voxel apart."""
    return wp.vec3()


@wp.func
def exactly(grid: Grid):
    """The same voxels, read with weights in full also where they are a texture."""
    exact = grid
    if grid.kind >= TEXTURED:
        exact.kind = wp.int32(grid.kind | EXACT)
    return exact


@wp.func
def sample(field: FieldStruct, at: wp.vec3):
    """The value at a point, from whatever level is there; asks for nothing better."""
    return value_in(locate(field, cell_at(field, at), 0.0), at)


@wp.func
def gradient(field: FieldStruct, at: wp.vec3):
    """The gradient at a point, from whatever level is there; asks for nothing better."""
    return gradient_in(locate(field, cell_at(field, at), 0.0), at)


@wp.func_native(
    """
    const int nx = grid.shape[0], ny = grid.shape[1], nz = grid.shape[2];
    const int x0 = wp::max(cell[0] * edge - 1, 0), x1 = wp::min((cell[0] + 1) * edge + 1, nx);
    const int y0 = wp::max(cell[1] * edge - 1, 0), y1 = wp::min((cell[1] + 1) * edge + 1, ny);
    const int z0 = wp::max(cell[2] * edge - 1, 0), z1 = wp::min((cell[2] + 1) * edge + 1, nz);
    auto over = [&](auto voxel) -> wp::vec2 {
        float low = 3.4e38f, high = -3.4e38f;
        for (int z = z0; z < z1; ++z)
            for (int y = y0; y < y1; ++y)
                for (int x = x0; x < x1; ++x) {
                    const float value = voxel(x, y, z);
                    low = value < low ? value : low;
                    high = value > high ? value : high;
                    if (value != value) low = -3.4e38f;  // NaN is drawn like the lowest value
                }
        return wp::vec2(low, high);
    };
"""
    + cpp_snippets.where_textured(f"{cpp_snippets.VOXEL} return over(voxel);")
    + """
    auto body = [&](const auto* s) -> wp::vec2 {
        return over([&](int x, int y, int z) -> float { return (float)(s[(size_t(z) * ny + y) * nx + x]); });
    };
"""
    + SWITCH
)
def cell_range(grid: Grid, cell: wp.vec3i, edge: wp.int32) -> wp.vec2:
    """Lowest and highest value that a sample inside a cell can have: its voxels and one around them."""
    return wp.vec2()


@wp.kernel(enable_backward=False)
def find_ranges(first: wp.int32, grid: Grid, edge: wp.int32, start: wp.vec3i, ranges: wp.array3d(dtype=wp.vec2)):
    """The range of every cell from ``start`` (x, y, z) on."""
    z, y, x = wp.tid()
    cell = wp.vec3i(x, y, z + first) + start
    ranges[cell[2], cell[1], cell[0]] = cell_range(grid, cell, edge)


@wp.kernel(enable_backward=False)
def find_occupied(
    first: wp.int32,
    ranges: wp.array3d(dtype=wp.vec2),
    low: wp.float32,
    scale: wp.float32,
    visible_below: wp.array(dtype=wp.int32),
    occupied: wp.array3d(dtype=wp.uint8),
):
    """Which cells hold a value that is visible; visible_below[i] counts the visible rows of the table before row i."""
    z, y, x = wp.tid()
    z += first
    lowest = table_row(ranges[z, y, x][0], low, scale, visible_below.shape[0] - 1)
    highest = table_row(ranges[z, y, x][1], low, scale, visible_below.shape[0] - 1)
    occupied[z, y, x] = wp.uint8(wp.where(visible_below[highest + 1] > visible_below[lowest], 1, 0))


@wp.func
def table_row(value: wp.float32, low: wp.float32, scale: wp.float32, rows: wp.int32):
    """The row of a transfer function's table for a value; the lowest row for NaN."""
    place = (value - low) * scale + 0.5
    place = wp.where(place > 0.0, place, 0.0)
    return wp.int32(wp.min(place, wp.float32(rows - 1)))
