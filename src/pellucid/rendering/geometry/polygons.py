"""Polygons as triangles, and arrays in pieces: what all mesh formats need.

Here: fans, welding of equal corners, pieces of long arrays.
Not here: any format (ply, obj, stl, vtp).
"""

from collections.abc import Iterator

import numpy as np

from pellucid.formats.protocol import Voxels

PIECE = 2**20


def fans(corners: Voxels, counts: Voxels) -> Voxels:
    """Triangles (m, 3) of polygons: counts (k,) of corners each, corners one after the other.

    >>> fans(np.array([5, 6, 7, 8, 0, 1, 2]), np.array([4, 3])).tolist()
    [[5, 6, 7], [5, 7, 8], [0, 1, 2]]
    """
    if len(counts) and int(counts.min()) == int(counts.max()) == 3:
        return corners.reshape(-1, 3)
    counts = np.asarray(counts, np.int64)
    per_polygon = np.maximum(counts - 2, 0)
    first = np.repeat(np.cumsum(counts) - counts, per_polygon)
    start = np.repeat(np.cumsum(per_polygon) - per_polygon, per_polygon)
    second = first + 1 + np.arange(int(per_polygon.sum())) - start
    triangles: Voxels = np.stack([corners[first], corners[second], corners[second + 1]], axis=1)
    return triangles


def weld(corners: Voxels) -> tuple[Voxels, Voxels]:
    """Vertices (n, 3) and triangles (m, 3) from the corners (3 m, 3) of triangles: bit-equal corners become one.

    Vertices keep the order in which they come first.
    """
    corners = np.ascontiguousarray(corners, np.float32) + np.float32(0)  # -0 becomes 0: they are one place
    rows = corners.view(np.dtype((np.void, 12))).ravel()
    _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return corners[first[order]], rank[inverse].reshape(-1, 3)


def pieces(array: Voxels) -> Iterator[Voxels]:
    """A long array, a piece at a time."""
    for start in range(0, len(array), PIECE):
        yield array[start : start + PIECE]
