"""A neural field on a device, packed for the kernels.

Here: is_supported, DeviceModel: its parameters there, and values of bricks and points.
Not here: the kernels, which bricks are wanted (neural_bricks), the definition (formats.neural_field.evaluation).
"""

from itertools import product
from typing import Any

import numpy as np

from pellucid.box import Shape
from pellucid.device import Device, launch, runtime
from pellucid.fields.sizes import HIDDEN, MAX_PAIRS
from pellucid.formats.neural_field.field import FeatureGrid, Floats, NeuralField
from pellucid.formats.protocol import Voxels

PAIRS_TOGETHER = 8
"""Of features: what one product of matrices takes as its inputs."""

CELL_CORNERS = 8
POINT_ROUNDS = 16
"""Points that each thread evaluates."""


def is_supported(field: NeuralField) -> bool:
    """Whether the kernels can evaluate a field: grids, and a decoder of two hidden layers of at most 64 units."""
    shapes = [weights.shape for weights in field.decoder.weights]
    is_small = len(shapes) == 3 and max(shapes[0][1], shapes[1][1]) <= HIDDEN
    only_grids = bool(field.grids) and not field.hash_levels and field.fourier is None
    return only_grids and is_small and field.decoder.activation == "relu" and len(_pairs(field)) <= MAX_PAIRS


def _pairs(field: NeuralField) -> list[tuple[int, int]]:
    """Pairs of features, as (grid, first feature)."""
    return [(number, first) for number, grid in enumerate(field.grids) for first in range(0, grid.width, 2)]


class DeviceModel:
    """The parameters of a field that describes a volume of a shape (z, y, x), on a device."""

    def __init__(self, field: NeuralField, shape: Shape, device: Device) -> None:
        from pellucid.fields.neural.kernels import NeuralStruct

        warp, self.device = runtime.start(), device
        pairs = _pairs(field)
        self._count = -(-len(pairs) // PAIRS_TOGETHER) * PAIRS_TOGETHER
        cells, places, sizes = self._packed_grids(field, pairs, shape)
        weights = _padded_weights(field, pairs, self._count)
        words = _as_fragments(weights) if device.is_cuda else np.concatenate([one.ravel() for one in weights])
        name = device.name
        # The struct holds addresses only: the arrays stay with it.
        self._arrays = [
            warp.array(cells.view(np.uint32).ravel(), dtype=warp.uint32, device=name),
            warp.array(places.ravel(), dtype=warp.float32, device=name),
            warp.array(sizes.ravel(), dtype=warp.int32, device=name),
            warp.array(np.ascontiguousarray(words).view(np.uint32), dtype=warp.uint32, device=name),
            warp.array(spline_coefficients(field), dtype=warp.float32, device=name),
        ]
        self.struct = NeuralStruct()
        self.struct.cells, self.struct.places, self.struct.sizes, self.struct.weights, self.struct.spline = self._arrays
        self._place_spline(field, shape)
        low, high = field.value_range
        self.struct.pairs, self.struct.low, self.struct.scale = self._count, low, high - low
        self.struct.last = warp.vec3(*(float(n - 1) for n in shape[::-1]))
        self.nbytes = sum(array.size * 4 for array in self._arrays)

    def _place_spline(self, field: NeuralField, shape: Shape) -> None:
        """From voxel coordinates (x, y, z) to cells of the spline; an axis of one voxel lies in the middle."""
        warp, cells = runtime.start(), field.spline.cells[::-1] if field.spline else (0, 0, 0)
        lengths = shape[::-1]
        self.struct.spline_cells = warp.vec3i(*cells)
        self.struct.spline_scale = warp.vec3(
            *(c / (n - 1) if n > 1 else 0.0 for c, n in zip(cells, lengths, strict=True))
        )
        self.struct.spline_shift = warp.vec3(*(0.0 if n > 1 else c / 2 for c, n in zip(cells, lengths, strict=True)))

    def values_at(self, points: Voxels) -> Voxels:
        """Values at (n, 3) points (x, y, z) in voxel coordinates."""
        warp = runtime.start()
        there = warp.array(np.ascontiguousarray(points, np.float32), dtype=warp.vec3, device=self.device.name)
        found: Voxels = self.evaluate(there).numpy()
        return found

    def evaluate(self, points: Any) -> Any:
        """The same for points that are on the device, left there."""
        from pellucid.fields.neural.kernels import THREADS, evaluate_points

        warp = runtime.start()
        values = warp.empty(len(points), dtype=warp.float32, device=self.device.name)
        blocks = -(-len(points) // (THREADS * POINT_ROUNDS))
        arguments = [self.struct, points, POINT_ROUNDS]
        launch(evaluate_points, (blocks, THREADS), arguments, [values], self.device, block_dim=THREADS)
        return values

    def decode(self, places: Voxels, output: Any, level: int) -> None:
        """Fill an output (kernels.BrickOutput) with the voxels of bricks of a level, places (z, y, x)."""
        from pellucid.fields.neural.kernels import PARTS, THREADS, decode_bricks

        shape = (len(places), PARTS, THREADS)
        bricks = places_on_device(places, self.device)
        launch(decode_bricks, shape, [self.struct, bricks, output], [], self.device, block_dim=THREADS)

    def _packed_grids(
        self, field: NeuralField, pairs: list[tuple[int, int]], shape: Shape
    ) -> tuple[Voxels, Voxels, Voxels]:
        """Cells of all pairs, one after the other; then where each grid lies; then its nodes and its first cell."""
        places = np.zeros((self._count, 12), np.float32)
        sizes = np.zeros((self._count, 4), np.int32)
        # Pairs that are only there to fill up have one cell of zeros.
        parts, first = [np.zeros((1, CELL_CORNERS, 2), np.float32)], 1
        for number, (which, feature) in enumerate(pairs):
            grid = field.grids[which]
            cells = _cells(grid, feature)
            places[number] = _place(grid, shape).ravel()
            sizes[number] = (*grid.features.shape[:0:-1], first)
            parts.append(cells)
            first += len(cells)
        kind = np.float16 if self.device.is_cuda else np.float32
        return np.concatenate(parts).astype(kind), places, sizes


def spline_coefficients(field: NeuralField) -> Voxels:
    """One number where there is no spline: an array on a device is never empty."""
    return np.zeros(1, np.float32) if field.spline is None else field.spline.coefficients.astype(np.float32).ravel()


def places_on_device(places: Voxels, device: Device) -> Any:
    """Places (z, y, x) of bricks, as (x, y, z) on a device."""
    warp = runtime.start()
    return warp.array(np.ascontiguousarray(places[:, ::-1], np.int32), dtype=warp.vec3i, device=device.name)


def _cells(grid: FeatureGrid, feature: int) -> Floats:
    """(cells, corners, 2): two features at the corners of every cell, x fastest, in a ring of zeros."""
    nodes = np.zeros((*(n + 2 for n in grid.features.shape[1:]), 2), np.float32)
    some = grid.features[feature : feature + 2]
    nodes[1:-1, 1:-1, 1:-1, : len(some)] = np.moveaxis(some, 0, 3)
    ends = [(slice(None, -1), slice(1, None))] * 3
    corners = [nodes[z, y, x] for z, y, x in product(*ends)]
    return np.stack(corners, axis=3).reshape(-1, CELL_CORNERS, 2)


def _place(grid: FeatureGrid, shape: Shape) -> Voxels:
    """(3, 4): from voxel coordinates (x, y, z) to nodes of a grid with its ring, in which the first has number 1."""
    lengths = np.array([max(n - 1, 1) for n in shape[::-1]], float)
    transform = grid.transform.astype(float)
    # A point of the field is voxel * 2 / length - 1; an axis of one voxel lies at 0.
    offset = np.array([-1.0 if n > 1 else 0.0 for n in shape[::-1]])
    matrix, shift = transform[:, :3] * (2.0 / lengths), transform[:, :3] @ offset + transform[:, 3]
    half = 0.5 * (np.array(grid.features.shape[:0:-1], float) - 1)
    return np.concatenate([matrix * half[:, None], ((shift + 1) * half + 1)[:, None]], axis=1)


def _padded_weights(field: NeuralField, pairs: list[tuple[int, int]], count: int) -> list[Floats]:
    """The decoder's layers for ``count`` pairs of inputs and 64 hidden units; what is not there is zero."""
    first, second, last = field.decoder.weights
    starts = np.cumsum([0, *(grid.width for grid in field.grids)])
    padded = [np.zeros(shape, np.float32) for shape in ((2 * count, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, 1))]
    for number, (which, feature) in enumerate(pairs):
        rows = first[starts[which] + feature : min(starts[which] + feature + 2, starts[which + 1])]
        padded[0][2 * number : 2 * number + len(rows), : first.shape[1]] = rows
    padded[1][: second.shape[0], : second.shape[1]] = second
    padded[2][: last.shape[0]] = last
    return padded


def _as_fragments(weights: list[Floats]) -> Voxels:
    """Weights in half precision, in the order in which the threads of a warp take them for m16n8k16 products.

    Of a tile of 16 inputs and 8 outputs, thread 4 n + t has inputs 2 t, 2 t + 1, 2 t + 8 and 2 t + 9 of output n.
    """
    first, second, last = weights
    columns = np.repeat(last, 8, axis=1)
    parts = [_fragments(first, 2), _fragments(second, 2), _fragments(columns, 1)]
    return np.concatenate([part.astype(np.float16).ravel() for part in parts])


def _fragments(matrix: Floats, together: int) -> Voxels:
    """(tiles of inputs, tiles of outputs / together, threads, together, 4)."""
    inputs, outputs = matrix.shape
    tiles = matrix.reshape(inputs // 16, 2, 4, 2, outputs // 8, 8)  # tile, half, t, pair, tile of outputs, n
    by_thread = tiles.transpose(0, 4, 5, 2, 1, 3)  # tile, tile of outputs, n, t, half, pair
    found = by_thread.reshape(inputs // 16, outputs // 8 // together, together, 32, 4)
    return np.ascontiguousarray(found.transpose(0, 1, 3, 2, 4))
