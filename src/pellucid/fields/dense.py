"""A volume that lies whole in a device's memory.

Here: DenseField: its voxels there, and the value range of every cell.
Not here: reading voxels in a kernel (sampling), volumes that do not fit (bricks).
"""

from typing import Any

import numpy as np

from pellucid.box import Shape, grid_shape
from pellucid.device import Device, launch, runtime
from pellucid.errors import TooLarge
from pellucid.formats.protocol import Spacing
from pellucid.volume.volume import Volume

STORED_AS = {"uint32": "float32", "int32": "float32", "uint64": "float32", "int64": "float32", "float64": "float32"}
"""8- and 16-bit voxels stay as they are on the device; wider ones are drawn as float32."""


class DenseField:
    """Voxels in the memory of a device, with what a kernel needs to sample them and to skip what is empty."""

    def __init__(self, volume: Volume, device: Device) -> None:
        from pellucid.fields import sampling

        self.device = device
        self.shape: Shape = volume.shape
        self.spacing: Spacing = volume.spacing
        stored = np.dtype(STORED_AS.get(volume.dtype.name, volume.dtype.name))
        _check_fits(volume, stored, device)
        warp = runtime.start()
        voxels = np.ascontiguousarray(volume.read().astype(stored, copy=False))
        self._voxels = warp.array(voxels.reshape(-1).view(np.uint8), device=device.name, copy=device.is_cuda)
        self._kept = voxels  # On the CPU Warp's array is this one.
        self.struct = sampling.Field()
        self.struct.shape = warp.vec3i(*self.shape[::-1])
        self.struct.whole = _whole_grid(self._voxels.ptr, stored, self.shape)
        self.cells = grid_shape(self.shape, (sampling.CELL,) * 3)
        self.ranges = warp.zeros(self.cells, dtype=warp.vec2, device=device.name)
        launch(
            sampling.find_ranges, self.cells, [self.struct.whole, sampling.CELL, warp.vec3i()], [self.ranges], device
        )

    def occupied(self, is_row_visible: np.ndarray[Any, Any], low: float, scale: float) -> Any:
        """Which cells hold a value whose row of the transfer function's table is visible."""
        from pellucid.fields import sampling

        warp = runtime.start()
        below = np.concatenate([[0], np.cumsum(is_row_visible)]).astype(np.int32)
        found = warp.zeros(self.cells, dtype=warp.uint8, device=self.device.name)
        counts = warp.array(below, device=self.device.name)
        launch(sampling.find_occupied, self.cells, [self.ranges, low, scale, counts], [found], self.device)
        return found


def _whole_grid(address: int, stored: np.dtype[Any], shape: Shape) -> Any:
    from pellucid.fields import sampling

    warp = runtime.start()
    grid, (nz, ny, nx) = sampling.Grid(), shape
    grid.voxels, grid.kind = address, sampling.VOXEL_KINDS[stored.name]
    grid.shape, grid.row, grid.plane = warp.vec3i(nx, ny, nz), nx, nx * ny
    grid.last = warp.vec3i(*(max(n - 2, 0) for n in (nx, ny, nz)))
    grid.high, grid.scale = warp.vec3(nx - 1.0, ny - 1.0, nz - 1.0), warp.vec3(1.0, 1.0, 1.0)
    return grid


def _check_fits(volume: Volume, stored: np.dtype[Any], device: Device) -> None:
    needs = int(np.prod(volume.shape, dtype=np.int64)) * stored.itemsize
    has = device.free_bytes()
    if needs > 0.9 * has:
        do = "Open a coarser level (FILE:level=1) or a part (pellucid convert --box)."
        raise TooLarge(needs=needs, has=int(0.9 * has), do=do)
