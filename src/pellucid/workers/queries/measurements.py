"""What a Worker measures in volumes, at full resolution.

Here: the labels of a volume, the values in a region of the world.
Not here: going through the voxels (volume.label_statistics, volume.region_statistics), single values and profiles
(read).
"""

import threading
from math import isfinite

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.measures import RegionValues
from pellucid.volume import label_statistics, region_statistics
from pellucid.volume.region_statistics import EllipsoidRegion, RegionStatistics, box_between
from pellucid.workers.protocol.replies import LabelsMeasured, RegionMeasured
from pellucid.workers.protocol.requests import MeasureLabels, MeasureRegion
from pellucid.workers.queries.read import to_voxels
from pellucid.workers.queries.sources import Sources


def measure_labels(request: MeasureLabels, sources: Sources, cancel: threading.Event) -> tuple[LabelsMeasured, Voxels]:
    """Voxels, centre and box of every label, and the rows of the table."""
    volume = sources.volume(request.source, request.time)
    rows = label_statistics.measure_labels(volume, cancel).to_rows()
    return LabelsMeasured(request.request, len(rows), volume.dtype.newbyteorder("=").str), rows


def measure_region(request: MeasureRegion, sources: Sources, cancel: threading.Event) -> RegionMeasured:
    """The voxels of a layer whose centres lie in a box or a sphere of the world."""
    volume, layer = sources.volume(request.layer.source, request.time), request.layer
    to_world = layer.transform.matrix() @ np.diag(volume.spacing[::-1])
    points, inside = np.asarray(request.points, float), None
    if request.kind == "sphere":
        radius = float(np.linalg.norm(points[1] - points[0]))
        inside = EllipsoidRegion(to_world, points[0] - np.asarray(layer.transform.translation), radius)
        box = box_between(*inside.bounds(), volume.box)
    else:
        first, second = to_voxels(layer, volume, points)
        box = box_between(first, second, volume.box)
    if request.max_voxels is not None and box.size > request.max_voxels:
        raise InvalidInput(
            f"The region contains {box.size:,} voxels.", remedy=f"Choose one with at most {request.max_voxels:,}."
        )
    found = region_statistics.measure_region(volume, box, inside, cancel)
    return RegionMeasured(request.request, _values(found, abs(float(np.linalg.det(to_world)))))


def _values(found: RegionStatistics, voxel_volume: float) -> RegionValues:
    mean, sigma, low, high = (
        one if isfinite(one) else None for one in (found.mean, found.sigma, found.low, found.high)
    )
    volume = found.voxels * voxel_volume
    return RegionValues(found.voxels, volume, mean, sigma, low, high, tuple(found.counts.tolist()))
