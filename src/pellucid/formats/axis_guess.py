"""Arrays whose axes have no names, and axes of length 0.

Here: the one guess for unnamed axes, and the one refusal of empty ones, for all formats.
Not here: axes that a file names (each format reads its own names).
"""

from collections.abc import Sequence

from pellucid.errors import WrongDimensions

_UNNAMED = {3: "zyx", 4: "tzyx", 5: "tczyx"}


def unnamed_letters(path: str, shape: Sequence[int]) -> str:
    """A letter for every axis, slowest first: a fourth axis before (z, y, x) is time, of two the second is channel.

    >>> unnamed_letters("a.npy", (10, 3, 4, 5))
    'tzyx'
    """
    if len(shape) not in _UNNAMED:
        raise WrongDimensions(path, shape)
    return _UNNAMED[len(shape)]


def refuse_empty_axes(path: str, shape: Sequence[int]) -> None:
    """Raise where an axis has no length: there is no voxel to show, and no chunk that could hold one."""
    if any(length < 1 for length in shape):
        raise WrongDimensions(f"{path} has an empty axis: it", shape)
