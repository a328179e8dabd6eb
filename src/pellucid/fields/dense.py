"""A volume that is whole in the memory of a device.

Here: DenseField: its voxels there, and the value range of every cell.
Not here: reading voxels in a kernel (sampling), volumes that do not fit (bricks).
"""

from math import prod
from typing import Any

import numpy as np

from pellucid.box import Box, Shape, grid_shape
from pellucid.device import Device, LaunchRange, launch, runtime
from pellucid.errors import NotEnoughMemory
from pellucid.fields.cell_ranges import touched_cells
from pellucid.fields.device_field import DeviceField, stored_type
from pellucid.fields.sizes import BYTES_PER_CELL, CELL, VOXEL_KINDS
from pellucid.fields.textures.textures import whole_texture
from pellucid.fields.textures.upload import upload
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import Volume


class DenseField(DeviceField):
    """All voxels in the memory of a device: on CUDA a texture where there can be one and is_texture.

    On the CPU an array of the program's own is not copied: it is drawn from where it lies.
    """

    def __init__(self, volume: Volume, device: Device, *, is_texture: bool = True) -> None:
        super().__init__(volume, device)
        self._volume = volume
        self._stored = stored_type(volume)
        self.nbytes = dense_bytes(volume)
        _check_fits(self.nbytes, device)
        warp = runtime.start()
        self._texture = whole_texture(device, self._stored, self.shape) if is_texture and not self.labels else None
        if self._texture:
            self._texture.describe(self.struct.whole)
            upload(volume, self._texture, self._stored)
        else:
            self._borrowed = None if device.is_cuda else _usable(volume.array, self._stored)
            voxels = self._read(volume.box) if self._borrowed is None else self._borrowed.view(np.uint8)
            # Bytes with three axes: Warp counts in 32 bits along each.
            self._voxels = warp.array(voxels, device=device.name, copy=device.is_cuda)
            self.struct.whole = _whole_grid(self._voxels.ptr, self._stored, self.shape)
        self.ranges = warp.zeros(self.cells, dtype=warp.vec2, device=device.name)
        self._find_ranges(Box.whole(self.cells))

    def _read(self, box: Box) -> np.ndarray[Any, Any]:
        return np.ascontiguousarray(self._volume.read(box).astype(self._stored, copy=False)).view(np.uint8)

    def _find_ranges(self, cells: Box) -> None:
        from pellucid.fields.kernels import cell_ranges_cpu, sampling

        start, grid = runtime.start().vec3i(*cells.start[::-1]), self.struct.whole
        if self.device.is_cuda:
            launch(sampling.find_ranges, cells.shape, [grid, CELL, start], [self.ranges], self.device)
        else:
            rows = LaunchRange(cells.shape[:2], heft=cells.shape[2] * CELL**3)
            launch(cell_ranges_cpu.find_ranges, rows, [grid, start, cells.stop[2]], [self.ranges], self.device)

    def _refresh(self, box: Box) -> None:
        if box.is_empty:
            return
        if self._texture or self._borrowed is None:
            self._replace(box)
        self._find_ranges(touched_cells(box, self.shape))

    def _replace(self, box: Box) -> None:
        warp = runtime.start()
        arrived = warp.array(self._read(box), device=self.device.name)
        if self._texture:
            self._texture.write(int(arrived.ptr), box.start, box.shape)
        else:
            z, y, x = box.slices
            in_bytes = slice(x.start * self._stored.itemsize, x.stop * self._stored.itemsize)
            warp.copy(self._voxels[z, y, in_bytes], arrived)


def _usable(array: Voxels | None, stored: np.dtype[Any]) -> Voxels | None:
    """An array that a CPU can draw from where it lies."""
    return array if array is not None and array.dtype == stored and array.flags.c_contiguous else None


def dense_bytes(volume: Volume) -> int:
    """What a volume takes on a device, whole, with its cells."""
    return (
        prod(volume.shape) * stored_type(volume).itemsize + prod(grid_shape(volume.shape, (CELL,) * 3)) * BYTES_PER_CELL
    )


def _whole_grid(address: int, stored: np.dtype[Any], shape: Shape) -> Any:
    from pellucid.fields.kernels import sampling

    warp = runtime.start()
    grid, (nz, ny, nx) = sampling.Grid(), shape
    grid.voxels, grid.kind = address, VOXEL_KINDS[stored.name]
    grid.shape, grid.row, grid.plane = warp.vec3i(nx, ny, nz), nx, nx * ny
    grid.last = warp.vec3i(*(max(n - 2, 0) for n in (nx, ny, nz)))
    grid.high, grid.scale = warp.vec3(nx - 1.0, ny - 1.0, nz - 1.0), warp.vec3(1.0, 1.0, 1.0)
    return grid


def _check_fits(needs: int, device: Device) -> None:
    has = device.free_bytes()
    if needs > 0.9 * has:
        remedy = "Open a coarser level (FILE:level=1) or a part (pellucid convert --box)."
        raise NotEnoughMemory(needs=needs, has=int(0.9 * has), remedy=remedy)
