"""What a training looks like while it goes on: a small version of the volume, and where its grids are.

Here: TrainingSnapshot, watching, and Snapshots, which takes one from time to time.
Not here: training (fitting), showing it (client.training_view).
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

from pellucid.box import Box, Shape, triple
from pellucid.formats.neural_field.field import Floats
from pellucid.formats.neural_field.spline import SplineGrid, spline_on
from pellucid.neural.network import FieldNetwork

PREVIEW_EDGE = 64
PERIOD_S = 0.5
MAX_SHARE = 0.1
"""Of the time of a training that snapshots may take."""

Corners = tuple[tuple[float, float, float], ...]


@dataclass(frozen=True)
class TrainingSnapshot:
    """name: of the training, for users. values: of the preview of the volume, from ``start`` (z, y, x) on. grids: eight
    corners (x, y, z) of each adaptive grid, with x in the lowest bit of their number; -1 and 1 are the ends of the
    volume."""

    name: str
    step: int
    psnr: float
    start: Shape
    values: Floats
    grids: tuple[Corners, ...]


Watcher = Callable[[TrainingSnapshot], None]
_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Trainings in this thread are shown to this from now on."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def preview_shape(shape: Shape) -> Shape:
    """Voxels of the preview of a volume.

    >>> preview_shape((256, 128, 1))
    (64, 32, 1)
    """
    scale = min(1.0, PREVIEW_EDGE / max(shape))
    return triple(max(1, round(n * scale)) for n in shape)


class Snapshots:
    """Of the training of one model. whole: shape of the volume; box: what the model describes; value_range: of the
    network."""

    def __init__(
        self,
        network: FieldNetwork,
        name: str,
        whole: Shape,
        box: Box,
        value_range: tuple[float, float],
        spline: SplineGrid | None,
    ) -> None:
        self._network, self._name, self._whole, self._box = network, name, whole, box
        self._range, self._spline = value_range, spline
        self._watcher = _WATCHER.get()
        self.before: Callable[[], None] = lambda: None
        """Puts what was learnt so far into the network, where it is elsewhere during a training."""
        self._next = 0.0
        self._start, self._axes = _lattice(whole, box)

    @property
    def is_due(self) -> bool:
        return self._watcher is not None and time.monotonic() >= self._next

    def take(self, step: int, psnr: float) -> None:
        if self._watcher is None:
            return
        began = time.monotonic()
        self.before()
        self._watcher(TrainingSnapshot(self._name, step, psnr, self._start, self._values(), tuple(self._grids())))
        ended = time.monotonic()
        self._next = ended + max(PERIOD_S, (ended - began) / MAX_SHARE)

    def _values(self) -> Floats:
        device = next(self._network.parameters()).device
        z, y, x = torch.meshgrid(*(torch.from_numpy(axis).to(device) for axis in self._axes), indexing="ij")
        points = torch.stack([x, y, z], dim=-1).reshape(-1, 3)
        low, high = self._range
        with torch.no_grad():
            found = torch.cat([self._network(part) for part in points.split(1 << 16)]) if len(points) else points[:, 0]
        values = np.asarray((found * (high - low) + low).reshape(z.shape).cpu().numpy(), np.float32)
        return values if self._spline is None else values + spline_on(self._spline, list(self._axes))

    def _grids(self) -> Iterator[Corners]:
        """Corners in the box of the model, then in the volume."""
        units = np.array([(x, y, z) for z, y, x in product((-1.0, 1.0), repeat=3)])
        for group in self._network.adaptive_groups():
            for matrix in group.transforms.detach().cpu().numpy().astype(float):
                if abs(np.linalg.det(matrix[:, :3])) < 1e-9:
                    continue
                local = np.linalg.solve(matrix[:, :3], (units - matrix[:, 3]).T).T
                yield tuple(tuple(corner) for corner in self._in_volume(local).round(4).tolist())

    def _in_volume(self, local: Floats) -> Floats:
        """From [-1, 1] in the box to [-1, 1] in the volume, both (x, y, z)."""
        scales, shifts = [], []
        for axis in (2, 1, 0):
            low, high, last = self._box.start[axis], self._box.stop[axis] - 1, max(self._whole[axis] - 1, 1)
            scales.append((high - low) / last)
            shifts.append((high + low) / last - 1)
        return local * np.array(scales) + np.array(shifts)


def _lattice(whole: Shape, box: Box) -> tuple[Shape, tuple[Floats, ...]]:
    """The voxels of the preview that lie in a box: the first one, and where they are in it, along each axis."""
    starts, axes = [], []
    for n, count, low, high in zip(whole, preview_shape(whole), box.start, box.stop, strict=True):
        places = np.arange(count) * ((n - 1) / (count - 1) if count > 1 else 0.0)
        first, last = (math.ceil(np.searchsorted(places, end - 1e-6)) for end in (low, high - 1 + 2e-6))
        inside = places[first:last]
        starts.append(first)
        axes.append(
            np.asarray((inside - low) * (2 / (high - 1 - low)) - 1 if high - low > 1 else inside * 0.0, np.float32)
        )
    return triple(starts), tuple(axes)
