"""Slices whose projections are closest to what was measured, step by step: for few views, or for missing ones.

Here: sirt and cgls.
Not here: projection and back projection, which are each other's transpose.

Every slice goes its own way: its steps do not depend on the slices that are worked on beside it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.device import Array, Device, choose, launch, primitives
from pellucid.tomo.backprojection import Geometry, back_project
from pellucid.tomo.projection import project
from pellucid.tomo.scan import Floats

Between = Callable[[], None]


def nothing() -> None:
    """Between steps, unless somebody wants to know."""


def sirt(
    sinograms: Array,
    geometry: Geometry,
    iterations: int,
    *,
    is_nonnegative: bool = False,
    device: Device | None = None,
    between: Between = nothing,
) -> Array:
    """Simultaneous iterative reconstruction: every step adds the back projection of what is still missing.

    Both are divided by how much of a row, and of a pixel, the views see. is_nonnegative: pixels below 0 become 0 after
    every step. between: called before every step; what it raises ends it.
    """
    from pellucid.tomo.kernels import projection

    device = device or choose()
    room, (slices, _, columns) = primitives(device), sinograms.shape
    images = room.zeros((slices, columns, columns), np.float32)
    paths = project(room.to_device(np.ones(images.shape, np.float32)), geometry, device)
    cover = _transposed(room.to_device(np.ones(sinograms.shape, np.float32)), geometry, device)
    less, more = (room.to_device(np.full(slices, sign, np.float32)) for sign in (-1.0, 1.0))
    for _ in range(iterations):
        between()
        missing = project(images, geometry, device)
        _run(projection.scale_and_add, missing, device, less, sinograms)
        _run(projection.divide, missing, device, paths)
        step = _transposed(missing, geometry, device)
        _run(projection.divide, step, device, cover)
        _run(projection.add_scaled, images, device, more, step)
        if is_nonnegative:
            _run(projection.clip_below_zero, images, device)
    return images


def cgls(
    sinograms: Array,
    geometry: Geometry,
    iterations: int,
    *,
    device: Device | None = None,
    between: Between = nothing,
) -> Array:
    """Conjugate gradients on the least-squares problem: few steps go far, and more begin to fit the noise."""
    from pellucid.tomo.kernels import projection

    device = device or choose()
    room, (slices, _, columns) = primitives(device), sinograms.shape
    images = room.zeros((slices, columns, columns), np.float32)
    missing = room.zeros(sinograms.shape, np.float32)
    _run(projection.add_scaled, missing, device, room.to_device(np.ones(slices, np.float32)), sinograms)
    direction = _transposed(missing, geometry, device)
    slope = _squares(direction, device)
    for _ in range(iterations):
        between()
        seen = project(direction, geometry, device)
        length = _ratio(slope, _squares(seen, device))
        _run(projection.add_scaled, images, device, room.to_device(length), direction)
        _run(projection.add_scaled, missing, device, room.to_device(-length), seen)
        gradient = _transposed(missing, geometry, device)
        before, slope = slope, _squares(gradient, device)
        _run(projection.scale_and_add, direction, device, room.to_device(_ratio(slope, before)), gradient)
    return images


def _transposed(sinograms: Array, geometry: Geometry, device: Device) -> Array:
    return back_project(sinograms, geometry, device, weights=np.ones(len(geometry.angles_rad)))


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
