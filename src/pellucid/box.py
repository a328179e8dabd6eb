"""Where voxels are: boxes in (z, y, x) order.

Here: Box and arithmetic on it.
Not here: voxels (volume), files (formats), millimetres (Volume.spacing).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from pellucid.errors import InvalidInput

Shape = tuple[int, int, int]


@dataclass(frozen=True, slots=True, order=True)
class Box:
    """A half-open region of voxels in (z, y, x) order: start is inside, stop is not.

    >>> box = Box((0, 0, 0), (2, 3, 4))
    >>> box.shape, box.size
    ((2, 3, 4), 24)
    """

    start: Shape
    stop: Shape

    @classmethod
    def whole(cls, shape: Shape) -> "Box":
        return cls((0, 0, 0), shape)

    @classmethod
    def parse(cls, text: str, shape: Shape) -> "Box":
        """Read ``z0:z1,y0:y1,x0:x1`` inside a volume of the given shape; an empty end means the border.

        >>> Box.parse("1:3,:,5:", (4, 5, 6))
        Box(start=(1, 0, 5), stop=(3, 5, 6))
        """
        parts = text.split(",")
        if len(parts) != 3:
            raise InvalidInput(f"Invalid box {text!r}.", remedy="Write three ranges: z0:z1,y0:y1,x0:x1.")
        ranges = [_parse_range(part, length) for part, length in zip(parts, shape, strict=True)]
        (z0, z1), (y0, y1), (x0, x1) = ranges
        return cls((z0, y0, x0), (z1, y1, x1))

    @property
    def shape(self) -> Shape:
        z, y, x = (max(0, stop - start) for start, stop in zip(self.start, self.stop, strict=True))
        return (z, y, x)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def is_empty(self) -> bool:
        return self.size == 0

    @property
    def slices(self) -> tuple[slice, slice, slice]:
        """Slices to index a NumPy array of the whole volume."""
        z, y, x = (slice(start, stop) for start, stop in zip(self.start, self.stop, strict=True))
        return (z, y, x)

    def intersect(self, other: "Box") -> "Box":
        """The part that both have in common; an empty box if there is none."""
        start = triple(max(a, b) for a, b in zip(self.start, other.start, strict=True))
        stop = triple(min(a, b) for a, b in zip(self.stop, other.stop, strict=True))
        return Box(start, triple(max(a, b) for a, b in zip(start, stop, strict=True)))

    def contains(self, other: "Box") -> bool:
        return all(a <= b for a, b in zip(self.start, other.start, strict=True)) and all(
            a >= b for a, b in zip(self.stop, other.stop, strict=True)
        )

    def shift(self, by: Shape) -> "Box":
        return Box(
            triple(map(sum, zip(self.start, by, strict=True))), triple(map(sum, zip(self.stop, by, strict=True)))
        )

    def relative_to(self, origin: Shape) -> "Box":
        """The same voxels, relative to ``origin``."""
        z, y, x = origin
        return self.shift((-z, -y, -x))

    def grow(self, by: Shape) -> "Box":
        """Extended by so many voxels on every side; it may reach outside the volume."""
        start = triple(a - b for a, b in zip(self.start, by, strict=True))
        return Box(start, triple(a + b for a, b in zip(self.stop, by, strict=True)))

    def tiles(self, tile: Shape) -> Iterator["Box"]:
        """The cells of the grid of ``tile`` (anchored at voxel 0) that touch this box, clipped to it, x fastest."""
        for cell in self.cells(tile):
            start = triple(i * n for i, n in zip(cell, tile, strict=True))
            yield Box(start, triple(a + n for a, n in zip(start, tile, strict=True))).intersect(self)

    def cells(self, tile: Shape) -> Iterator[Shape]:
        """Indices of the grid cells that touch this box, x fastest."""
        ranges = (
            range(start // n, -(-stop // n) if stop > start else start // n)
            for start, stop, n in zip(self.start, self.stop, tile, strict=True)
        )
        yield from (triple(cell) for cell in product(*ranges))

    def __str__(self) -> str:
        """The form that Box.parse reads."""
        return ",".join(f"{start}:{stop}" for start, stop in zip(self.start, self.stop, strict=True))


def grid_shape(shape: Shape, tile: Shape) -> Shape:
    """How many tiles cover a volume along each axis."""
    return triple(-(-n // t) for n, t in zip(shape, tile, strict=True))


def triple(numbers: Iterable[int]) -> Shape:
    """Three numbers along (z, y, x)."""
    z, y, x = numbers
    return (z, y, x)


def _parse_range(text: str, length: int) -> tuple[int, int]:
    start, colon, stop = text.strip().partition(":")
    try:
        first = int(start) if start else 0
        last = int(stop) if stop else (length if colon else first + 1)
    except ValueError:
        raise InvalidInput(f"Invalid range {text!r}.", remedy="Write start:stop with whole numbers.") from None
    if not 0 <= first < last <= length:
        raise InvalidInput(
            f"The range {text!r} is outside an axis of {length} voxels.",
            remedy=f"Write start:stop with 0 <= start < stop <= {length}.",
        )
    return first, last
