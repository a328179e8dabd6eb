"""Presets for a volume that is shown already.

Here: preset_look, from how the volume was shown at first.
Not here: the presets (presets.builtin), the first image of a volume, which looks at its voxels (volumes).
"""

from dataclasses import replace

from pellucid.errors import InvalidInput
from pellucid.rendering.first_view.volumes import BRIGHTENING
from pellucid.rendering.presets.builtin import PRESETS, preset_names
from pellucid.rendering.presets.color_maps import color_points
from pellucid.rendering.scene import VolumeLayer
from pellucid.rendering.transfer import ColorPoint, TransferFunction


def preset_look(layer: VolumeLayer, first: VolumeLayer, name: str) -> VolumeLayer:
    """A layer in the look of a built-in preset, or in the colours of a colour map.

    first: how the volume was shown at first; what was transparent there is air, and stays transparent.
    """
    if name not in preset_names():
        raise InvalidInput(f"Unknown preset {name!r}.", remedy=f"Choose one of: {', '.join(preset_names())}.")
    start, value_range = _end_of_air(first.transfer), first.transfer.value_range
    if name in PRESETS:
        preset = PRESETS[name]
        return replace(layer, transfer=preset.transfer(start, value_range), shading=preset.shading, labels=None)
    return replace(layer, transfer=replace(first.transfer, colors=_colors(name, start)), labels=None)


def _colors(name: str, start: float) -> tuple[ColorPoint, ...]:
    """As ``pellucid render --preset`` spreads them."""
    if start == 0:
        return color_points(name)
    spread = ((start + (1 - start) * at**BRIGHTENING, color) for at, color in color_points(name))
    return ((0.0, (0.0, 0.0, 0.0)), *spread)


def _end_of_air(transfer: TransferFunction) -> float:
    """The position up to which everything is transparent; 0 where nothing is."""
    visible = next((number for number, (_, opacity) in enumerate(transfer.opacities) if opacity > 0), 0)
    return transfer.opacities[visible - 1][0] if visible else 0.0
