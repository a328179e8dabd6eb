"""Bricks of a neural field, decoded where they are drawn.

Here: NeuralBricks, a BrickSource, and NeuralBrickField, which learns the ranges of cells as bricks are decoded.
Not here: evaluation (device_model), threads (bricks.reader), drawing without bricks (rendering.kernels).

What is not decoded yet may hold any value: its cells count as visible. They are seen, wanted and decoded, and if they
turn out to be empty, rays skip them from then on.
"""

import time
from collections.abc import Callable
from math import prod
from typing import Any, Protocol

import numpy as np

from pellucid.box import Box, Shape, grid_shape
from pellucid.device import Device, launch, never_cancelled, runtime
from pellucid.fields.bricks.brick_field import BrickField
from pellucid.fields.bricks.pyramid import plan
from pellucid.fields.bricks.reader import BrickBatch
from pellucid.fields.bricks.source import FilledBricks
from pellucid.fields.device_field import stored_type
from pellucid.fields.neural.device_model import DeviceModel, places_on_device
from pellucid.fields.sizes import BRICK, CELL, LOWEST, PADDED, VOXEL_KINDS
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import Volume

CELLS_OF_BRICK = (BRICK // CELL) ** 3
TOGETHER = {True: (8, 8, 8), False: (2, 2, 1)}
"""Bricks that are decoded at once on CUDA and on the CPU, where more would keep an image waiting."""

MARGIN = 0.5
"""Between voxels a network may leave the range of those around: by no more than this part of it is assumed."""

LEARNING_S = 0.05
"""How long ranges are looked for between two images."""


class BrickDecoder(Protocol):
    """Parameters on a device, and what decodes bricks from them: a DeviceModel, or a DeviceEnsemble."""

    device: Device
    nbytes: int

    def decode(self, places: Voxels, output: Any, level: int) -> None:
        """Fill an output (kernels.BrickOutput) with the voxels of bricks of a level, places (z, y, x)."""


class NeuralBricks:
    """A neural volume as a BrickSource."""

    def __init__(self, volume: Volume, model: BrickDecoder) -> None:
        self._model, self._device = model, model.device
        self._stored = stored_type(volume)
        self._is_integer = volume.dtype.kind in "iu"
        self._cells = grid_shape(volume.shape, (CELL,) * 3)
        self.levels = plan(volume)

    def together(self, level: int) -> Shape:
        return TOGETHER[self._device.is_cuda]

    def fill(self, level: int, places: Voxels) -> FilledBricks:
        from pellucid.fields.neural.kernels import find_brick_ranges

        warp, name, count = runtime.start(), self._device.name, len(places)
        words = warp.empty((count, PADDED**3 * self._stored.itemsize // 4), dtype=warp.uint32, device=name)
        output = self._output(level, words)
        self._model.decode(places, output, level)
        ranges = None
        if level == 0:
            ranges = warp.empty((count, CELLS_OF_BRICK), dtype=warp.vec2, device=name)
            launch(find_brick_ranges, (count, CELLS_OF_BRICK), [output], [ranges], self._device)
        if self._device.is_cuda:
            return FilledBricks(words, ranges)
        return FilledBricks(words.numpy().view(self._stored), ranges)

    def cell_ranges(self) -> Voxels:
        ranges: Voxels = np.empty((*self._cells, 2), np.float32)
        ranges[..., 0], ranges[..., 1] = LOWEST, -LOWEST
        return ranges

    def ranges_in(self, cells: Box) -> Voxels:
        return self.cell_ranges()[cells.slices]

    def refresh(self, box: Box) -> None:
        """A file does not change."""

    def _output(self, level: int, words: Any) -> Any:
        from pellucid.fields.neural.kernels import BrickOutput

        warp, resolution = runtime.start(), self.levels[level]
        output = BrickOutput()
        output.voxels, output.kind = int(words.ptr), VOXEL_KINDS[self._stored.name]
        output.is_integer = int(self._is_integer)
        output.shape = warp.vec3i(*resolution.shape[::-1])
        output.scale = warp.vec3(*(float(1 << n) for n in resolution.halvings[::-1]))
        return output


class NeuralBrickField(BrickField):
    """A neural volume in bricks. model: its parameters on the device. is_drawn_directly: it is one field of which
    bricks would not fit, so that where a kernel can, it evaluates the field along the rays; bricks are for everything
    else."""

    is_drawn_directly = False

    def __init__(self, volume: Volume, device: Device, budget_bytes: int, model: BrickDecoder) -> None:
        self.model = model
        super().__init__(volume, device, budget_bytes, source=NeuralBricks(volume, model))
        self.is_drawn_directly = isinstance(model, DeviceModel) and self.slots < prod(self.bricks) + 1
        self._unknown = np.arange(prod(self.bricks)) if self.is_drawn_directly else np.empty(0, np.int64)

    @property
    def model_along_rays(self) -> DeviceModel:
        """What kernels evaluate where is_drawn_directly."""
        if not isinstance(self.model, DeviceModel):
            raise TypeError("only one field of feature grids is evaluated along rays")
        return self.model

    def load_missing(
        self, *, wait: bool = True, should_stop: Callable[[], bool] = never_cancelled, finest: int = 0
    ) -> bool:
        is_learning = self._learn_ranges(should_stop) if len(self._unknown) else False
        return super().load_missing(wait=wait, should_stop=should_stop, finest=finest) or is_learning

    def _learn_ranges(self, should_stop: Callable[[], bool]) -> bool:
        """Decode some bricks for nothing but the ranges of their cells, so that rays can skip what is empty."""
        end = time.perf_counter() + LEARNING_S
        some = prod(self._source.together(0))
        while len(self._unknown) and time.perf_counter() < end and not should_stop():
            places = np.stack(np.unravel_index(self._unknown[:some], self.bricks), axis=-1)
            self._put_ranges(places, self._source.fill(0, places).ranges)
            self._unknown = self._unknown[some:]
        return True

    def _take_ranges(self, bricks: BrickBatch) -> None:
        if bricks.ranges is not None:
            self._put_ranges(bricks.places, bricks.ranges)

    def _put_ranges(self, places: Voxels, found: Any) -> None:
        from pellucid.fields.neural.kernels import put_brick_ranges

        margin = MARGIN if self.is_drawn_directly else 0.0
        inputs = [places_on_device(places, self.device), found, margin]
        launch(put_brick_ranges, (len(places), CELLS_OF_BRICK), inputs, [self.ranges], self.device)
        self.range_changes += 1
