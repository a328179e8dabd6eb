"""Voxels in a hardware texture of a CUDA device: read between voxels by the card's own units, several times faster.

Here: VoxelTexture, one box of voxels; TexturePool, slots for bricks; where there can be one.
Not here: the kernels (texture_kernels), getting voxels there fast (upload), arrays where there is no texture (dense,
pool).
"""

from math import isqrt, prod
from typing import Any

import numpy as np

from pellucid import progress
from pellucid.box import Shape
from pellucid.device import Device, launch, runtime
from pellucid.fields.sizes import PADDED, TEXTURED, VOXEL_KINDS

MAX_AXIS = 16384
"""Texels along any axis of a CUDA texture with three."""

SLOTS_ACROSS = 16
"""Of a pool: rows of texels are then long enough that the card's own blocks waste little."""

STORED_IN = {"int8": "uint8", "int16": "uint16"}
"""Signed voxels are stored with their lowest value as 0 (texture_kernels)."""


class VoxelTexture:
    """Voxels of one type, shape (z, y, x), on a CUDA device; written box by box, read by kernels through a Grid."""

    def __init__(self, device: Device, stored: np.dtype[Any], shape: Shape) -> None:
        self.device, self.shape = device, shape
        self.kind, self.itemsize = VOXEL_KINDS[stored.name], stored.itemsize
        warp, (depth, height, width) = runtime.start(), shape
        dtype = getattr(warp, STORED_IN.get(stored.name, stored.name))
        with runtime.LOCK:
            self._texture = warp.Texture3D(
                width=width, height=height, depth=depth, num_channels=1, dtype=dtype,
                normalized_coords=False, device=device.name, surface_access=True,
            )  # fmt: skip
            self.surface = int(self._texture.cuda_surface)

    def write(self, address: int, start: Shape, shape: Shape) -> None:
        """Queue the copying of an array of voxels on the device, by its address, to the box that begins at start."""
        from pellucid.fields.textures import texture_kernels

        vector, (depth, height, width) = runtime.start().vec3i, shape
        row = width * self.itemsize
        box = [vector(row, height, depth), vector(start[2] * self.itemsize, start[1], start[0])]
        arguments = [address, self.kind, *box, self.surface]
        launch(texture_kernels.write_box, (depth, height, -(-row // 16)), arguments, device=self.device)

    def describe(self, grid: Any) -> None:
        """Make a Grid read the whole of this texture."""
        vector, (depth, height, width) = runtime.start().vec3, self.shape
        grid.voxels, grid.kind = self._texture.cuda_texture, self.kind + TEXTURED
        grid.shape = runtime.start().vec3i(width, height, depth)
        grid.scale, grid.shift = vector(1.0, 1.0, 1.0), vector(0.5, 0.5, 0.5)
        grid.low, grid.high = vector(0.5, 0.5, 0.5), vector(width - 0.5, height - 0.5, depth - 0.5)


class TexturePool:
    """Slots for bricks with their aprons, side by side in one texture."""

    def __init__(self, device: Device, stored: np.dtype[Any], slots: int) -> None:
        self._across = min(SLOTS_ACROSS, slots)
        rows = -(-slots // self._across)
        self._down = isqrt(rows - 1) + 1
        shape = (-(-rows // self._down) * PADDED, self._down * PADDED, self._across * PADDED)
        self._texture = VoxelTexture(device, stored, shape)

    def write(self, address: int, slots: Any) -> None:
        """Queue the copying of bricks, one after the other at an address on the device, to their slots."""
        from pellucid.fields.textures import texture_kernels

        texture, row = self._texture, PADDED * self._texture.itemsize
        arguments = [address, texture.kind, row, slots, self._across, self._down, texture.surface]
        shape = (len(slots), PADDED, PADDED, -(-row // 16))
        launch(texture_kernels.write_bricks, shape, arguments, device=texture.device)

    def describe(self, grid: Any) -> None:
        """Make a Grid say where the bricks are."""
        self._texture.describe(grid)
        grid.row, grid.plane = self._across, self._across * self._down


def whole_texture(device: Device, stored: np.dtype[Any], shape: Shape) -> VoxelTexture | None:
    """A texture for a whole volume; None where the device has none of that size."""
    if not device.is_cuda or max(shape) > MAX_AXIS:
        return None
    try:
        return VoxelTexture(device, stored, shape)
    except RuntimeError as error:
        _say_without(error, prod(shape) * stored.itemsize)
        return None


def texture_pool(device: Device, stored: np.dtype[Any], slots: int) -> TexturePool | None:
    """A texture for bricks; None where the device has none of that size."""
    if not device.is_cuda or slots > SLOTS_ACROSS * (MAX_AXIS // PADDED) ** 2:
        return None
    try:
        return TexturePool(device, stored, slots)
    except RuntimeError as error:
        _say_without(error, slots * PADDED**3 * stored.itemsize)
        return None


def _say_without(error: RuntimeError, nbytes: int) -> None:
    size = progress.amount(nbytes, "B")
    progress.note(f"No texture of {size} could be made ({error}); voxels are read from an array, which is slower.")
