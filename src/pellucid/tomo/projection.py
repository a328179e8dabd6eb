"""From slices to sinograms: the exact transpose of direct back projection.

Here: project on a device.
Not here: what it means (reference.project), who needs it (iterative).
"""

from functools import cache
from typing import Any

import numpy as np

from pellucid.device import Array, Device, Portion, choose, launch, primitives
from pellucid.tomo.backprojection import Geometry, aligned


def project(images: Array, geometry: Geometry, device: Device | None = None) -> Array:
    """Sinograms (slice, view, column) from slices (slice, row, column) of a device."""
    device = device or choose()
    slices, columns, _ = images.shape
    sinograms = primitives(device).empty((slices, len(geometry.angles_rad), columns), np.float32)
    if geometry.has_one_axis and not device.is_cuda:
        _on_cpu(images, geometry, sinograms)
    else:
        _by_bins(images, geometry, sinograms, device)
    return sinograms


def _by_bins(images: Array, geometry: Geometry, sinograms: Array, device: Device) -> None:
    from pellucid.tomo.kernels import projection

    room, (slices, views, columns) = primitives(device), sinograms.shape
    numbers = (geometry.turns, geometry.axes, geometry.radii(columns))
    inputs = [images, *(room.to_device(values.astype(np.float32)) for values in numbers)]
    launch(projection.project_bins, (views, slices, columns), inputs=inputs, outputs=[sinograms], device=device)


def _on_cpu(images: Array, geometry: Geometry, sinograms: Array) -> None:
    """A packet of neighbouring slices at a time."""
    from pellucid.tomo.kernels import direct, projection

    device, (slices, views, columns) = choose("cpu"), sinograms.shape
    lanes = direct.CPU_LANES
    images_packed = aligned((columns, columns, lanes))
    packed = aligned((1, views, columns + direct.BORDER, lanes))
    inputs = [images_packed, geometry.turns, float(geometry.axes[0]), float(geometry.radii(columns)[0])]
    groups = Portion((-(-views // projection.VIEWS),), heft=2**20)
    for start in range(0, slices, lanes):
        some = slice(start, min(slices, start + lanes))
        packed[:] = 0
        pixels = (columns, columns)
        launch(projection.pack_images, pixels, inputs=[images[some]], outputs=[images_packed], device=device)
        launch(_kernel(), groups, inputs=inputs, outputs=[packed], device=device)
        shape = (views, some.stop - start, columns)
        launch(projection.unpack, shape, inputs=[packed], outputs=[sinograms[some]], device=device)


@cache
def _kernel() -> Any:
    from pellucid.tomo.kernels import projection

    return projection.project_cpu()
