"""Describing a file or an array, and its first view.

Here: describe, for volumes, points and meshes; measure, which goes through all voxels; inspect, which reads none.
Not here: what users choose afterwards (instance).
"""

from contextlib import closing
from dataclasses import replace
from math import prod
from pathlib import PurePath

import numpy as np

from pellucid.box import Shape
from pellucid.errors import DatasetAmbiguous, PellucidError, WrongDimensions
from pellucid.formats.location import Location
from pellucid.formats.orientation import describe_orientation
from pellucid.rendering.first_view.geometry import with_scenery
from pellucid.rendering.first_view.value_range import informative_range
from pellucid.rendering.first_view.volumes import automatic_scene, stack_scene
from pellucid.rendering.geometry.mesh_files import MESH_FILES, load_mesh
from pellucid.rendering.geometry.point_files import COLUMNS, POINT_FILES, load_points
from pellucid.rendering.geometry.shapes import Points
from pellucid.rendering.labels import Labels
from pellucid.rendering.scene import Scene
from pellucid.tomo.scan_files.dataset_guess import may_be_scan
from pellucid.tomo.scan_files.projection_guess import resembles_projections
from pellucid.tomo.scan_files.registry import is_scan, open_scan, projections_dataset
from pellucid.volume.series import open_series
from pellucid.volume.slice_planes import planes_of
from pellucid.volume.statistics import count_values
from pellucid.volume.subsample import subsampled
from pellucid.volume.volume import Volume
from pellucid.workers.protocol.replies import Inspected, Measured, SourceDescribed, VolumeFacts
from pellucid.workers.protocol.requests import Describe, Inspect, MeasureValues
from pellucid.workers.queries.sources import Sources

BINS = 256
NOWHERE: Shape = (0, 0, 0)


def describe(request: Describe, sources: Sources) -> SourceDescribed:
    """Facts, and a layer and a camera that suit them."""
    shape = sources.shape(request.source)
    if shape is not None:
        return _describe_points(request) if isinstance(shape, Points) else _describe_mesh(request)
    ending = PurePath(Location.parse(request.source).path).suffix.lower()
    if ending in MESH_FILES:
        return _describe_mesh(request)
    if ending in POINT_FILES and ending != ".npy":
        return _describe_points(request)
    try:
        return _describe_volume(request, sources.volume(request.source))
    except WrongDimensions as error:
        if not _may_be_points(ending, error):
            raise
        return _describe_points(request)


def _may_be_points(ending: str, error: WrongDimensions) -> bool:
    """Whether a file that is not a volume may have the columns of points; a single image does not."""
    return ending in POINT_FILES and error.shape[1:] in ((), (len(COLUMNS),))


def inspect(request: Inspect) -> Inspected:
    """What a file says of itself; a file that cannot be opened is an answer too."""
    if is_scan(request.source):
        return _inspect_scan(request)
    return replace(_inspect_volume(request), may_be_scan=may_be_scan(request.source))


def _inspect_volume(request: Inspect) -> Inspected:
    try:
        with open_series(request.source) as series:
            header = series.header
    except DatasetAmbiguous as error:
        return Inspected(request.request, datasets=error.names, problem="" if error.names else str(error))
    except WrongDimensions as error:
        # No volume, but maybe the columns of points, of which nothing is known before they are read.
        ending = PurePath(Location.parse(request.source).path).suffix.lower()
        return Inspected(request.request, problem="" if _may_be_points(ending, error) else str(error))
    except PellucidError as error:
        return Inspected(request.request, problem=str(error))
    level = header.levels[0]
    return Inspected(
        request.request, level.shape, level.spacing, header.unit, header.dtype.name, len(header.levels), header.times,
        header.channels,
    )  # fmt: skip


def _inspect_scan(request: Inspect) -> Inspected:
    try:
        with closing(open_scan(request.source)) as scan:
            shape, dtype = scan.projections.shape, scan.projections.dtype.name
        dataset = projections_dataset(Location.parse(request.source).local)
    except PellucidError:  # Something is missing in it, which can be said when it is reconstructed.
        return Inspected(request.request, is_scan=True)
    return Inspected(request.request, shape, dtype=dtype, is_scan=True, datasets=(dataset,) if dataset else ())


def _describe_volume(request: Describe, volume: Volume) -> SourceDescribed:
    facts = facts_of(volume)
    is_stack = facts.is_projections or facts.resembles_projections
    scene = (stack_scene if is_stack else automatic_scene)(volume, aspect=request.aspect)
    (layer,) = scene.volumes
    layer = replace(layer, source=request.source, labels=Labels() if request.is_labels else layer.labels)
    return SourceDescribed(request.request, scene.camera, facts, volume=layer)


def facts_of(volume: Volume) -> VolumeFacts:
    seen, header = subsampled(volume), volume.header
    histogram = seen.histogram(BINS, informative_range(seen))
    share = prod(seen.shape) / prod(volume.shape)
    low, high = float(histogram.edges[0]), float(histogram.edges[-1])
    is_projections = holds_projections(volume)
    return VolumeFacts(
        volume.shape, volume.spacing, volume.unit, volume.dtype.name, len(volume.levels), header.times, header.channels,
        low, high, tuple(round(count / share) for count in histogram.counts.tolist()), seen is not volume,
        planes_of(volume), describe_orientation(volume.orientation), header.compression, is_projections,
        not is_projections and resembles_projections(volume),
        "" if volume.orientation is None else volume.orientation.code,
    )  # fmt: skip


def holds_projections(volume: Volume) -> bool:
    """Whether a volume is a stack of frames from a scan: its file is a scan of frames of this size."""
    location = volume.location
    if location.is_memory or location.is_remote or not is_scan(location.local):
        return False
    try:
        with closing(open_scan(location.local)) as scan:
            return scan.projections.shape[1:] == volume.shape[1:]
    except PellucidError:  # Something is missing in it, but for its projections.
        return True


def measure(request: MeasureValues, sources: Sources, known: tuple[float, float] | None = None) -> Measured:
    """The range of all voxels but a few far outside; those at its ends are counted even if they are few.

    known: the range of all voxels, where it is known already.
    """
    volume = sources.volume(request.source)
    seen = subsampled(volume)
    informative = informative_range(seen)
    low, high = known or (seen if volume.header.is_computed else volume).value_range
    low, high = (low, high if high > low else low + 1) if low <= high else (0.0, 1.0)  # No voxel has a value.
    low, high = informative or (low, high)
    counts = count_values(seen.read(), BINS, (low, high)) * (prod(volume.shape) / prod(seen.shape))
    if informative is None:
        counts[[0, -1]] = counts[[0, -1]].clip(1)
    return Measured(request.request, low, high, tuple(round(count) for count in counts.tolist()))


def _describe_points(request: Describe) -> SourceDescribed:
    points = load_points(request.source)
    scene = with_scenery(Scene(), [request.source], [])
    values = points.values[np.isfinite(points.values)]
    counts, edges = np.histogram(values if len(values) else np.zeros(1), BINS)
    facts = VolumeFacts(
        NOWHERE, (1.0, 1.0, 1.0), "", "float32", 1, 1, 1,
        float(edges[0]), float(edges[-1]), tuple(int(count) for count in counts),
    )  # fmt: skip
    return SourceDescribed(request.request, scene.camera, facts, points=scene.points[0], count=len(points.values))


def _describe_mesh(request: Describe) -> SourceDescribed:
    scene = with_scenery(Scene(), [], [request.source])
    count = len(load_mesh(request.source).triangles)
    return SourceDescribed(request.request, scene.camera, None, mesh=scene.meshes[0], count=count)
