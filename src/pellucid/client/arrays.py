"""Arrays of any kind: NumPy, PyTorch, CuPy, a Volume, memory that is shared already.

Here: what an array is like, and one copy of it into memory that an instance can take over.
Not here: carrying that memory there (lanes).

PyTorch and CuPy are never imported: whoever gives one of their arrays has done so.
"""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
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
    """An array that can be copied once to where it is wanted. copy_to: fills an array of its shape and type."""

    shape: tuple[int, int, int]
    dtype: np.dtype[Any]
    copy_to: Callable[[Voxels], object]
    shared: SharedArray | None = None

    def in_shared_memory(self) -> SharedArray:
        """The array itself where it is shared already, else a copy."""
        if self.shared is not None:
            return self.shared
        shared = SharedArray.create(self.shape, self.dtype)
        try:
            self.copy_to(shared.array)
        except BaseException:
            shared.close()
            raise
        return shared


def given(array: object) -> Given:
    """What can be shown of an object; anything that is no volume is refused before a voxel moves."""
    if isinstance(array, SharedArray):
        return _checked(array.shape, array.dtype, lambda out: copy_in_parallel(out, array.array), array)
    if isinstance(array, Volume):
        return _checked(array.shape, array.dtype, lambda out: array.read(None, out))
    if hasattr(array, "__cuda_array_interface__"):
        return _on_device(array)
    voxels = _in_memory(array)
    return _checked(voxels.shape, voxels.dtype, lambda out: copy_in_parallel(out, voxels))


def _checked(
    shape: tuple[int, ...], dtype: np.dtype[Any], copy_to: Callable[[Voxels], object], shared: SharedArray | None = None
) -> Given:
    if len(shape) != 3 or not prod(shape):
        raise WrongDimensions("The array", shape)
    dtype = np.dtype(np.uint8) if dtype == np.bool_ else dtype
    if dtype.newbyteorder("=").name not in VOXEL_TYPES:
        raise UnsupportedType("A volume", dtype, VOXEL_TYPES)
    z, y, x = shape
    return Given((z, y, x), dtype, copy_to, shared)


def _in_memory(array: Any) -> Voxels:
    """A view of what lies in this process's memory, without a copy wherever that can be."""
    array = array.detach() if hasattr(array, "detach") else array  # PyTorch, with gradients
    try:
        return np.asarray(array)
    except (TypeError, ValueError, RuntimeError) as error:
        do = "Give a NumPy, CuPy or PyTorch array, a path, or a Volume."
        raise InvalidInput(f"A {type(array).__name__} is no array: {error}.", do=do) from error


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


def copy_in_parallel(out: Voxels, voxels: Voxels) -> None:
    """Copy by several threads: of fresh memory, finding the pages takes longer than filling them."""
    threads = min(current().threads, MOST_THREADS, max(1, voxels.nbytes // PIECE_BYTES))
    bounds = [len(voxels) * i // threads for i in range(threads + 1)]
    if threads == 1:
        np.copyto(out, voxels)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda part: np.copyto(out[part[0] : part[1]], voxels[part[0] : part[1]]), pairwise(bounds)))
