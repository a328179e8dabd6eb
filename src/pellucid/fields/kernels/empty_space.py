"""Empty-space skipping: the distance from every cell to the nearest visible one.

Here: the kernel of one axis; three of them make the distance (in device_field); cells that a surface may pass.
Not here: cells that a transfer function shows (sampling.find_occupied), rays that leap over the others (rendering).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

MAX_DISTANCE = 31
"""Cells beyond which the distance is not counted on: a ray leaps at most so far at once."""

MAX_STEPS = wp.constant(MAX_DISTANCE)


@wp.kernel(enable_backward=False)
def begin(first: wp.int32, cells: wp.array3d(dtype=wp.uint8), most: wp.int32, distance: wp.array3d(dtype=wp.uint8)):
    """No distance where a cell is not 0, the largest that counts where it is."""
    z, y, x = wp.tid()
    z += first
    distance[z, y, x] = wp.uint8(wp.where(cells[z, y, x] == wp.uint8(0), most, 0))


@wp.kernel(enable_backward=False)
def find_passed(
    first: wp.int32,
    ranges: wp.array3d(dtype=wp.vec2),
    levels: wp.array(dtype=wp.float32),
    passed: wp.array3d(dtype=wp.uint8),
):
    """Which cells hold one of the levels between their lowest and highest value."""
    z, y, x = wp.tid()
    z += first
    found = wp.int32(0)
    for i in range(levels.shape[0]):
        if ranges[z, y, x][0] <= levels[i] and ranges[z, y, x][1] >= levels[i]:
            found = 1
    passed[z, y, x] = wp.uint8(found)


@wp.kernel(enable_backward=False)
def spread(
    first: wp.int32,
    axis: wp.int32,
    before: wp.array3d(dtype=wp.uint8),
    after: wp.array3d(dtype=wp.uint8),
):
    """The smallest distance along an axis: the larger of the way along it and of what is left at its end."""
    z, y, x = wp.tid()
    z += first
    cell = wp.vec3i(z, y, x)
    nearest = wp.int32(before[z, y, x])
    way = wp.int32(1)
    while way < nearest and way < MAX_STEPS:
        for side in range(2):
            at = cell
            at[axis] = cell[axis] + way * (2 * side - 1)
            if at[axis] >= 0 and at[axis] < before.shape[axis]:
                nearest = wp.min(nearest, wp.max(way, wp.int32(before[at[0], at[1], at[2]])))
        way += 1
    after[z, y, x] = wp.uint8(nearest)


@wp.func_native(
    f"constexpr int MAX_STEPS = {MAX_DISTANCE};"
    """
    constexpr int TOGETHER = 256;
    const int nz = before.shape[0], ny = before.shape[1], nx = before.shape[2];
    const int at = axis == 0 ? z : y, length = axis == 0 ? nz : ny;
    const long long stride = axis == 0 ? (long long)(ny) * nx : nx;
    const unsigned char* row = before.data + ((long long)(z) * ny + y) * nx;
    for (int first = 0; first < nx; first += TOGETHER) {
        const int count = wp::min(TOGETHER, nx - first);
        unsigned char nearest[TOGETHER];
        for (int i = 0; i < count; ++i) nearest[i] = row[first + i];
        for (int way = 1; way < MAX_STEPS; ++way) {
            unsigned char largest = 0;
            for (int i = 0; i < count; ++i) largest = nearest[i] > largest ? nearest[i] : largest;
            if (largest <= way) break;  // Nothing that is farther away is nearer.
            for (int side = -way; side <= way; side += 2 * way) {
                int begin = 0, end = count;
                if (axis == 2) begin = wp::max(0, -(first + side)), end = wp::min(count, nx - first - side);
                else if (at + side < 0 || at + side >= length) continue;
                const unsigned char* other = row + first + (axis == 2 ? side : side * stride);
                const unsigned char here = (unsigned char)(way);
                for (int i = begin; i < end; ++i) {
                    const unsigned char there = other[i] > here ? other[i] : here;
                    nearest[i] = there < nearest[i] ? there : nearest[i];
                }
            }
        }
        for (int i = 0; i < count; ++i) after.data[((long long)(z) * ny + y) * nx + first + i] = nearest[i];
    }
"""
)
def spread_row(
    axis: wp.int32,
    z: wp.int32,
    y: wp.int32,
    before: wp.array3d(dtype=wp.uint8),
    after: wp.array3d(dtype=wp.uint8),
): ...


@wp.kernel(enable_backward=False)
def spread_rows(
    first: wp.int32,
    axis: wp.int32,
    before: wp.array3d(dtype=wp.uint8),
    after: wp.array3d(dtype=wp.uint8),
):
    """The same as spread, a row of cells at once: what a CPU does many of in one instruction."""
    z, y = wp.tid()
    spread_row(axis, z + first, y, before, after)


@wp.kernel(enable_backward=False)
def find_steep(
    first: wp.int32,
    ranges: wp.array3d(dtype=wp.vec2),
    least_change: wp.float32,
    vacancy: wp.array3d(dtype=wp.uint8),
    occupied: wp.array3d(dtype=wp.uint8),
):
    """Cells with visible values, in and around which values differ by ``least_change``: gradients reach so far."""
    z, y, x = wp.tid()
    z += first
    span = ranges[z, y, x]
    for n in range(27):
        k = wp.clamp(z + n // 9 - 1, 0, ranges.shape[0] - 1)
        j = wp.clamp(y + (n // 3) % 3 - 1, 0, ranges.shape[1] - 1)
        i = wp.clamp(x + n % 3 - 1, 0, ranges.shape[2] - 1)
        span = wp.vec2(wp.min(span[0], ranges[k, j, i][0]), wp.max(span[1], ranges[k, j, i][1]))
    is_steep = vacancy[z, y, x] == wp.uint8(0) and span[1] - span[0] >= least_change
    occupied[z, y, x] = wp.uint8(wp.where(is_steep, 1, 0))
