"""The memory of a device: buffers, and arrays in them.

Here: DeviceBuffer and DeviceMemory, which each kind of device implements; BlockArray.
Not here: the kinds (host_memory, cuda_memory), which blocks are in it (block_store).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.cluster.operations import NO_HALO
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray

PAGE_BYTES = 4096


class DeviceBuffer(Protocol):
    """number: of this process, never used again. is_shared: another process holds it for good, so that it must not be
    written to."""

    number: int
    nbytes: int
    is_shared: bool


@dataclass(frozen=True)
class BlockArray:
    """A block in a buffer. shape: of its core; halo: voxels around it on each side. Both (z, y, x)."""

    buffer: Any
    dtype: np.dtype[Any]
    shape: Shape
    halo: Shape = NO_HALO

    @property
    def outer_shape(self) -> Shape:
        return outer_shape(self.shape, self.halo)

    @property
    def core_in_outer(self) -> Box:
        return Box.whole(self.shape).shift(self.halo)

    @property
    def nbytes(self) -> int:
        """Of the whole array, with its halo."""
        return prod(self.outer_shape) * self.dtype.itemsize


class DeviceMemory(Protocol):
    """device: such as "cpu" or "cuda:1". budget_bytes: what all blocks together may take. on_gone: is given a buffer
    that is not used again; its memory is freed when nothing refers to it any more. is_host: whether it is the host's
    memory."""

    device: str
    budget_bytes: int
    on_gone: Callable[[Any], None]
    is_host: bool

    def allocate(self, nbytes: int) -> Any:
        """A buffer of at least that size, with anything in it."""

    def free(self, buffer: Any) -> None: ...

    def adopt(self, shared: SharedArray) -> Any:
        """A buffer with what is in host memory that belongs to it from now on."""

    def to_host(self, buffer: Any) -> SharedArray:
        """What is in a buffer, which is freed."""

    def read(self, array: BlockArray, box: Box) -> Voxels:
        """A box of the array with its halo, on the host; a view where that is possible."""

    def write(self, array: BlockArray, box: Box, voxels: Voxels) -> None:
        """The opposite of read."""

    def copy(self, source: BlockArray, box: Box, target: BlockArray, place: Box) -> None:
        """A box of one array to a box of another, both with their halos."""

    def clear(self, array: BlockArray) -> None:
        """All of the array is 0."""

    def window(self, array: BlockArray, box: Box) -> Voxels | None:
        """Where a box can be written on the host; None where it has to go through write()."""

    def host_view(self, array: BlockArray) -> tuple[SharedArray, Voxels] | None:
        """The host's shared memory in which the array is, and all of the array; None where it is not there."""

    def handover(self, buffer: Any) -> tuple[int | None, str]:
        """How another process of this machine gets at a buffer: by a descriptor, or by a text of the device's."""


def outer_shape(shape: Shape, halo: Shape) -> Shape:
    return triple(n + 2 * h for n, h in zip(shape, halo, strict=True))


def array_bytes(shape: Shape, dtype: np.dtype[Any], halo: Shape = NO_HALO) -> int:
    return prod(outer_shape(shape, halo)) * dtype.itemsize
