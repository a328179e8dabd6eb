"""Slices on a device.

Here: a slice in the kernels' own terms, and drawing it where a plane cuts a field.
Not here: the kernel (kernels.slices), which fields there are (renderer).
"""

from typing import Any

import numpy as np

from pellucid.device import Device, LaunchRange, launch, runtime
from pellucid.fields.device_field import DeviceField
from pellucid.rendering.drawing.packing import pack_colors, pack_place
from pellucid.rendering.scene import SliceLayer


def pack_slice(layer: SliceLayer, field: DeviceField) -> Any:
    """The field that a slice cuts, where it stands, and its colours."""
    from pellucid.rendering.kernels import rays

    packed = rays.LayerStruct()
    pack_place(packed, layer, field)
    pack_colors(packed, layer, field, 1.0)
    return packed


def draw_slice(layer: SliceLayer, packed: Any, view: Any, rows: LaunchRange, device: Device) -> None:
    """Into the view's scenery, where nothing nearer is; what it sees of the field is wanted at full resolution.

    packed: what pack_slice gave.
    """
    from pellucid.rendering.kernels import slices

    warp = runtime.start()
    normal = np.asarray(layer.normal) / np.linalg.norm(layer.normal)
    plane = [warp.vec3(*layer.point), warp.vec3(*normal)]
    arguments = [view, packed, *plane, layer.opacity, int(layer.is_solid)]
    launch(slices.draw_slice, rows, arguments, device=device, block_dim=64)
