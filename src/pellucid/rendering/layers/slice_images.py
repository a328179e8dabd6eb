"""Images of slices on a device.

Here: drawing one layer of such an image, and which resolution it needs.
Not here: the kernel (kernels.slice_images), its definition (reference.slice_images), which fields there are (renderer).
"""

from math import floor, log2
from typing import Any

import numpy as np

from pellucid.device import Device, launch, runtime
from pellucid.fields.device_field import DeviceField
from pellucid.formats.protocol import Voxels
from pellucid.rendering.reference.slice_images import samples_per_pixel
from pellucid.rendering.scene import VolumeLayer
from pellucid.rendering.slice_image import SliceImage

PROJECTIONS = {"mean": 0, "max": 1, "min": 2}
VOXELS_BETWEEN_WANTS = 12.0
"""Of a brick, every part that is larger than this asks for it."""


def voxels_per_pixel(layer: VolumeLayer, field: DeviceField, image: SliceImage) -> Voxels:
    """(2, 3): from one pixel to the next, across and downwards, in voxels (x, y, z)."""
    matrix, _ = layer.transform.world_to_voxel(field.spacing)
    _, across, down = image.steps()
    return np.stack([matrix @ across, matrix @ down])


def wanted_level(layer: VolumeLayer, field: DeviceField, image: SliceImage) -> int:
    """The coarsest level that still has a voxel for every pixel."""
    size = float(np.linalg.norm(voxels_per_pixel(layer, field, image), axis=1).min())
    return max(0, floor(log2(max(size, 1.0))))


def draw_slice_image(
    layer: VolumeLayer, packed: Any, field: DeviceField, image: SliceImage, pixels: Any, *, is_over: bool
) -> None:
    """Into the pixels of an image on the device. packed: what pack_slice gave."""
    from pellucid.rendering.kernels import slice_images

    is_bricks = _is_in_bricks(field)
    kernel = slice_images.draw_bricks if is_bricks else slice_images.draw_whole
    plane = _pack(layer, packed, field, image)
    plane.is_over = int(is_over)
    arguments = [field.struct if is_bricks else field.struct.whole, packed.table, plane]
    launch(kernel, (image.height, image.width), arguments, [pixels], field.device, block_dim=64)


def empty_image(image: SliceImage, device: Device) -> Any:
    """(height, width) of black pixels on a device."""
    warp = runtime.start()
    return warp.zeros((image.height, image.width), dtype=warp.vec4ub, device=device.name)


def _pack(layer: VolumeLayer, colors: Any, field: DeviceField, image: SliceImage) -> Any:
    from pellucid.rendering.kernels import slice_images

    warp = runtime.start()
    matrix, shift = layer.transform.world_to_voxel(field.spacing)
    first, across, down = image.steps()
    packed, steps = slice_images.PlaneStruct(), np.stack([matrix @ across, matrix @ down])
    packed.corner = warp.vec3(*(matrix @ first + shift))
    packed.across, packed.down = warp.vec3(*steps[0]), warp.vec3(*steps[1])
    packed.through = warp.vec3(*(matrix @ np.asarray(image.place.step)))
    packed.low, packed.high = colors.low, colors.high
    packed.value_low, packed.value_scale, packed.is_labels = colors.value_low, colors.value_scale, colors.is_labels
    is_labels = layer.labels is not None
    packed.slices = 1 if is_labels else image.thickness
    packed.projection = PROJECTIONS[image.projection]
    packed.samples = 1 if is_labels else samples_per_pixel(steps)
    packed.is_nearest = int(image.place.is_along_voxels)
    size = float(np.linalg.norm(steps, axis=1).max())
    packed.want_every = max(1, int(VOXELS_BETWEEN_WANTS / max(size, 1e-6))) if _is_in_bricks(field) else 0
    return packed


def _is_in_bricks(field: DeviceField) -> bool:
    return field.struct.levels is not None and field.struct.levels.shape[0] > 0
