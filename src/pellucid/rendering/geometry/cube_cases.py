"""How a surface passes through a cube, for all 256 ways in which its corners can lie inside or outside.

Here: the table of triangles, worked out from the cube itself.
Not here: cubes of a volume (isosurfaces).

Corner c lies at (c & 1, c >> 1 & 1, c >> 2 & 1) along (x, y, z). An edge leaves its lower corner along one axis.
On every face the surface cuts inside corners off one by one, so that two cubes that share a face agree on it and the
surface has no hole. No triangle has a side that runs within a face unless the surface cuts the face there, so that no
side has more than two triangles.
"""

from functools import cache

import numpy as np

from pellucid.formats.protocol import Voxels

EDGES = tuple((corner, axis) for axis in range(3) for corner in range(8) if not corner >> axis & 1)
"""(lower corner, axis) of the twelve edges."""

Triangle = tuple[int, int, int]


@cache
def triangle_table() -> tuple[Voxels, Voxels]:
    """How many triangles each case has (256,), and the edges on which their corners lie (256, most, 3).

    Counter-clockwise seen from outside. Bit c of the case: corner c is inside.
    """
    cases = [_triangles(case) for case in range(256)]
    counts = np.array([len(case) for case in cases], np.uint8)
    table = np.zeros((256, int(counts.max()), 3), np.int8)
    for case, triangles in enumerate(cases):
        if triangles:
            table[case, : len(triangles)] = triangles
    return counts, table


def _triangles(case: int) -> list[Triangle]:
    following: dict[int, int] = {}
    for face in _faces():
        following |= _cuts(face, case)
    found: list[Triangle] = []
    while following:
        start, after = following.popitem()
        loop = [start]
        while after != start:
            loop.append(after)
            after = following.pop(after)
        found += _cut_loop(loop)
    return found


@cache
def _faces() -> tuple[tuple[int, int, int, int], ...]:
    """The corners of every face, counter-clockwise seen from outside the cube."""
    found = []
    for axis in range(3):
        a, b = 1 << (axis + 1) % 3, 1 << (axis + 2) % 3
        found.append((0, b, a + b, a))
        far = 1 << axis
        found.append((far, far + a, far + a + b, far + b))
    return tuple(found)


def _cuts(face: tuple[int, int, int, int], case: int) -> dict[int, int]:
    """Where the surface cuts a face: from edge to edge, around every run of inside corners."""
    is_inside = [bool(case >> corner & 1) for corner in face]
    sides = [_edge(face[i], face[(i + 1) % 4]) for i in range(4)]
    cuts = {}
    for i in range(4):
        if not is_inside[i] and is_inside[(i + 1) % 4]:
            end = next(j for j in range(i + 1, i + 5) if is_inside[j % 4] and not is_inside[(j + 1) % 4])
            cuts[sides[i]] = sides[end % 4]
    return cuts


def _edge(one: int, other: int) -> int:
    return EDGES.index((min(one, other), (one ^ other).bit_length() - 1))


def _cut_loop(loop: list[int]) -> list[Triangle]:
    """A loop of edges as triangles none of whose diagonals runs within a face."""
    if len(loop) == 3:
        return [(loop[0], loop[1], loop[2])]
    for i in range(1, len(loop) - 1):
        ears = [(loop[0], loop[i]), (loop[i], loop[-1])]
        if all(_is_side(loop, ear) or not _share_a_face(*ear) for ear in ears):
            parts = [part for part in (loop[: i + 1], loop[i:]) if len(part) > 2]
            try:
                return [(loop[0], loop[i], loop[-1]), *(t for part in parts for t in _cut_loop(part))]
            except ValueError:
                continue
    raise ValueError(f"no way to cut {loop}")


def _is_side(loop: list[int], pair: tuple[int, int]) -> bool:
    places = sorted(loop.index(edge) for edge in pair)
    return places[1] - places[0] in (1, len(loop) - 1)


def _share_a_face(one: int, other: int) -> bool:
    def corners(edge: int) -> set[int]:
        corner, axis = EDGES[edge]
        return {corner, corner | 1 << axis}

    return any(corners(one) | corners(other) <= set(face) for face in _faces())
