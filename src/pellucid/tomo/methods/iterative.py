"""Iterative methods (SIRT, CGLS): slices whose projections are closest to the measured ones.

Here: sirt and cgls.
Not here: projection and its transpose (projection).

All pixels of a slice take part, for rays also pass those outside the circle that every view sees; these are set to 0 at
the end, where they are not wanted. Every slice goes its own way: its steps do not depend on the slices that are worked
on beside it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.device import Array, Device, choose, launch, primitives
from pellucid.tomo.methods.direct import ParallelGeometry
from pellucid.tomo.methods.forward_projection import project, project_transposed
from pellucid.tomo.scan import Floats

Between = Callable[[], None]

DAMPING = 0.05
"""Of cgls, times the number of views. Projection and its transpose multiply a wave of f cycles per pixel by about
views / (π f): waves that the interpolation of rays leaves less than this of, most of them shorter than two pixels, are
damped. The level of a slice N pixels wide is lower by about 0.05 / N."""


def nothing() -> None:
    """The default callback between iterations: it does nothing."""


def sirt(
    sinograms: Array,
    geometry: ParallelGeometry,
    iterations: int,
    *,
    is_nonnegative: bool = False,
    device: Device | None = None,
    between: Between = nothing,
) -> Array:
    """Simultaneous iterative reconstruction: every step adds the transposed projection of what is still missing.

    What is missing is divided by the length of its rays, and what is added by how much the views see of a pixel.
    is_nonnegative: pixels below 0 become 0 after every step. between: called before every step; what it raises ends it.
    """
    from pellucid.tomo.kernels import projection

    device = device or choose()
    room, (slices, _, columns) = primitives(device), sinograms.shape
    images = room.zeros((slices, columns, columns), np.float32)
    one = geometry.part(slice(0, 1 if geometry.has_one_axis else slices))  # The same for all that share an axis.
    lengths = project(room.to_device(np.ones((len(one.axes), columns, columns), np.float32)), one, device)
    seen = room.to_device(np.ones((len(one.axes), *sinograms.shape[1:]), np.float32))
    cover = project_transposed(seen, one, device)
    del seen
    less, more = (room.to_device(np.full(slices, sign, np.float32)) for sign in (-1.0, 1.0))
    for _ in range(iterations):
        between()
        missing = project(images, geometry, device)
        _run(projection.scale_and_add, missing, device, less, sinograms)
        _run(projection.divide, missing, device, lengths)
        step = project_transposed(missing, geometry, device)
        _run(projection.divide, step, device, cover)
        _run(projection.add_scaled, images, device, more, step)
        if is_nonnegative:
            _run(projection.clip_below_zero, images, device)
        del missing, step  # The next projection needs the room.
    return _cut(images, geometry, device)


def cgls(
    sinograms: Array,
    geometry: ParallelGeometry,
    iterations: int,
    *,
    device: Device | None = None,
    between: Between = nothing,
) -> Array:
    """Conjugate gradients on the least-squares problem, damped: few steps go far.

    What the views hardly see is damped (DAMPING): otherwise more and more steps would fit the noise, and the texture
    that rays between pixels leave.
    """
    from pellucid.tomo.kernels import projection

    device = device or choose()
    room, (slices, _, columns) = primitives(device), sinograms.shape
    images = room.zeros((slices, columns, columns), np.float32)
    missing = room.zeros(sinograms.shape, np.float32)
    _run(projection.add_scaled, missing, device, room.to_device(np.ones(slices, np.float32)), sinograms)
    damping = DAMPING * len(geometry.angles_rad)
    less = room.to_device(np.full(slices, -damping, np.float32))
    direction = project_transposed(missing, geometry, device)
    slope = _squares(direction, device)
    for _ in range(iterations):
        between()
        seen = project(direction, geometry, device)
        length = _ratio(slope, _squares(seen, device) + damping * _squares(direction, device))
        _run(projection.add_scaled, images, device, room.to_device(length), direction)
        _run(projection.add_scaled, missing, device, room.to_device(-length), seen)
        del seen  # The transpose needs the room, and the next projection that of the gradient.
        gradient = project_transposed(missing, geometry, device)
        _run(projection.add_scaled, gradient, device, less, images)
        before, slope = slope, _squares(gradient, device)
        _run(projection.scale_and_add, direction, device, room.to_device(_ratio(slope, before)), gradient)
        del gradient
    return _cut(images, geometry, device)


def _cut(images: Array, geometry: ParallelGeometry, device: Device) -> Array:
    """0 outside the circle, where one is wanted."""
    from pellucid.tomo.kernels import projection

    if geometry.is_circle:
        radii = geometry.radii(images.shape[2]).astype(np.float32)
        _run(projection.keep_circle, images, device, primitives(device).to_device(radii))
    return images


def _run(kernel: Any, target: Array, device: Device, *inputs: Array) -> None:
    shape = (target.shape[1], len(target), target.shape[2])
    launch(kernel, shape, inputs=list(inputs), outputs=[target], device=device)


def _squares(values: Array, device: Device) -> Floats:
    """The sum of squares of every slice."""
    from pellucid.tomo.kernels import projection

    room = primitives(device)
    sums = room.empty(values.shape[:2], np.float64)
    launch(projection.sum_squares, (values.shape[1], len(values)), inputs=[values], outputs=[sums], device=device)
    return np.asarray(room.to_host(sums).sum(axis=1))


def _ratio(one: Floats, other: Floats) -> Any:
    """0 where there is nothing left to do."""
    return np.where(other > 0, one / np.where(other > 0, other, 1), 0).astype(np.float32)
