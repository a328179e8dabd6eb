"""Vertices and triangles of many surfaces, put in order of their surfaces.

Here: the kernels.
Not here: sorting (device.primitive_ops), running them (label_surfaces).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp


@wp.kernel(enable_backward=False)
def group_bounds(
    first: wp.int32,
    owners: wp.array(dtype=wp.int32),
    order: wp.array(dtype=wp.int64),
    bounds: wp.array2d(dtype=wp.int64),
):
    """Where each owner's parts begin and end, in order."""
    i = wp.tid() + first
    owner = owners[order[i]]
    if i == 0 or owners[order[i - 1]] != owner:
        bounds[owner, 0] = wp.int64(i)
    if i + 1 == order.shape[0] or owners[order[i + 1]] != owner:
        bounds[owner, 1] = wp.int64(i + 1)


@wp.kernel(enable_backward=False)
def move_vertices(
    first: wp.int32,
    vertices: wp.array2d(dtype=wp.float32),
    owners: wp.array(dtype=wp.int32),
    order: wp.array(dtype=wp.int64),
    bounds: wp.array2d(dtype=wp.int64),
    moved: wp.array2d(dtype=wp.float32),
    numbers: wp.array(dtype=wp.int32),
):
    """numbers: of each vertex, its place among those of its owner."""
    i = wp.tid() + first
    source = order[i]
    for axis in range(3):
        moved[i, axis] = vertices[source, axis]
    numbers[source] = wp.int32(wp.int64(i) - bounds[owners[source], 0])


@wp.kernel(enable_backward=False)
def move_triangles(
    first: wp.int32,
    triangles: wp.array2d(dtype=wp.int32),
    order: wp.array(dtype=wp.int64),
    numbers: wp.array(dtype=wp.int32),
    moved: wp.array2d(dtype=wp.int32),
):
    i = wp.tid() + first
    source = order[i]
    for corner in range(3):
        moved[i, corner] = numbers[triangles[source, corner]]
