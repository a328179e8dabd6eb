"""Scenes in which labels say where values are drawn.

Here: has_mask, with_masked_light.
Not here: which labels do so (labels), drawing (kernels.multi_volume, reference.volumes).
"""

from dataclasses import replace

from pellucid.rendering.scene import Scene, VolumeLayer


def has_mask(scene: Scene) -> bool:
    return any(is_mask(layer) for layer in scene.volumes)


def is_mask(layer: VolumeLayer) -> bool:
    return layer.labels is not None and layer.labels.is_mask


def with_masked_light(scene: Scene) -> Scene:
    """Without shadows and ambient occlusion where a mask is: what it hides would take light away."""
    if not has_mask(scene):
        return scene
    lit = ("shadow", "occlusion", "full")
    volumes = (replace(one, shading="gradient") if one.shading in lit else one for one in scene.volumes)
    return replace(scene, volumes=tuple(volumes))
