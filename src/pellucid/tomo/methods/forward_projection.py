"""From slices to sinograms along rays, by Joseph's method, and its exact transpose.

Here: project and project_transposed on a device.
Not here: what projection means (reference.projection.project), iterative methods, which need both (iterative).

A ray runs from the middle of a column of the detector through the slice. On every line of pixels that it crosses (rows,
or columns where it runs more along the rows) it reads between two pixels, and what it reads counts for the way to the
next line. Seen from a pixel, the weights of its rays are a triangle with an area of 1 and a half width of the larger
one of cosine and sine: the transpose adds up its bins with these. All pixels take part, also those outside the circle.
"""

from functools import cache
from typing import Any

import numpy as np

from pellucid.device import Array, Device, LaunchRange, choose, launch, primitives
from pellucid.tomo.methods.direct import ParallelGeometry, Views, add_views, aligned
from pellucid.tomo.scan import Floats


def project(images: Array, geometry: ParallelGeometry, device: Device | None = None) -> Array:
    """Sinograms (slice, view, column) from slices (slice, row, column) of a device."""
    device = device or choose()
    slices, columns, _ = images.shape
    sinograms = primitives(device).empty((slices, len(geometry.angles_rad), columns), np.float32)
    if not geometry.has_one_axis:
        _by_slices(images, geometry, sinograms, device)
    elif device.is_cuda:
        _on_cuda(images, geometry, sinograms, device)
    else:
        _on_cpu(images, geometry, sinograms)
    return sinograms


def project_transposed(sinograms: Array, geometry: ParallelGeometry, device: Device | None = None) -> Array:
    """Slices from sinograms: every bin is added to all pixels that its ray reads, with their weights in it."""
    whole = ParallelGeometry(geometry.angles_rad, geometry.axes, is_circle=False)
    views = Views(np.ones(len(geometry.angles_rad), np.float32), is_transpose=True)
    return add_views(sinograms, whole, views, device)


def rays_of(geometry: ParallelGeometry) -> Floats:
    """(view, 3): by how many pixels rays move from line to line, and from bin to bin; 1 where lines are columns.

    >>> rays_of(ParallelGeometry.shared(np.array([0.0, np.pi / 2]), 1.5, 1)).round(6).tolist()
    [[0.0, 1.0, 0.0], [0.0, -1.0, 1.0]]
    """
    cosine, sine = geometry.turns.T
    is_steep = np.abs(sine) > np.abs(cosine)
    along, across = np.where(is_steep, sine, cosine), np.where(is_steep, cosine, sine)
    return np.stack([across / along, np.where(is_steep, -1.0, 1.0) / along, is_steep], axis=1)


def _by_slices(images: Array, geometry: ParallelGeometry, sinograms: Array, device: Device) -> None:
    from pellucid.tomo.kernels import projection

    room, (slices, views, columns) = primitives(device), sinograms.shape
    inputs = [images, *(room.to_device(values.astype(np.float32)) for values in (rays_of(geometry), geometry.axes))]
    launch(projection.project_slices, (views, slices, columns), inputs=inputs, outputs=[sinograms], device=device)


def _on_cuda(images: Array, geometry: ParallelGeometry, sinograms: Array, device: Device) -> None:
    from pellucid.tomo.kernels import direct, projection

    room, (slices, views, columns) = primitives(device), sinograms.shape
    packets, wide = -(-slices // direct.CUDA_LANES), columns + direct.BORDER
    packed = room.empty((packets, wide, wide, direct.CUDA_LANES), np.float32)
    launch(projection.pack_images, (packets, wide, wide), inputs=[images], outputs=[packed], device=device)
    inputs = [packed, room.to_device(rays_of(geometry).astype(np.float32)), float(geometry.axes[0])]
    launch(_kernel("cuda"), (packets, views, columns), inputs=inputs, outputs=[sinograms], device=device)


def _on_cpu(images: Array, geometry: ParallelGeometry, sinograms: Array) -> None:
    """A packet of neighbouring slices at a time: views whose lines are rows, and then those whose lines are columns."""
    from pellucid.tomo.kernels import direct, projection

    device, (slices, views, columns), rays = choose("cpu"), sinograms.shape, rays_of(geometry)
    lines = aligned((columns, columns + direct.BORDER, direct.CPU_LANES))
    lines[:] = 0
    packed = aligned((views, columns, direct.CPU_LANES))
    kinds = [np.flatnonzero(rays[:, 2] == kind).astype(np.int32) for kind in (0, 1)]
    for start in range(0, slices, direct.CPU_LANES):
        some = slice(start, min(slices, start + direct.CPU_LANES))
        for is_steep, chosen in enumerate(kinds):
            if not len(chosen):
                continue
            inputs = [is_steep, images[some]]
            launch(projection.pack_lines, (columns, columns), inputs=inputs, outputs=[lines], device=device)
            inputs = [lines, np.ascontiguousarray(rays[chosen, :2]), chosen, float(geometry.axes[0])]
            groups = LaunchRange((-(-len(chosen) // projection.VIEWS),), heft=2**20)
            launch(_kernel("cpu"), groups, inputs=inputs, outputs=[packed], device=device)
        shape = (views, some.stop - start, columns)
        launch(projection.unpack, shape, inputs=[packed], outputs=[sinograms[some]], device=device)


@cache
def _kernel(kind: str) -> Any:
    from pellucid.tomo.kernels import projection

    return projection.project_cuda() if kind == "cuda" else projection.project_cpu()
