"""Layers of a scene in the form that kernels need, kept until they change.

Here: PackedLayerCache: while only the camera moves, nothing but the camera goes to the device.
Not here: packing a layer (packing), the volumes themselves (fields).
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any
from weakref import WeakKeyDictionary

from pellucid.fields.device_field import DeviceField, solid_distance_of
from pellucid.rendering.cinematic.packing import pack_medium, pack_textured
from pellucid.rendering.drawing.light_rays import THROUGH
from pellucid.rendering.drawing.packing import light_layer, pack_layer
from pellucid.rendering.layers.slices import pack_slice
from pellucid.rendering.scene import Scene, SliceLayer, VolumeLayer

MAX_KEPT = 8
"""For one volume: that many ways to draw it may take turns."""


class PackedLayerCache:
    """The last packed layers of one device, as long as their fields are there."""

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[DeviceField, OrderedDict[Hashable, Any]] = WeakKeyDictionary()

    def layer(self, scene: Scene, layer: VolumeLayer, field: DeviceField, step: float) -> Any:
        """What pack_layer gives, in the scene's light."""
        # What is cut away takes no light away.
        planes = scene.planes if layer.shading in THROUGH else ()
        key = (layer, step, field.changes, field.range_changes, planes)
        packed = self._get(field, key, lambda: pack_layer(scene, layer, field, step))
        return light_layer(packed, scene, layer, field)

    def slice(self, layer: SliceLayer, field: DeviceField) -> Any:
        """What pack_slice gives."""
        return self._get(field, (layer, field.changes, field.range_changes), lambda: pack_slice(layer, field))

    def medium(self, layer: VolumeLayer, field: DeviceField) -> Any:
        """What pack_medium gives."""
        key = ("medium", layer, field.changes, field.range_changes)
        return self._get(field, key, lambda: pack_medium(layer, field))

    def textured(self, medium: Any, field: DeviceField) -> Any:
        """What pack_textured gives."""
        key = ("textured", int(medium.majorants.ptr))
        # With the medium: another one's majorants could get the same address once that one is gone.
        _, textured = self._get(field, key, lambda: (medium, pack_textured(medium, field.device)))
        return textured

    def solid_distance(self, packed: Any, field: DeviceField) -> Any:
        """How far visible cells reach around each (solidity_of), for the vacancy of a packed layer."""
        key = int(packed.vacancy.ptr)
        # With its vacancy: another array could get the same address once that one is gone.
        _, solidity = self._get(field, key, lambda: (packed.vacancy, solid_distance_of(packed.vacancy, field.device)))
        return solidity

    def _get(self, field: DeviceField, key: Hashable, make: Callable[[], Any]) -> Any:
        kept = self._kept.setdefault(field, OrderedDict())
        if key not in kept:
            kept[key] = make()
        kept.move_to_end(key)
        while len(kept) > 2 * MAX_KEPT:
            kept.popitem(last=False)
        return kept[key]
