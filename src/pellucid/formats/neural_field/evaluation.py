"""Values of a neural field, in NumPy: the definition that every faster evaluation is tested against.

Here: values at points, and values on a lattice.
Not here: what a field consists of (field), evaluation with a kernel (lattice_evaluation).
"""

from typing import Any

import numpy as np

from pellucid.formats.neural_field.field import FeatureGrid, Floats, HashLevel, NeuralField
from pellucid.formats.neural_field.spline import spline_at, spline_on

POINTS_AT_ONCE = 1 << 16
Axes = tuple[Floats, Floats, Floats]
Nodes = np.ndarray[Any, np.dtype[np.int64]]
_PRIMES = np.array([1, 2654435761, 805459861], np.uint64)


def values_at(field: NeuralField, points: Floats) -> Floats:
    """Values at (n, 3) points (x, y, z) in [-1, 1]."""
    values = np.empty(len(points), np.float32)
    for start in range(0, len(points), POINTS_AT_ONCE):
        some = np.ascontiguousarray(points[start : start + POINTS_AT_ONCE], np.float32)
        values[start : start + len(some)] = decode(field, encode(field, some))
        if field.spline:
            values[start : start + len(some)] += spline_at(field.spline, some)
    return values


def values_on(field: NeuralField, axes: Axes) -> Floats:
    """Values on a lattice with these positions in [-1, 1] along (z, y, x)."""
    z, y, x = axes
    values = np.empty((len(z), len(y), len(x)), np.float32)
    rows = max(1, POINTS_AT_ONCE // len(x))
    slices, rows = max(1, rows // len(y)), min(rows, len(y))
    for k in range(0, len(z), slices):
        for j in range(0, len(y), rows):
            part = z[k : k + slices], y[j : j + rows], x
            features = _encode_lattice(field, part)
            values[k : k + slices, j : j + rows] = decode(field, features).reshape([len(axis) for axis in part])
    return values if field.spline is None else values + spline_on(field.spline, axes)


def encode(field: NeuralField, points: Floats) -> Floats:
    """Features of (n, 3) points."""
    parts = [grid_features(grid, points) for grid in field.grids]
    return _joined(field, parts, points)


def decode(field: NeuralField, features: Floats) -> Floats:
    """Values of (n, width) features."""
    *hidden, last = field.decoder.weights
    for weights in hidden:
        features = activated(features @ weights, field.decoder.activation)
    low, high = field.value_range
    return np.asarray((features @ last)[:, 0] * np.float32(high - low) + np.float32(low), np.float32)


def activated(values: Floats, activation: str) -> Floats:
    if activation == "relu":
        return np.maximum(values, 0, out=values)
    return np.asarray(values + np.sin(values) ** 2)  # "snake"


def _joined(field: NeuralField, grids: list[Floats], points: Floats) -> Floats:
    parts = grids + [hash_features(level, points) for level in field.hash_levels]
    if field.fourier:
        phases = np.pi * (points @ field.fourier.frequencies.T)
        parts += [np.sin(phases), np.cos(phases)]
    return np.concatenate(parts, axis=1, dtype=np.float32) if parts else points


def grid_features(grid: FeatureGrid, points: Floats) -> Floats:
    """Trilinear features at points, (n, features)."""
    sizes = np.array(grid.features.shape[:0:-1], np.float32)  # (x, y, z)
    local = points @ grid.transform[:, :3].T + grid.transform[:, 3]
    # Nodes of the grid with one ring of zeros around it: node 0 is the ring, node 1 the grid's first.
    position = np.clip((local + 1) * 0.5 * (sizes - 1) + 1, 0, sizes + 1)
    cell = np.minimum(position.astype(np.int32), sizes.astype(np.int32))
    part = position - cell
    table = _padded_table(grid.features)
    stride = np.array([1, sizes[0] + 2, (sizes[0] + 2) * (sizes[1] + 2)], np.int64)
    first = cell @ stride
    features = np.zeros((len(points), grid.width), np.float32)
    for corner in range(8):
        ups = [corner >> axis & 1 for axis in range(3)]
        weight = np.ones(len(points), np.float32)
        for axis, up in enumerate(ups):
            weight = weight * (part[:, axis] if up else 1 - part[:, axis])
        features += table[first + int(np.dot(ups, stride))] * weight[:, None]
    return features


def _padded_table(features: Floats) -> Floats:
    ring = np.pad(features, ((0, 0), (1, 1), (1, 1), (1, 1)))
    return np.ascontiguousarray(ring.reshape(len(features), -1).T)


def hash_features(level: HashLevel, points: Floats) -> Floats:
    """Trilinear features of a hash grid at points, (n, features)."""
    position = np.clip((points + 1) * (0.5 * level.resolution), 0, level.resolution)
    cell = np.minimum(position.astype(np.int64), level.resolution - 1)
    part = (position - cell).astype(np.float32)
    features = np.zeros((len(points), level.width), np.float32)
    for corner in range(8):
        up = np.array([corner >> axis & 1 for axis in range(3)])
        weight = np.prod(np.where(up, part, 1 - part), axis=1, dtype=np.float32)
        features += level.table[hash_rows(cell + up, level)] * weight[:, None]
    return features


def hash_rows(nodes: Nodes, level: HashLevel) -> Nodes:
    """Rows of the table for nodes: their number where all nodes have a row of their own, else a hash."""
    side, rows = level.resolution + 1, len(level.table)
    if side**3 <= rows:
        return np.asarray(nodes @ np.array([1, side, side * side]), np.int64)
    mixed = nodes.astype(np.uint64) * _PRIMES & np.uint64(0xFFFFFFFF)
    return np.asarray(np.bitwise_xor.reduce(mixed, axis=1) % np.uint64(rows), np.int64)


# Lattices of voxels


def _encode_lattice(field: NeuralField, axes: Axes) -> Floats:
    """Features of all points of a lattice with these positions along (z, y, x)."""
    is_simple = all(grid.is_axis_aligned for grid in field.grids)
    needs_points = not is_simple or field.hash_levels or field.fourier is not None
    z, y, x = axes
    points = np.empty((len(z) * len(y) * len(x) if needs_points else 0, 3), np.float32)
    if needs_points:
        mesh = np.meshgrid(z, y, x, indexing="ij")
        for axis in range(3):
            points[:, axis] = mesh[2 - axis].reshape(-1)
    parts = [
        lattice_features(grid, axes) if grid.is_axis_aligned else grid_features(grid, points) for grid in field.grids
    ]
    return _joined(field, parts, points)


def lattice_features(grid: FeatureGrid, axes: Axes) -> Floats:
    """Features of an axis-aligned grid on a lattice: interpolated along one axis after the other."""
    features = grid.features
    for axis in range(3):
        row = grid.transform[2 - axis]
        local = axes[axis] * row[2 - axis] + row[3]
        matrix = interpolation_matrix(local, features.shape[axis + 1])
        features = np.moveaxis(np.tensordot(matrix, features, axes=(1, axis + 1)), 0, axis + 1)
    return np.ascontiguousarray(np.moveaxis(features, 0, 3).reshape(-1, grid.width))


def interpolation_matrix(local: Floats, nodes: int) -> Floats:
    """(points, nodes) weights of linear interpolation that fades to zero over one cell outside [-1, 1]."""
    position = (local + 1) * np.float32(0.5 * (nodes - 1))
    return np.asarray(np.maximum(1 - np.abs(position[:, None] - np.arange(nodes, dtype=np.float32)), 0))
