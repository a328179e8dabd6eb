"""A neural field as a kernel reads it: all features in one array, and numbers that say where they are.

Here: PackedField.
Not here: the kernel (encoding_kernels), the parts of a field (field).
"""

from typing import Any

import numpy as np

from pellucid.formats.neural_field.field import FeatureGrid, HashLevel, NeuralField

Numbers = np.ndarray[Any, Any]


class PackedField:
    """The encodings of a field.

    features: those of every node together, grid after grid and then table after table, float32. grids: (n, 6) first
    feature, nodes along x, y and z, width, column. transforms: (n, 12). levels: (n, 5) first feature, resolution, rows,
    width, column. waves: (n, 3). width: columns of an encoded point.
    """

    def __init__(self, field: NeuralField) -> None:
        self.width = field.width
        parts: list[Numbers] = []
        self._size = self._column = 0
        self.grids = _rows([self._pack_grid(grid, parts) for grid in field.grids], 6)
        self.transforms = np.array([grid.transform.reshape(-1) for grid in field.grids], np.float32).reshape(-1, 12)
        self.levels = _rows([self._pack_level(level, parts) for level in field.hash_levels], 5)
        self.waves = field.fourier.frequencies if field.fourier else np.zeros((0, 3), np.float32)
        self.features = np.concatenate([*parts, np.zeros(1, np.float32)], dtype=np.float32)

    def _pack_grid(self, grid: FeatureGrid, parts: list[Numbers]) -> list[int]:
        _, z, y, x = grid.features.shape
        nodes = np.moveaxis(grid.features, 0, 3)
        return [self._size_before(nodes, parts), x, y, z, grid.width, self._column_before(grid.width)]

    def _pack_level(self, level: HashLevel, parts: list[Numbers]) -> list[int]:
        start = self._size_before(level.table, parts)
        return [start, level.resolution, len(level.table), level.width, self._column_before(level.width)]

    def _size_before(self, features: Numbers, parts: list[Numbers]) -> int:
        before, self._size = self._size, self._size + features.size
        parts.append(np.ascontiguousarray(features).reshape(-1))
        return before

    def _column_before(self, width: int) -> int:
        before, self._column = self._column, self._column + width
        return before


def _rows(rows: list[list[int]], columns: int) -> Numbers:
    return np.array(rows, np.int64).reshape(-1, columns)
