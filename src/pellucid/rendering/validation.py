"""Which scenes can be drawn.

Here: refusing a scene before anything is loaded for it.
Not here: parts that are wrong by themselves (scene), memory (fields).
"""

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.rendering.scene import Scene, VolumeLayer

MAX_IMAGE = 16384
MOST_VOLUMES = 8


def check(scene: Scene, width: int, height: int) -> None:
    """Refuse what cannot be drawn."""
    if not (isinstance(width, int | np.integer) and isinstance(height, int | np.integer)):
        raise InvalidInput(f"A picture of {width} × {height} cannot be made.", remedy="Give whole numbers of pixels.")
    if not (1 <= width <= MAX_IMAGE and 1 <= height <= MAX_IMAGE):
        raise InvalidInput(f"A picture of {width} × {height} cannot be made.", remedy=f"Choose 1 to {MAX_IMAGE}.")
    if not (scene.volumes or scene.points or scene.meshes or scene.slices):
        raise InvalidInput("There is nothing in the scene.", remedy="Give it a volume, a slice, points or a mesh.")
    check_layers(scene)


def check_layers(scene: Scene) -> None:
    """Refuse layers that cannot be drawn together, as far as they are not hidden."""
    scene = scene.visible
    if len(scene.volumes) > MOST_VOLUMES:
        raise InvalidInput(f"The scene has {len(scene.volumes)} volumes.", remedy=f"Give it at most {MOST_VOLUMES}.")
    if len(scene.volumes) > 1 and any(layer.mode != "composite" for layer in scene.volumes):
        remedy = "Set every layer's mode to composite, or hide the others."
        raise InvalidInput("Several volumes are only drawn as composites.", remedy=remedy)
    for layer in scene.volumes:
        _check_volume(layer, scene)


def _check_volume(layer: VolumeLayer, scene: Scene) -> None:
    if layer.shading == "user" and (layer.mode != "composite" or len(scene.volumes) > 1):
        remedy = "Set its mode to composite, and hide the others, or choose another shading."
        raise InvalidInput("A user's shading draws one volume, as a composite.", remedy=remedy)
    if layer.shading == "user" and scene.has_translucent_surfaces:
        raise InvalidInput(
            "A user's shading draws no surfaces that are seen through.",
            remedy="Set the opacity of slices and meshes to 1, or choose another shading.",
        )
    if layer.mode == "isosurface" and not layer.isosurfaces:
        raise InvalidInput("There is no isosurface to draw.", remedy="Give at least one isovalue.")
    if layer.labels and (layer.mode != "composite" or layer.shading not in ("none", "gradient")):
        raise InvalidInput(
            f"Labels are not drawn in mode {layer.mode} with {layer.shading} shading.",
            remedy="Set their mode to composite and their shading to none or gradient.",
        )
