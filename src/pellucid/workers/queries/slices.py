"""What a Worker reads for the slices beside the 3D image.

Here: the range of a slice's values.
Not here: drawing slices (rendering.slice_image), where they are cut (instance.scene.slice_views).
"""

import threading
from collections.abc import Iterator
from itertools import product
from math import ceil

import numpy as np

from pellucid.box import Box, triple
from pellucid.errors import Cancelled, InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.slice_image import SliceImage
from pellucid.volume.volume import Volume
from pellucid.workers.protocol.replies import SliceMeasured
from pellucid.workers.protocol.requests import MeasureOblique, MeasureSlice
from pellucid.workers.queries.read import to_voxels
from pellucid.workers.queries.sources import Sources

MIN_EDGE, MAX_EDGE = 512, 2048
"""Samples along each edge of an oblique slice: as in its image, several of a small one lie in a voxel, and those of a
large one are further apart."""
TILE = 64
"""Samples along each edge of the parts that are read together: the box around all of them is the whole volume."""


def measure_slice(request: MeasureSlice, sources: Sources) -> SliceMeasured:
    """Of all voxels of a slice that are numbers, at full resolution; 0 and 1 where there are none."""
    volume = sources.volume(request.source, request.time)
    if not 0 <= request.axis < 3 or not 0 <= request.index < volume.shape[request.axis]:
        what = f"The volume has no slice {request.index} of axis {request.axis}."
        raise InvalidInput(what, remedy="Choose a slice inside the volume.")
    start = triple(request.index if axis == request.axis else 0 for axis in range(3))
    stop = triple(request.index + 1 if axis == request.axis else n for axis, n in enumerate(volume.shape))
    return _measured(request, volume.read(Box(start, stop)))


def measure_oblique(request: MeasureOblique, sources: Sources, cancel: threading.Event) -> SliceMeasured:
    """Of the values where the plane cuts the volume, at full resolution and interpolated as in its image; of the slice
    itself, also where its image is of a slab."""
    volume, values = sources.volume(request.layer.source, request.time), list[Voxels]()
    for points in _points(request, volume):
        if cancel.is_set():
            raise Cancelled("Measuring a slice")
        if points.size:
            values.append(volume.sample(points))
    return _measured(request, np.concatenate(values) if values else np.empty(0))


def _points(request: MeasureOblique, volume: Volume) -> Iterator[Voxels]:
    """(n, 3) places (z, y, x) in voxels, those inside the volume, of one part of the slice after the other."""
    count = _samples(request, volume)
    first, across, down = SliceImage(request.place, count, count).steps()
    last = np.array(volume.shape) - 0.5
    for top, left in product(range(0, count, TILE), repeat=2):
        rows, columns = np.mgrid[top : min(top + TILE, count), left : min(left + TILE, count)].reshape(2, -1, 1)
        points = to_voxels(request.layer, volume, first + columns * across + rows * down)
        yield points[((points >= -0.5) & (points <= last)).all(axis=1)]


def _samples(request: MeasureOblique, volume: Volume) -> int:
    """Along each edge of the slice: an odd number for the smallest edge of a voxel, so that one is in its middle."""
    voxels = request.layer.transform.matrix() @ np.diag(volume.spacing[::-1])
    edge = float(np.linalg.norm(request.place.right)) / float(np.linalg.norm(voxels, axis=0).min())
    count = max(ceil(edge - 1e-6), 1)
    return min(count * (ceil(MIN_EDGE / count) | 1), MAX_EDGE)


def _measured(request: MeasureSlice | MeasureOblique, values: Voxels) -> SliceMeasured:
    finite = values[np.isfinite(values)]
    low, high = np.percentile(finite, request.percents) if finite.size else (0.0, 1.0)
    return SliceMeasured(request.request, float(low), float(high))
