"""How an HDF5 dataset is divided: axes, chunks, and which parts of them a box touches.

Here: Hdf5Axes, ChunkGrid, Overlap, and decoding one chunk with an error that names the file.
Not here: where chunks lie (chunks). No h5py, because worker processes that decode must start fast.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pellucid.box import Box, Shape
from pellucid.errors import Corrupted
from pellucid.formats.hdf5.filters import Bytes, Pipeline
from pellucid.formats.protocol import Voxels

ABSENT = -1  # the position of a chunk that was never written


@dataclass(frozen=True)
class Hdf5Axes:
    """Names of a dataset's axes, slowest first, and their lengths. ``letters`` holds z, y, x, and maybe t and c."""

    letters: str
    sizes: tuple[int, ...]

    def length(self, letter: str) -> int:
        return self.sizes[self.letters.index(letter)] if letter in self.letters else 1

    @property
    def shape(self) -> Shape:
        return (self.length("z"), self.length("y"), self.length("x"))

    @property
    def is_usual(self) -> bool:
        """Whether z, y, x come last and in this order."""
        return self.letters.endswith("zyx")

    @property
    def order(self) -> tuple[int, int, int]:
        """Where z, y and x are among the spatial axes as they are stored."""
        spatial = [letter for letter in self.letters if letter in "zyx"]
        return (spatial.index("z"), spatial.index("y"), spatial.index("x"))

    def spatial(self, numbers: tuple[int, ...]) -> Shape:
        """The (z, y, x) part of one number per stored axis."""
        z, y, x = (numbers[self.letters.index(letter)] for letter in "zyx")
        return (z, y, x)


@dataclass(frozen=True)
class Overlap:
    """A chunk and the part of it that is wanted. inside: counted from the chunk's corner; target: from the box's."""

    cell: tuple[int, ...]
    inside: Box
    target: Box
    picked: tuple[int, ...]  # indices inside the chunk along t and c, in stored order


@dataclass(frozen=True)
class ChunkGrid:
    """How a dataset is divided: its axes and the chunk's length along each."""

    axes: Hdf5Axes
    chunk: tuple[int, ...]

    def overlaps(self, box: Box, t: int = 0, c: int = 0) -> Iterator[Overlap]:
        """Every chunk that holds voxels of the box at that time and channel."""
        spatial = self.axes.spatial(self.chunk)
        chosen = {"t": t, "c": c}
        lengths = dict(zip(self.axes.letters, self.chunk, strict=True))
        picked = tuple(chosen[letter] % lengths[letter] for letter in self.axes.letters if letter in "tc")
        for z, y, x in box.cells(spatial):
            place = {"z": z, "y": y, "x": x, **{axis: chosen[axis] // lengths.get(axis, 1) for axis in "tc"}}
            corner: Shape = (z * spatial[0], y * spatial[1], x * spatial[2])
            part = Box.whole(spatial).shift(corner).intersect(box)
            cell = tuple(place[letter] for letter in self.axes.letters)
            yield Overlap(cell, part.relative_to(corner), part.relative_to(box.start), picked)

    def volume(self, chunk: Voxels, picked: tuple[int, ...]) -> Voxels:
        """The (z, y, x) view of a decoded chunk at the picked time and channel."""
        rest = iter(picked)
        index = tuple(next(rest) if letter in "tc" else slice(None) for letter in self.axes.letters)
        return chunk[index].transpose(self.axes.order)


def decoded(pipeline: Pipeline, stored: Bytes, mask: int, path: str) -> Bytes:
    """Voxel bytes of a chunk; Corrupted where the codec cannot make sense of it."""
    try:
        return pipeline.decode(stored, mask)
    except (RuntimeError, ValueError) as error:
        raise Corrupted(path, f"a chunk could not be decoded ({error})") from error
