"""What a Worker reads for the slices beside the 3D image.

Here: the range of a slice's values.
Not here: drawing slices (rendering.slice_image), where they are cut (instance.scene.slice_views).
"""

import numpy as np

from pellucid.box import Box, triple
from pellucid.errors import InvalidInput
from pellucid.workers.protocol.replies import SliceMeasured
from pellucid.workers.protocol.requests import MeasureSlice
from pellucid.workers.queries.sources import Sources


def measure_slice(request: MeasureSlice, sources: Sources) -> SliceMeasured:
    """Of all voxels of a slice that are numbers, at full resolution; 0 and 1 where there are none."""
    volume = sources.volume(request.source, request.time)
    if not 0 <= request.axis < 3 or not 0 <= request.index < volume.shape[request.axis]:
        what = f"The volume has no slice {request.index} of axis {request.axis}."
        raise InvalidInput(what, remedy="Choose a slice inside the volume.")
    start = triple(request.index if axis == request.axis else 0 for axis in range(3))
    stop = triple(request.index + 1 if axis == request.axis else n for axis, n in enumerate(volume.shape))
    voxels = volume.read(Box(start, stop))
    finite = voxels[np.isfinite(voxels)]
    low, high = np.percentile(finite, request.percents) if finite.size else (0.0, 1.0)
    return SliceMeasured(request.request, float(low), float(high))
