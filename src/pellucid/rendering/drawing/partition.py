"""A volume split into convex parts, one for each of several devices.

Here: where the cuts are, in which order a ray meets the parts, and what a kernel must know of the part it draws.
Not here: drawing them (device_renderer), handing rays from one to the next (multi_device).

Cuts lie between bricks, so that a brick is drawn from one device. They are planes in the world: whatever else is in the
scene is cut by the same ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.box import Box, Shape
from pellucid.device import Device, runtime
from pellucid.fields.sizes import BRICK
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera
from pellucid.rendering.drawing.packing import Size

LOW, HIGH = -1, 1


@dataclass(frozen=True)
class SplitPlane:
    """Between the voxels ``at - 1`` and ``at`` along an axis of (z, y, x)."""

    axis: int
    at: int


@dataclass(frozen=True)
class DeviceShare:
    """What one device draws: its number, and on which side of which cuts it lies."""

    number: int
    sides: tuple[tuple[SplitPlane, int], ...] = ()


@dataclass(frozen=True)
class RenderPart:
    """A convex part of the world. borders: (n, 4) normal and offset; sides: (n,) -1 where normal · point < offset.

    is_first, is_last: whether rays begin and end in it; else they come from the part before, or go on in the next.
    """

    borders: tuple[tuple[float, float, float, float], ...] = ()
    sides: tuple[int, ...] = ()
    is_first: bool = True
    is_last: bool = True


WHOLE = RenderPart()


def shares(
    shape: Shape, count: int, is_low_first: Callable[[SplitPlane], bool] = lambda cut: True
) -> list[DeviceShare]:
    """A volume cut into so many nearly equal parts, each across its longest axis; in the order in which rays meet them.

    Which device has which part does not depend on that order.

    >>> [(share.number, share.sides) for share in shares((32, 32, 128), 2)]
    [(0, ((SplitPlane(axis=2, at=64), -1),)), (1, ((SplitPlane(axis=2, at=64), 1),))]
    """
    return _shares(Box.whole(shape), range(count), (), is_low_first)


def _shares(
    box: Box, numbers: range, sides: tuple[tuple[SplitPlane, int], ...], is_low_first: Callable[[SplitPlane], bool]
) -> list[DeviceShare]:
    if len(numbers) == 1:
        return [DeviceShare(numbers[0], sides)]
    half = len(numbers) // 2
    axis = box.shape.index(max(box.shape))
    cut = SplitPlane(axis, round((box.start[axis] + box.shape[axis] * half / len(numbers)) / BRICK) * BRICK)
    low_box, high_box = _divided(box, cut)
    low = _shares(low_box, numbers[:half], (*sides, (cut, LOW)), is_low_first)
    high = _shares(high_box, numbers[half:], (*sides, (cut, HIGH)), is_low_first)
    return [*low, *high] if is_low_first(cut) else [*high, *low]


def _divided(box: Box, cut: SplitPlane) -> tuple[Box, Box]:
    start, stop = list(box.start), list(box.stop)
    start[cut.axis] = stop[cut.axis] = cut.at
    return Box(box.start, (stop[0], stop[1], stop[2])), Box((start[0], start[1], start[2]), box.stop)


def parts(shape: Shape, to_voxel: tuple[Voxels, Voxels], camera: Camera, count: int) -> list[tuple[int, RenderPart]]:
    """Which devices draw which parts of the world, front to back. to_voxel: matrix and shift from the world."""

    def is_low_first(cut: SplitPlane) -> bool:
        *normal, offset = plane_of(cut, to_voxel)
        if camera.field_of_view_deg is None:
            return bool(np.dot(normal, camera.axes()[2]) >= 0)
        return bool(np.dot(normal, camera.position) < offset)

    found = shares(shape, count, is_low_first)
    return [
        (
            share.number,
            RenderPart(
                tuple(plane_of(cut, to_voxel) for cut, _ in share.sides),
                tuple(side for _, side in share.sides),
                is_first=share is found[0],
                is_last=share is found[-1],
            ),
        )
        for share in found
    ]


def plane_of(cut: SplitPlane, to_voxel: tuple[Voxels, Voxels]) -> tuple[float, float, float, float]:
    """A cut in the world: unit normal and offset."""
    matrix, shift = to_voxel
    normal, offset = matrix[2 - cut.axis], cut.at - 0.5 - shift[2 - cut.axis]
    length = np.linalg.norm(normal)
    x, y, z = (float(n / length) for n in normal)
    return x, y, z, float(offset / length)


def pack_part(view: Any, part: RenderPart, size: Size, device: Device) -> None:
    """Give a view the part that it shows; where rays end elsewhere, the scenery behind them is not shown."""
    warp = runtime.start()
    borders = np.array(part.borders, np.float32).reshape(-1, 4)
    view.borders = warp.array(borders, dtype=warp.vec4, device=device.name)
    view.sides = warp.array(np.array(part.sides, np.int32), device=device.name)
    view.is_partial = int(not part.is_last)
    view.light = warp.full(size, warp.vec3(1.0, 1.0, 1.0), dtype=warp.vec3, device=device.name)
    if not part.is_first:
        view.before = warp.zeros(size, dtype=warp.vec4, device=device.name)
        view.before_depth = warp.zeros(size, dtype=warp.float32, device=device.name)
    if not part.is_last:
        view.scenery = warp.zeros(size, dtype=warp.vec4, device=device.name)
