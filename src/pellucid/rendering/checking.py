"""Which scenes can be drawn.

Here: refusing a scene before anything is loaded for it.
Not here: parts that are wrong by themselves (scene), memory (fields).
"""

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.rendering.scene import Scene, VolumeLayer

LARGEST_PICTURE = 16384
MOST_VOLUMES = 8


def check(scene: Scene, width: int, height: int) -> None:
    """Refuse what cannot be drawn."""
    if not (isinstance(width, int | np.integer) and isinstance(height, int | np.integer)):
        raise InvalidInput(f"A picture of {width} × {height} cannot be made.", do="Give whole numbers of pixels.")
    if not (1 <= width <= LARGEST_PICTURE and 1 <= height <= LARGEST_PICTURE):
        raise InvalidInput(f"A picture of {width} × {height} cannot be made.", do=f"Choose 1 to {LARGEST_PICTURE}.")
    if not (scene.volumes or scene.points or scene.meshes or scene.slices):
        raise InvalidInput("There is nothing in the scene.", do="Give it a volume, a slice, points or a mesh.")
    check_layers(scene)


def check_layers(scene: Scene) -> None:
    """Refuse layers that cannot be drawn together, as far as they are not hidden."""
    scene = scene.visible
    if len(scene.volumes) > MOST_VOLUMES:
        raise InvalidInput(f"The scene has {len(scene.volumes)} volumes.", do=f"Give it at most {MOST_VOLUMES}.")
    if len(scene.volumes) > 1 and any(layer.mode != "composite" for layer in scene.volumes):
        do = "Set every layer's mode to composite, or hide the others."
        raise InvalidInput("Several volumes are only drawn as composites.", do=do)
    for layer in scene.volumes:
        _check_volume(layer, scene)


def _check_volume(layer: VolumeLayer, scene: Scene) -> None:
    if layer.shading == "user" and (layer.mode != "composite" or len(scene.volumes) > 1):
        do = "Set its mode to composite, and hide the others, or choose another shading."
        raise InvalidInput("A user's shading draws one volume, as a composite.", do=do)
    if layer.shading == "user" and scene.is_seen_through:
        raise InvalidInput(
            "A user's shading draws no surfaces that are seen through.",
            do="Set the opacity of slices and meshes to 1, or choose another shading.",
        )
    if layer.mode == "isosurface" and not layer.isosurfaces:
        raise InvalidInput("There is no isosurface to draw.", do="Give at least one isovalue.")
    if layer.labels and (layer.mode != "composite" or layer.shading not in ("none", "gradient")):
        raise InvalidInput(
            f"Labels are not drawn in mode {layer.mode} with {layer.shading} shading.",
            do="Set their mode to composite and their shading to none or gradient.",
        )
