"""Which tiles of a block a front may change.

Here: HostTiles, swept by the cores of a CPU; CudaTiles, whose lists stay on the GPU.
Not here: the scheme and the kernels (front_kernels, front_cuda_kernels), the computation of a block (front).
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from pellucid.box import Shape, grid_shape
from pellucid.device import Device, LaunchRange, launch, runtime, synchronize
from pellucid.formats.protocol import Voxels
from pellucid.settings import current

CPU_ROWS = 32
"""Along z and y, of a tile of a CPU with several cores, which has whole rows."""
SWEEPS = 32
"""Of a tile of a GPU, each time that it is read, at the most: with 8 a front in 512³ took up to 2.5 times as long."""
ROUNDS = 8
"""Of a GPU, between two looks at whether it is done."""
BLOCKS = 4224
"""Of threads, which take turns with the tiles: a few times as many as the largest GPUs run at once."""


class HostTiles:
    """active: (z, y, x), tiles in which something may change."""

    def __init__(self, device: Device, grid: Any, shape: Shape) -> None:
        edges = _cpu_tile(shape)
        self._device, self._grid, self._size = device, grid, prod(edges)
        self.active = np.zeros(grid_shape(shape, edges), bool)
        self._strips = _empty_strips(device, shape)
        _set_tiles(grid, edges, self.active.shape)

    @property
    def is_done(self) -> bool:
        return not self.active.any()

    def activate(self, places: Sequence[tuple[slice, ...]]) -> None:
        """Something may change in these tiles."""
        for place in places:
            self.active[place] = True

    def run(self, max_rounds: int, report: Callable[[], None]) -> int:
        """So many rounds; 0: until nothing changes. Returns how many voxels were updated."""
        rounds, updated = 0, 0
        while self.active.any() and (not max_rounds or rounds < max_rounds):
            numbers = np.flatnonzero(self.active).astype(np.int32)
            changed = np.zeros(self.active.shape, bool)
            changed.flat[numbers] = self._update(numbers)
            self.active = _beside(changed)
            updated += len(numbers) * self._size
            rounds += 1
            report()
        return updated

    def _update(self, numbers: Voxels) -> Voxels:
        from pellucid.cluster.compute import front_kernels

        warp, name = runtime.start(), self._device.name
        kernel = front_kernels.sweep_cubes if _is_cube(self._grid) else front_kernels.sweep_boxes
        tiles = warp.array(numbers, dtype=warp.int32, device=name)
        changed = warp.zeros(len(numbers), dtype=warp.uint8, device=name)
        each, given = LaunchRange((len(numbers),), heft=2 * self._size), [self._grid, tiles, self._strips]
        launch(kernel, each, given, [changed], self._device)
        found: Voxels = changed.numpy() != 0
        return found


class CudaTiles:
    """Tiles of a GPU: which of them are next is known there alone."""

    def __init__(self, device: Device, grid: Any, shape: Shape) -> None:
        from pellucid.cluster.compute.front_cuda_kernels import DEPTH, HEIGHT, THREADS, UNFINISHED, WIDTH

        warp, name = runtime.start(), device.name
        self._device, self._grid, self._size = device, grid, DEPTH * HEIGHT * WIDTH
        self._threads, self._unfinished, self.sweeps = THREADS, UNFINISHED, SWEEPS
        self.shape = grid_shape(shape, (DEPTH, HEIGHT, WIDTH))
        _set_tiles(grid, (DEPTH, HEIGHT, WIDTH), self.shape)
        count = prod(self.shape)
        self._tiles = warp.empty(2 * count, dtype=warp.int32, device=name)
        self._flags = [warp.zeros(count, dtype=warp.uint8, device=name) for _ in range(2)]
        self._counts = warp.zeros(3, dtype=warp.int32, device=name)
        self._turn, self._is_listed = 0, False

    @property
    def is_done(self) -> bool:
        return self._listed()[0] == 0

    def activate(self, places: Sequence[tuple[slice, ...]]) -> None:
        """Something may change in these tiles."""
        if any(place == () for place in places):
            self._flags[self._turn].fill_(self._unfinished)
        elif places:
            flags = self._flags[self._turn].numpy().reshape(self.shape)
            for place in places:
                flags[place] |= self._unfinished
            self._flags[self._turn].assign(flags.ravel())
        self._counts[self._turn : self._turn + 1].zero_()
        self._is_listed = False

    def run(self, max_rounds: int, report: Callable[[], None]) -> int:
        """The same as of HostTiles."""
        rounds, (listed, before) = 0, self._listed()
        updated = before
        while listed and (not max_rounds or rounds < max_rounds):
            several = min(ROUNDS, max_rounds - rounds) if max_rounds else ROUNDS
            for _ in range(several):
                self._list_tiles()
                self._relax_tiles()
            rounds += several
            listed, updated = self._listed()
            report()
        return (updated - before) * self._size

    def _listed(self) -> tuple[int, int]:
        """How many tiles are next, and how many there have been."""
        self._list_tiles()
        synchronize(self._device)
        counts = self._counts.numpy()
        return int(counts[self._turn]), int(counts[2])

    def _relax_tiles(self) -> None:
        from pellucid.cluster.compute.front_cuda_kernels import relax_boxes, relax_cubes

        kernels = relax_cubes if _is_cube(self._grid) else relax_boxes
        blocks = min(BLOCKS, prod(self.shape))
        inputs = [self._grid, self._tiles, self._counts, self._turn, self.sweeps]
        shape, flags = (blocks, self._threads), self._flags[1 - self._turn]
        launch(kernels[bool(self._grid.speeds)], shape, inputs, [flags], self._device, block_dim=self._threads)
        self._turn, self._is_listed = 1 - self._turn, False

    def _list_tiles(self) -> None:
        from pellucid.cluster.compute.front_cuda_kernels import list_tiles

        if not self._is_listed:
            flags, after = self._flags[self._turn], self._flags[1 - self._turn]
            inputs = [self._grid, flags, after, self._tiles, self._counts, self._turn]
            launch(list_tiles, prod(self.shape), inputs, [], self._device)
        self._is_listed = True


def tiles_of(device: Device, grid: Any, shape: Shape) -> HostTiles | CudaTiles:
    """The tiles of a block, none of them active."""
    return CudaTiles(device, grid, shape) if device.is_cuda else HostTiles(device, grid, shape)


def _beside(changed: Voxels) -> Voxels:
    """Neighbours of what has changed."""
    active = np.zeros_like(changed)
    for axis in range(3):
        here, there = [slice(None)] * 3, [slice(None)] * 3
        here[axis], there[axis] = slice(None, -1), slice(1, None)
        active[tuple(there)] |= changed[tuple(here)]
        active[tuple(here)] |= changed[tuple(there)]
    return active


def _is_cube(grid: Any) -> bool:
    """Whether voxels have the same spacing along all axes."""
    return len(set(grid.weights)) == 1


def _empty_strips(device: Device, shape: Shape) -> Any:
    from pellucid.cluster.compute.front_kernels import LANES, LENGTH

    return runtime.start().empty(2 * prod(grid_shape(shape, (1, LANES, LENGTH))), dtype=int, device=device.name)


def _cpu_tile(shape: Shape) -> Shape:
    """One core sweeps the whole block: fewer voxels are updated twice."""
    if current().threads == 1:
        return shape
    return min(CPU_ROWS, shape[0]), min(CPU_ROWS, shape[1]), shape[2]


def _set_tiles(grid: Any, edges: Shape, tiles: Sequence[int]) -> None:
    warp = runtime.start()
    grid.tile, grid.tiles = warp.vec3i(*edges), warp.vec3i(*tiles)
