"""Statistics of a whole volume, which normalise every window of it equally.

Here: ValueStatistics; computing it in blocks.
Not here: what is normalised with it (transforms).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.formats.protocol import Voxels
from pellucid.infer.sources import VoxelSource
from pellucid.volume.volume import Volume

MAX_SAMPLED_BYTES = 2**33
BLOCK = (64, 256, 256)
PIECE = 2**13
"""Values at a time: they stay in the caches of a CPU, and no library starts threads for so few."""


@dataclass(frozen=True)
class ValueStatistics:
    """percentiles: by percentage."""

    mean: float = 0.0
    std: float = 1.0
    percentiles: dict[float, float] = field(default_factory=dict)


def measure_statistics(
    volume: Volume, percents: tuple[float, ...] = (), max_bytes: int = MAX_SAMPLED_BYTES
) -> ValueStatistics:
    """Of all voxels that are numbers; memory does not depend on the size of the volume. max_bytes: of larger volumes a
    part is read."""
    count, total, squares, shift = 0, 0.0, 0.0, None
    for box in _sample(volume, max_bytes):
        for values in _pieces(volume.read(box)):
            # A mean far from 0 would leave no digits for the deviation.
            shift = float(values.mean()) if shift is None else shift
            moved = values - shift
            count += moved.size
            total += float(moved.sum())
            squares += float(np.vdot(moved, moved))
    mean = total / count if count else 0.0
    std = float(np.sqrt(max(0.0, squares / count - mean**2))) if count else 1.0
    found = volume.percentiles(*percents).values if percents else {}
    return ValueStatistics(mean + (shift or 0.0), std, found)


def _pieces(voxels: Voxels) -> Iterator[Voxels]:
    """All values that are numbers, as float64."""
    flat = voxels.reshape(-1)
    for start in range(0, flat.size, PIECE):
        values = flat[start : start + PIECE].astype(np.float64)
        if voxels.dtype.kind == "f":
            values = values[np.isfinite(values)]
        if values.size:
            yield values


def measure_sample(source: VoxelSource, percents: tuple[float, ...] = ()) -> tuple[ValueStatistics, ...]:
    """For each channel of a source that is expensive to read: of a box in its middle."""
    edges = triple(map(min, zip(BLOCK, source.shape, strict=True)))
    start = triple((n - e) // 2 for n, e in zip(source.shape, edges, strict=True))
    sample = source.read(Box(start, triple(a + e for a, e in zip(start, edges, strict=True))))
    return channel_statistics(sample, percents)


def channel_statistics(values: Voxels, percents: Iterable[float] = ()) -> tuple[ValueStatistics, ...]:
    """Of an array in memory. values: (channel, ...)."""
    chosen = tuple(percents)
    return tuple(
        ValueStatistics(float(one.mean()), float(one.std()), {p: float(np.percentile(one, p)) for p in chosen})
        for one in values.astype(np.float64)
    )


def _sample(volume: Volume, max_bytes: int) -> list[Box]:
    """All blocks; of larger volumes every second, third, ... one."""
    boxes = list(volume.box.tiles(_block(volume)))
    return boxes[:: max(1, -(-volume.nbytes // max_bytes))]


def _block(volume: Volume) -> Shape:
    """Whole chunks, about the size of BLOCK."""
    return triple(-(-n // c) * c for n, c in zip(BLOCK, volume.chunk, strict=True))
