"""Changing a Scene on request.

Here: a Patch applied to a Scene, and the settings that a Scene has now.
Not here: revisions and who may change it (session).
"""

from dataclasses import replace
from typing import Any

from pellucid.instance.protocol import Patch, Settings
from pellucid.rendering.colors import color_maps, color_points
from pellucid.rendering.scene import Isosurface, Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction


def patched(scene: Scene, patch: Patch) -> Scene:
    """The scene with its first volume drawn as the patch says; what it cannot be is refused."""
    layer, *others = scene.volumes
    changes: dict[str, Any] = {"transfer": _transfer(layer.transfer, patch)}
    if patch.mode is not None:
        changes["mode"] = patch.mode
    if patch.shading is not None:
        changes["shading"] = patch.shading
    if patch.isovalue is not None:
        changes["isosurfaces"] = (Isosurface(patch.isovalue),)
    elif patch.mode == "isosurface" and not layer.isosurfaces:
        changes["isosurfaces"] = (Isosurface(_isovalue(layer)),)
    return replace(scene, volumes=(replace(layer, **changes), *others))


def settings_of(scene: Scene) -> Settings:
    layer = scene.volumes[0]
    value_range, color_map = layer.transfer.value_range, color_map_of(layer.transfer)
    return Settings(value_range, color_map, layer.mode, layer.shading, _isovalue(layer))


def color_map_of(transfer: TransferFunction) -> str:
    """The name of the map whose colours these are, else nothing."""
    colors = [color for _, color in transfer.colors]
    return next((name for name, listed in color_maps().items() if listed == colors), "")


def _transfer(transfer: TransferFunction, patch: Patch) -> TransferFunction:
    if patch.value_range is not None:
        transfer = replace(transfer, value_range=patch.value_range)
    if patch.color_map is not None:
        transfer = replace(transfer, colors=color_points(patch.color_map, transfer.colors[0][0]))
    return transfer


def _isovalue(layer: VolumeLayer) -> float:
    """The surface that is drawn, or the one that would be: half-way between where colours begin and the top."""
    if layer.isosurfaces:
        return layer.isosurfaces[0].value
    low, high = layer.transfer.value_range
    return low + (high - low) * (layer.transfer.colors[0][0] + 1) / 2
