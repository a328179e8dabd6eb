"""What a Worker reads for the slices beside the 3D image.

Here: cutting a slice in grey or in colours, the range of its values.
Not here: where slices are cut (instance.scene.slice_views), planes inside the 3D image (rendering).
"""

import numpy as np

from pellucid.box import Box, triple
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.labels import Labels
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.slice_planes import cut_slice, planes_of
from pellucid.volume.slice_sheet import grey_levels
from pellucid.volume.volume import Volume
from pellucid.workers.protocol.replies import Sliced, SliceMeasured
from pellucid.workers.protocol.requests import MeasureSlice, Slice
from pellucid.workers.queries.sources import Sources


def cut(request: Slice, sources: Sources) -> tuple[Sliced, Voxels]:
    """One slice and its pixels: uint8, grey (height, width) or in the colours of the layer (height, width, 3).

    Pixels are square in world units.
    """
    volume = sources.volume(request.source, request.time)
    _check_slice(volume, request.axis, request.index)
    plane = planes_of(volume)[request.axis]
    extent = plane.extent(volume)
    height, width = (max(1, round(request.edge * length / max(extent))) for length in extent)
    voxels = cut_slice(volume, plane, request.index, (height, width))
    if request.labels is None and request.window is not None:
        return Sliced(request.request, width, height, 1), grey_levels(voxels, *request.window)
    return Sliced(request.request, width, height), colored(voxels, request.transfer, request.labels)


def measure_slice(request: MeasureSlice, sources: Sources) -> SliceMeasured:
    """Of all voxels of a slice that are numbers, at full resolution; 0 and 1 where there are none."""
    volume = sources.volume(request.source, request.time)
    _check_slice(volume, request.axis, request.index)
    start = triple(request.index if axis == request.axis else 0 for axis in range(3))
    stop = triple(request.index + 1 if axis == request.axis else n for axis, n in enumerate(volume.shape))
    voxels = volume.read(Box(start, stop))
    finite = voxels[np.isfinite(voxels)]
    low, high = np.percentile(finite, request.percents) if finite.size else (0.0, 1.0)
    return SliceMeasured(request.request, float(low), float(high))


def _check_slice(volume: Volume, axis: int, index: int) -> None:
    if not 0 <= axis < 3 or not 0 <= index < volume.shape[axis]:
        raise InvalidInput(
            f"The volume has no slice {index} of axis {axis}.", remedy="Choose a slice inside the volume."
        )


def colored(voxels: Voxels, transfer: TransferFunction, labels: Labels | None) -> Voxels:
    """The colours of values or labels, opacity left out."""
    if labels is not None:
        names, where = np.unique(voxels, return_inverse=True)
        colors = labels.table(names, 1.0)
        colors[colors[:, 3] == 0, :3] = 0
        return (colors[where.reshape(voxels.shape), :3] * 255 + 0.5).astype(np.uint8)
    table = (transfer.table(1.0)[:, :3] * 255 + 0.5).astype(np.uint8)
    image: Voxels = table[transfer.index(voxels)]
    return image
