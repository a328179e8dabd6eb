"""Indexing: from the index of ``volume[...]`` to a Box and the axes of the result.

Here: box_of, axes_of.
Not here: reading it (volume).
"""

from contextlib import suppress
from operator import index as as_whole
from types import EllipsisType
from typing import Any

import numpy as np

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


def axes_of(index: Part | tuple[Part, ...]) -> tuple[slice | int, ...]:
    """The index into the voxels of the box that drops every axis given as a number, as NumPy, h5py and zarr do.

    >>> axes_of((slice(1, 3), ..., -1))
    (slice(None, None, None), slice(None, None, None), 0)
    """
    return tuple(slice(None) if isinstance(part, slice) else 0 for part in _three(index))


def _three(index: Part | tuple[Part, ...]) -> list[slice | int]:
    parts = list(index) if isinstance(index, tuple) else [index]
    gaps = [at for at, part in enumerate(parts) if part is ...]  # An array is equal to nothing in particular.
    if len(gaps) > 1 or len(parts) - len(gaps) > 3:
        raise InvalidInput(f"Invalid index {index!r}.", remedy="Index with a Box, or with [z, y, x].")
    at = gaps[0] if gaps else len(parts)
    missing = 3 - len(parts) + len(gaps)
    filled = [*parts[:at], *[slice(None)] * missing, *parts[at + 1 :]]
    return [part for part in filled if not isinstance(part, EllipsisType)]


def _ends(part: slice | int, length: int) -> tuple[int, int]:
    if isinstance(part, slice):
        start, stop, step = _slice_ends(part, length)
        if step != 1:
            raise InvalidInput(
                "Volumes cannot be indexed with a step.", remedy="Read a coarser level instead: volume.at_level(1)."
            )
        return start, stop
    position = _whole_number(part)
    position += length if position < 0 else 0
    return position, position + 1


def _slice_ends(part: slice, length: int) -> tuple[int, int, int]:
    try:
        return part.indices(length)
    except TypeError:
        raise InvalidInput(f"The limits of {part!r} are not whole numbers.", remedy="Round them first.") from None


def _whole_number(part: Any) -> int:
    """A position. 1.9 is none, and True would be taken for 1 where a mask was meant."""
    if not isinstance(part, (bool, np.bool_)):
        with suppress(TypeError):
            return as_whole(part)
    remedy = "Index with a Box, or with whole numbers and slices: [z, y, x]."
    raise InvalidInput(f"Invalid position {part!r}.", remedy=remedy)
