"""Fast evaluation of a neural field on lattices of voxels.

Here: lattice_values: small lattices in NumPy, larger ones with a kernel that encodes and BLAS that decodes.
Not here: the definition that both are tested against (evaluation), boxes of voxels and levels (neural_volume).
"""

from collections.abc import Iterator

import numpy as np

from pellucid.device import LaunchRange, choose, launch
from pellucid.formats.neural_field.evaluation import Axes, decode, values_on
from pellucid.formats.neural_field.field import Floats, NeuralField
from pellucid.formats.neural_field.packed_field import PackedField
from pellucid.formats.neural_field.spline import spline_on

MIN_KERNEL_POINTS = 1 << 15
"""Fewer are not worth loading a kernel for."""

POINTS_AT_ONCE = 1 << 15


def lattice_values(field: NeuralField, packed: PackedField, axes: Axes) -> Floats:
    """Values on a lattice with these positions in [-1, 1] along (z, y, x)."""
    z, y, x = axes
    if len(z) * len(y) * len(x) < MIN_KERNEL_POINTS:
        return values_on(field, axes)
    return kernel_values(field, packed, axes)


def kernel_values(field: NeuralField, packed: PackedField, axes: Axes) -> Floats:
    """The same, with the kernel whatever the size."""
    values = np.empty([len(axis) for axis in axes], np.float32)
    for z, y, x in _parts(axes):
        some = axes[0][z], axes[1][y], axes[2][x]
        found = decode(field, encoded_lattice(packed, some))
        values[z, y, x] = found.reshape([len(axis) for axis in some])
    return values if field.spline is None else values + spline_on(field.spline, axes)


def encoded_lattice(packed: PackedField, axes: Axes) -> Floats:
    """Features of all points of a lattice: (points, width), x fastest."""
    from pellucid.formats.neural_field.encoding_kernels import encode_rows

    z, y, x = axes
    encoded = np.empty((len(z) * len(y) * len(x), packed.width), np.float32)
    rows = LaunchRange((len(z) * len(y),), heft=8 * len(x))
    arrays = [packed.features, packed.grids, packed.transforms, packed.levels, packed.waves]
    launch(encode_rows, rows, [*axes, *arrays], [encoded], choose("cpu"))
    return encoded


def _parts(axes: Axes) -> Iterator[tuple[slice, slice, slice]]:
    """A lattice in pieces of about as many points as are evaluated at once."""
    depth, height, width = (len(axis) for axis in axes)
    columns = min(width, POINTS_AT_ONCE)
    rows = max(1, min(height, POINTS_AT_ONCE // columns))
    slices = max(1, POINTS_AT_ONCE // (columns * rows))
    for k in range(0, depth, slices):
        for j in range(0, height, rows):
            for i in range(0, width, columns):
                yield slice(k, k + slices), slice(j, j + rows), slice(i, i + columns)
