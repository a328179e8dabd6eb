"""Arrays of any kind: NumPy, PyTorch, CuPy, a Volume, memory that is shared already.

Here: what an array is like, and one copy of it into memory that an instance can take over.
Not here: carrying that memory there (lanes).

PyTorch and CuPy are never imported: whoever gives one of their arrays has done so.
"""

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from pellucid.errors import InvalidInput, UnsupportedType, WrongDimensions
from pellucid.formats.protocol import VOXEL_TYPES, Voxels
from pellucid.formats.shared import SharedArray
from pellucid.settings import current
from pellucid.volume.volume import Volume

PIECE_BYTES = 16 * 2**20
MOST_THREADS = 8


@dataclass(frozen=True)
class Given:
    """An array that can be copied once to where it is wanted.

    copy_to: fills an array of its shape and type. array: itself, where it lies in this process's memory as it is to be
    shown; shared: the same, in memory that can be handed over.
    """

    shape: tuple[int, int, int]
    dtype: np.dtype[Any]
    copy_to: Callable[[Voxels], object]
    array: Voxels | None = None
    shared: SharedArray | None = None

    def write_to(self, shared: SharedArray) -> None:
        if self.array is None:
            self.copy_to(shared.array)
        else:
            write_in_parallel(shared.descriptor, self.array)

    def in_shared_memory(self) -> SharedArray:
        """The array itself where it is shared already, else a copy."""
        if self.shared is not None:
            return self.shared
        shared = SharedArray.create(self.shape, self.dtype)
        try:
            self.write_to(shared)
        except BaseException:
            shared.close()
            raise
        return shared


def given(array: object) -> Given:
    """What can be shown of an object; anything that is no volume is refused before a voxel moves."""
    if isinstance(array, SharedArray):
        checked = _checked(array.shape, array.dtype, lambda out: np.copyto(out, array.array))
        return replace(checked, array=array.array, shared=array)
    if isinstance(array, Volume):
        return _checked(array.shape, array.dtype, lambda out: array.read(None, out))
    if hasattr(array, "__cuda_array_interface__"):
        return _on_device(array)
    voxels = _in_memory(array)
    checked = _checked(voxels.shape, voxels.dtype, lambda out: np.copyto(out, voxels))
    return replace(checked, array=voxels) if voxels.flags.c_contiguous else checked


def _checked(shape: tuple[int, ...], dtype: np.dtype[Any], copy_to: Callable[[Voxels], object]) -> Given:
    if len(shape) != 3 or not prod(shape):
        raise WrongDimensions("The array", shape)
    dtype = np.dtype(np.uint8) if dtype == np.bool_ else dtype
    if dtype.newbyteorder("=").name not in VOXEL_TYPES:
        raise UnsupportedType("A volume", dtype, VOXEL_TYPES)
    z, y, x = shape
    return Given((z, y, x), dtype, copy_to)


def _in_memory(array: Any) -> Voxels:
    """A view of what lies in this process's memory, without a copy wherever that can be."""
    array = array.detach() if hasattr(array, "detach") else array  # PyTorch, with gradients
    try:
        found = np.asarray(array)
    except (TypeError, ValueError, RuntimeError):
        found = np.empty(0, object)
    if found.dtype.hasobject:
        do = "Give a NumPy, CuPy or PyTorch array, a path, or a Volume."
        raise InvalidInput(f"A {type(array).__name__} is no array of numbers.", do=do)
    return found


def _on_device(array: Any) -> Given:
    """CuPy copies straight into memory of ours; PyTorch does when it is asked from its own side."""
    described = array.__cuda_array_interface__
    dtype = np.dtype(described["typestr"])

    def copy_to(out: Voxels) -> None:
        if hasattr(array, "get"):
            array.get(out=out.view(dtype))
        else:
            sys.modules["torch"].from_numpy(out.view(dtype)).copy_(array.detach())

    return _checked(tuple(described["shape"]), dtype, copy_to)


def write_in_parallel(descriptor: int, array: Voxels) -> None:
    """All bytes of an array into a memory file, by several threads.

    Written and not copied: the kernel then neither clears pages that are about to be filled nor maps them here, which
    together takes longer than moving the bytes.
    """
    content = memoryview(array.reshape(-1).view(np.uint8).data)

    def write(start: int) -> None:
        end = min(start + PIECE_BYTES, len(content))
        while start < end:
            start += os.pwrite(descriptor, content[start:end], start)

    with ThreadPoolExecutor(min(current().threads, MOST_THREADS)) as pool:
        list(pool.map(write, range(0, len(content), PIECE_BYTES)))
