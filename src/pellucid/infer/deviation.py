"""How far the result of windows is from the result of the whole, measured on a sample.

Here: Deviation, measure_deviation.
Not here: choosing windows (planning).
"""

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.formats.protocol import Voxels
from pellucid.infer.prediction import Predictor
from pellucid.infer.sources import VoxelSource
from pellucid.infer.windows import Windows

MAX_SAMPLE_VOXELS = 2**21
"""Of the network's input, or of its output where that is larger."""


@dataclass(frozen=True)
class Deviation:
    """Absolute differences. sample: what was computed whole, (z, y, x). window: that it was divided into. span: between
    the smallest and the largest value of the result."""

    median: float
    maximum: float
    span: float
    sample: Shape
    window: Shape

    def sentence(self) -> str:
        return (
            f"Deviation from the whole volume at once, on a sample of {self.sample} in windows of {self.window} "
            f"(z, y, x): median {self.median:.2g}, maximum {self.maximum:.2g}, of values that span {self.span:.3g}."
        )


def measure_deviation(predictor: Predictor, source: VoxelSource) -> Deviation | None:
    """Compute a box in the middle of the source at once, and again in smaller windows; None where it has no seams."""
    sample = _sample(predictor, source.shape)
    small = _smaller(predictor.windows, sample.shape)
    if small is None:
        return None
    part = _Part(source, sample)
    whole = _with(predictor, replace(predictor.windows, size=_whole(sample.shape, predictor.windows)))
    expected = whole.predict(part, Box.whole(part.shape))
    found = _with(predictor, small).predict(part, Box.whole(part.shape))
    difference = np.abs(found.astype(np.float64) - expected)
    span = float(expected.max() - expected.min())
    return Deviation(float(np.median(difference)), float(difference.max()), span, part.shape, small.size)


class _Part:
    """A box of a source as a source of its own: the network pads at its border. It is read once: of a chain, the
    networks before this one compute it."""

    def __init__(self, source: VoxelSource, box: Box) -> None:
        self._voxels = source.read(box)
        self.shape, self.channels = box.shape, source.channels

    def read(self, box: Box) -> Voxels:
        return self._voxels[(slice(None), *box.slices)]


def _with(predictor: Predictor, windows: Windows) -> Predictor:
    return Predictor(predictor.network, windows, predictor.runtime, predictor.statistics, 1, predictor.turn)


def _sample(predictor: Predictor, shape: Shape) -> Box:
    """In the middle: one slice for a 2D network; at most so large as a window that fits, and as MAX_SAMPLE_VOXELS."""
    windows, edges = predictor.windows, list(shape)
    if windows.size[0] == 1:
        edges[0] = 1
    limit = min(MAX_SAMPLE_VOXELS // prod(predictor.network.scale), prod(windows.size))
    while prod(edges) > limit:
        axis = max(range(3), key=lambda axis: edges[axis])
        edges[axis] = max(windows.step[axis], edges[axis] // 2 // windows.step[axis] * windows.step[axis])
        if edges[axis] == windows.step[axis]:
            break
    starts = ((n - e) // 2 // s * s for n, e, s in zip(shape, edges, windows.step, strict=True))
    start = triple(starts)
    return Box(start, triple(a + e for a, e in zip(start, edges, strict=True)))


def _whole(shape: Shape, windows: Windows) -> Shape:
    return triple(-(-n // s) * s for n, s in zip(shape, windows.step, strict=True))


def _smaller(windows: Windows, shape: Shape) -> Windows | None:
    """Windows that divide the longest axes of the sample, with the same halo."""
    if windows.is_fixed:
        return None
    size = list(_whole(shape, windows))
    for axis in range(3):
        step, margin = windows.step[axis], windows.margin[axis]
        half = -(-size[axis] // (2 * step)) * step + margin
        if size[axis] > 1 and half < size[axis]:
            size[axis] = max(half, windows.min_size[axis]) if windows.min_size[axis] < size[axis] else size[axis]
    return None if tuple(size) == _whole(shape, windows) else replace(windows, size=triple(size))
