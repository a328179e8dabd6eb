"""Arrays of any kind: NumPy, PyTorch, CuPy, a Volume, shared memory.

Here: what an array is like, and one copy of it into memory that an instance can take over.
Not here: carrying that memory there (transport.lanes).

PyTorch and CuPy are never imported: a program that passes one of their arrays has done so.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from pellucid.errors import InvalidInput, UnsupportedType, WrongDimensions
from pellucid.formats.protocol import VOXEL_TYPES, Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.volume.volume import Volume


@dataclass(frozen=True)
class ArraySource:
    """An array that can be copied once to where it is wanted.

    copy_to: fills an array of its shape and type. array: itself, where it lies in this process's memory, in any order;
    shared: where it lies in memory that can be handed over.
    """

    shape: tuple[int, int, int]
    dtype: np.dtype[Any]
    copy_to: Callable[[Voxels], object]
    array: Voxels | None = None
    shared: SharedArray | None = None

    def in_memory(self) -> Voxels:
        """The array itself where it lies in memory, else a copy."""
        if self.shared is not None:
            return self.shared.array
        if self.array is not None:
            return self.array
        voxels = np.empty(self.shape, self.dtype)
        self.copy_to(voxels)
        return voxels

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


def array_source(array: object) -> ArraySource:
    """What can be shown of an object; anything that is no volume is refused before a voxel moves."""
    if isinstance(array, SharedArray):
        checked = _checked(array.shape, array.dtype, lambda out: np.copyto(out, array.array))
        # A buffer that was sent keeps its content; sent again, its present content is copied.
        return replace(checked, array=array.array) if array.is_private else replace(checked, shared=array)
    if isinstance(array, Volume):
        checked = _checked(array.shape, array.dtype, lambda out: array.read(None, out))
        return replace(checked, array=array.array)
    if hasattr(array, "__cuda_array_interface__"):
        return _on_device(array)
    voxels = _in_memory(array)
    checked = _checked(voxels.shape, voxels.dtype, lambda out: np.copyto(out, voxels))
    return replace(checked, array=voxels.view(np.uint8) if voxels.dtype == np.bool_ else voxels)


def _checked(shape: tuple[int, ...], dtype: np.dtype[Any], copy_to: Callable[[Voxels], object]) -> ArraySource:
    if len(shape) != 3 or not prod(shape):
        raise WrongDimensions("The array", shape)
    dtype = np.dtype(np.uint8) if dtype == np.bool_ else dtype
    if dtype.newbyteorder("=").name not in VOXEL_TYPES:
        raise UnsupportedType("A volume", dtype, VOXEL_TYPES)
    z, y, x = shape
    return ArraySource((z, y, x), dtype, copy_to)


def _in_memory(array: Any) -> Voxels:
    """A view of what lies in this process's memory, without a copy wherever that can be."""
    array = array.detach() if hasattr(array, "detach") else array  # PyTorch, with gradients
    try:
        found = np.asarray(array)
    except (TypeError, ValueError, RuntimeError):
        found = np.empty(0, object)
    if found.dtype.hasobject:
        remedy = "Pass a NumPy, CuPy or PyTorch array, a path, or a Volume."
        raise InvalidInput(f"A {type(array).__name__} is not an array of numbers.", remedy=remedy)
    return found


def _on_device(array: Any) -> ArraySource:
    """CuPy copies straight into memory of ours; PyTorch does when it is asked from its own side."""
    described = array.__cuda_array_interface__
    dtype = np.dtype(described["typestr"])

    def copy_to(out: Voxels) -> None:
        if hasattr(array, "get"):
            array.get(out=out.view(dtype))
        else:
            sys.modules["torch"].from_numpy(out.view(dtype)).copy_(array.detach())

    return _checked(tuple(described["shape"]), dtype, copy_to)
