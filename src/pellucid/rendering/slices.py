"""Slices on a device.

Here: drawing one where a plane cuts a field.
Not here: the kernel (kernels.slices), which fields there are (renderer).
"""

from typing import Any

import numpy as np

from pellucid.device import Portion, launch, runtime
from pellucid.fields.sampled import SampledField
from pellucid.rendering.packing import pack_colors, pack_place
from pellucid.rendering.scene import SliceLayer


def draw_slice(layer: SliceLayer, field: SampledField, view: Any, rows: Portion) -> None:
    """Into the view's scenery, where nothing nearer is; what it sees of the field is wanted at full resolution."""
    from pellucid.rendering.kernels import rays, slices

    warp = runtime.start()
    packed = rays.Layer()
    pack_place(packed, layer, field)
    pack_colors(packed, layer, field, 1.0)
    normal = np.asarray(layer.normal) / np.linalg.norm(layer.normal)
    plane = [warp.vec3(*layer.point), warp.vec3(*normal)]
    arguments = [view, packed, *plane, layer.opacity, int(layer.is_solid)]
    launch(slices.draw_slice, rows, arguments, device=field.device, block_dim=64)
