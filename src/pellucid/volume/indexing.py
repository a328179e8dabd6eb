"""Square brackets: from the index of ``volume[...]`` to a Box.

Here: box_of.
Not here: reading it (volume).
"""

from types import EllipsisType

from pellucid.box import Box, Shape
from pellucid.errors import InvalidInput

Part = slice | int | EllipsisType
Index = Box | Part | tuple[Part, ...]


def box_of(index: Part | tuple[Part, ...], shape: Shape) -> Box:
    """The voxels an index means; axes that are left out are taken whole.

    >>> box_of((slice(1, 3), ..., -1), (4, 5, 6))
    Box(start=(1, 0, 5), stop=(3, 5, 6))
    """
    (z0, z1), (y0, y1), (x0, x1) = (_ends(part, n) for part, n in zip(_three(index), shape, strict=True))
    return Box((z0, y0, x0), (z1, y1, x1))


def _three(index: Part | tuple[Part, ...]) -> list[slice | int]:
    parts = list(index) if isinstance(index, tuple) else [index]
    if parts.count(...) > 1 or len([part for part in parts if part is not ...]) > 3:
        raise InvalidInput(f"{index!r} is not a region of a volume.", do="Index with a Box, or with [z, y, x].")
    at = parts.index(...) if ... in parts else len(parts)
    missing = 3 - len(parts) + (... in parts)
    filled = [*parts[:at], *[slice(None)] * missing, *parts[at + 1 :]]
    return [part for part in filled if not isinstance(part, EllipsisType)]


def _ends(part: slice | int, length: int) -> tuple[int, int]:
    if isinstance(part, slice):
        start, stop, step = part.indices(length)
        if step != 1:
            raise InvalidInput("A volume is not read with a step.", do="Read a coarser level: volume.at_level(1).")
        return start, stop
    try:
        position = int(part)
    except (TypeError, ValueError):
        raise InvalidInput(f"{part!r} is no position.", do="Index with a Box, or with [z, y, x].") from None
    position += length if position < 0 else 0
    return position, position + 1
