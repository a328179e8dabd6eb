"""The spline under a neural field: whether a volume is smooth enough for one, and the best one of a size.

Here: choose_spline, fit_spline; SplineResidual, what a spline leaves of a volume for the network.
Not here: values of a spline (formats.neural_field.spline), the network (fitting).

Least squares on a lattice are separable: the coefficients follow from one pass over the volume, plane by plane, on the
device that trains.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from pellucid.box import Box, Shape, triple
from pellucid.engines.stopping import raise_if_stopped
from pellucid.formats.neural_field.coding import coded_arrays
from pellucid.formats.neural_field.field import Floats
from pellucid.formats.neural_field.spline import SUPPORT, SplineGrid, spline_weights, weight_matrix
from pellucid.formats.protocol import Voxels
from pellucid.neural.samples import to_tensor
from pellucid.volume.closable_reader import ClosableReader
from pellucid.volume.volume import Volume

SPLINE_SHARE = 0.85
"""Of a field's bytes, where the volume is smooth."""
SMOOTH_GAIN_DB, SMOOTH_ERROR = 9.0, 1.5e-3
"""By how much the error of a smooth volume falls when cells are halved (a cubic spline's falls by 24 dB, that of noise
by 0); or how small it is already, of the range."""
SAMPLE_SIDE = 128
"""Voxels along an axis of what smoothness is judged by."""
BITS = (12, 8, 5, 3)
"""For a coefficient: from few exact ones to many rough ones. The best is kept."""
SLAB_VOXELS = 2**22
SIZE_TRIES = 4
CPU = torch.device("cpu")


@dataclass(frozen=True)
class FittedSpline:
    """A spline as it is stored. step: to which its coefficients are rounded. residual_range: of what it leaves."""

    grid: SplineGrid
    step: float
    nbytes: int
    mean_square_error: float
    residual_range: tuple[float, float]


def choose_spline(volume: Volume, box: Box, size: int, device: torch.device = CPU) -> FittedSpline | None:
    """The best spline of about this many bytes for a box of a volume; None where the volume is not smooth."""
    budget = int(size * SPLINE_SHARE)
    if not is_smooth(volume, box, budget):
        return None
    best = None
    for bits in BITS:
        cells = cells_for(box.shape, budget * 8 / bits)
        fitted = fit_spline(volume, box, cells, budget, device=device)
        if fitted is None or (best is not None and fitted.mean_square_error >= best.mean_square_error):
            break
        best = fitted
        if cells == triple(max(1, n - 1) for n in box.shape):
            break
    return best


def is_smooth(volume: Volume, box: Box, size: int) -> bool:
    """Whether the error of a spline of about this size falls quickly with its cells."""
    stride = triple(-(-n // SAMPLE_SIDE) for n in box.shape)
    sample = np.concatenate(
        [volume.read(plane)[:, :: stride[1], :: stride[2]] for plane in _planes(box, stride[0])]
    ).astype(np.float64)
    span = float(np.ptp(sample))
    if span == 0 or min(sample.shape) < SUPPORT:
        return False
    fine = triple(min(c, max(1, n // 3)) for c, n in zip(cells_for(box.shape, size), sample.shape, strict=True))
    coarse = triple(max(1, c // 2) for c in fine)
    errors = [_error(sample, cells) / span for cells in (coarse, fine)]
    return errors[0] < SMOOTH_ERROR or 20 * math.log10(errors[0] / max(errors[1], 1e-12)) >= SMOOTH_GAIN_DB


def cells_for(shape: Shape, coefficients: float) -> Shape:
    """Cells of a spline with about so many coefficients, in the aspect ratio of a volume, at most one a voxel."""
    scale = (max(coefficients, SUPPORT**3) / math.prod(shape)) ** (1 / 3)
    return triple(max(1, min(n - 1, round(n * scale) - SUPPORT + 1)) for n in shape)


def fit_spline(
    volume: Volume,
    box: Box,
    cells: Shape,
    size: int | None = None,
    step: float | None = None,
    *,
    device: torch.device = CPU,
) -> FittedSpline | None:
    """The spline of these cells with the least error, rounded to a step, or until it has a size; None where that is
    not possible."""
    exact = _coefficients(volume, box, cells, device)
    if step is None:
        step = _step_for(exact, size or exact.size)
    if step is None:
        return None
    grid = SplineGrid((np.rint(exact / step) * step).astype(np.float32))
    total, low, high = 0.0, math.inf, -math.inf
    residual = SplineResidual(volume, box, grid, device)
    for slab in _slabs(box):
        raise_if_stopped()
        left = residual.left(slab)
        total += float(left.square().sum(dtype=torch.float64))
        low, high = min(low, float(left.min())), max(high, float(left.max()))
    nbytes = len(coded_arrays([(grid.coefficients, step)]))
    return FittedSpline(grid, step, nbytes, total / box.size, (low, high))


class SplineResidual:
    """What a spline over a box leaves of a volume: a Reader of float32, in the volume's own coordinates."""

    def __init__(self, volume: Volume, box: Box, grid: SplineGrid, device: torch.device = CPU) -> None:
        self._volume, self._box, self._grid, self._device = volume, box, grid, device
        level = replace(volume.header.levels[volume.level], shape=volume.shape)
        self.header = replace(volume.header, levels=(level,), dtype=np.dtype(np.float32))

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        for slab in _slabs(box):
            out[slab.relative_to(box.start).slices] = self.left(slab).cpu().numpy()

    def close(self) -> None:
        """The volume belongs to others."""

    def left(self, box: Box) -> torch.Tensor:
        """float32, on the device."""
        values = torch.from_numpy(self._grid.coefficients).to(self._device)
        for positions, cells in zip(_axes(self._box, box), self._grid.cells, strict=True):
            matrix = torch.from_numpy(weight_matrix(*spline_weights(positions, cells), cells + SUPPORT - 1))
            # Axes take turns: after three products they are in order again.
            values = torch.tensordot(values, matrix.to(self._device), dims=([0], [1]))
        return (_read(self._volume, box, self._device) - values).float()

    @property
    def volume(self) -> Volume:
        return Volume(ClosableReader(self), self._volume.location)


def _axes(whole: Box, part: Box) -> list[Floats]:
    """Positions of voxels in [-1, 1] of a box; an axis of one voxel lies at 0."""
    axes = []
    for first, last, low, high in zip(whole.start, whole.stop, part.start, part.stop, strict=True):
        place = np.arange(low, high) - first
        axes.append(np.asarray(place * (2 / (last - first - 1)) - 1 if last - first > 1 else place * 0.0, np.float32))
    return axes


def _projection(positions: Floats, cells: int) -> Any:
    """(coefficients, positions): from values to the coefficients that fit them best."""
    first, weights = spline_weights(positions, cells)
    return np.linalg.pinv(weight_matrix(first, weights, cells + SUPPORT - 1).astype(np.float64))


def _coefficients(volume: Volume, box: Box, cells: Shape, device: torch.device) -> Any:
    along = [torch.from_numpy(_projection(axis, n)).to(device) for axis, n in zip(_axes(box, box), cells, strict=True)]
    total = torch.zeros(triple(n + SUPPORT - 1 for n in cells), dtype=torch.float64, device=device)
    for slab in _slabs(box):
        raise_if_stopped()
        planes = _read(volume, slab, device)
        inside = torch.tensordot(torch.tensordot(planes, along[2], dims=([2], [1])), along[1], dims=([1], [1]))
        start = slab.start[0] - box.start[0]
        total += torch.tensordot(along[0][:, start : start + len(planes)], inside.transpose(1, 2), dims=1)
    return total.cpu().numpy()


def _read(volume: Volume, box: Box, device: torch.device) -> torch.Tensor:
    """Voxels as float64 on a device."""
    voxels = volume.read(box)
    is_exact = voxels.dtype.itemsize <= 2 or voxels.dtype == np.float32
    tensor = to_tensor(voxels) if is_exact else torch.from_numpy(voxels.astype(np.float64))
    return tensor.to(device).double()


def _step_for(exact: Any, size: int) -> float | None:
    """A step with which the coefficients take about this many bytes, and no more."""
    spread = float(np.abs(exact).max()) or 1.0
    step = spread * 2.0 ** (-8 * size / exact.size)
    best = None
    for _ in range(SIZE_TRIES):
        step = max(step, spread * 2.0**-22)
        found = len(coded_arrays([(exact.astype(np.float32), step)]))
        if found <= size:
            best = step if best is None else min(best, step)
        # A bit more or less of each coefficient; a little less than the size is enough.
        step *= 2.0 ** (8 * (found - 0.98 * size) / exact.size)
        if not 0 < step < spread:
            break
    return best


def _error(sample: Any, cells: Shape) -> float:
    """The root mean square error of a spline that fits an array best."""
    values = sample
    for axis, n in enumerate(cells):
        positions = np.linspace(-1, 1, sample.shape[axis], dtype=np.float32)
        first, weights = spline_weights(positions, n)
        matrix = weight_matrix(first, weights, n + SUPPORT - 1).astype(np.float64)
        smoothed = matrix @ np.linalg.pinv(matrix)
        values = np.moveaxis(np.tensordot(smoothed, values, axes=(1, axis)), 0, axis)
    return float(np.sqrt(np.mean((sample - values) ** 2)))


def _slabs(box: Box) -> Iterator[Box]:
    """Some whole planes at a time."""
    _, y, x = box.shape
    yield from _planes(box, planes := max(1, SLAB_VOXELS // (y * x)), planes)


def _planes(box: Box, stride: int, count: int = 1) -> Iterator[Box]:
    """So many planes of a box, every so many."""
    for z in range(box.start[0], box.stop[0], stride):
        yield Box((z, *box.start[1:]), (min(z + count, box.stop[0]), *box.stop[1:]))
