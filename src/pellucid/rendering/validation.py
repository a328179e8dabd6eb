"""Checks of scenes before they are drawn.

Here: refusing a scene before anything is loaded for it.
Not here: parts that are wrong by themselves (scene), memory (fields).
"""

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.rendering.scene import Scene, VolumeLayer

MAX_IMAGE = 16384
MAX_VOLUMES = 8
LABEL_SHADINGS = ("none", "gradient", "cinematic")


def check(scene: Scene, width: int, height: int) -> None:
    """Refuse what cannot be drawn."""
    if not (isinstance(width, int | np.integer) and isinstance(height, int | np.integer)):
        raise InvalidInput(f"Invalid image size: {width} × {height}.", remedy="Use whole numbers of pixels.")
    if not (1 <= width <= MAX_IMAGE and 1 <= height <= MAX_IMAGE):
        raise InvalidInput(f"Invalid image size: {width} × {height}.", remedy=f"Use 1 to {MAX_IMAGE} pixels.")
    if not (scene.volumes or scene.points or scene.meshes or scene.slices):
        raise InvalidInput("The scene is empty.", remedy="Add a volume, a slice, points or a mesh.")
    check_layers(scene)


def check_layers(scene: Scene) -> None:
    """Refuse layers that cannot be drawn together, as far as they are not hidden."""
    scene = scene.visible
    if len(scene.volumes) > MAX_VOLUMES:
        raise InvalidInput(f"The scene has {len(scene.volumes)} volumes.", remedy=f"Use at most {MAX_VOLUMES}.")
    if len(scene.volumes) > 1 and any(layer.mode != "composite" for layer in scene.volumes):
        remedy = "Set every layer's mode to composite, or hide the others."
        raise InvalidInput("Several volumes can be rendered in composite mode only.", remedy=remedy)
    for layer in scene.volumes:
        _check_volume(layer, scene)


def _check_volume(layer: VolumeLayer, scene: Scene) -> None:
    if layer.shading == "user" and (layer.mode != "composite" or len(scene.volumes) > 1):
        remedy = "Set its mode to composite, and hide the others, or choose another shading."
        raise InvalidInput("A custom shading supports one volume, in composite mode.", remedy=remedy)
    if layer.shading == "user" and scene.has_translucent_surfaces:
        raise InvalidInput(
            "A custom shading does not support translucent surfaces.",
            remedy="Set the opacity of slices and meshes to 1, or choose another shading.",
        )
    if layer.mode == "isosurface" and not layer.isosurfaces:
        raise InvalidInput("The mode isosurface needs an isovalue.", remedy="Set at least one isovalue.")
    if layer.labels and (layer.mode != "composite" or layer.shading not in LABEL_SHADINGS):
        raise InvalidInput(
            f"Labels do not support mode {layer.mode} with {layer.shading} shading.",
            remedy="Set their mode to composite and their shading to none, gradient or cinematic.",
        )
