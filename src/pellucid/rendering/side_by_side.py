"""Two scenes with one camera, side by side.

Here: giving one scene the look of another, drawing several, a divider and captions.
Not here: drawing one (renderer), scale bars (annotations).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.annotations import letter_size, write
from pellucid.rendering.scene import Scene

Draw = Callable[[Scene, int, int], Voxels]
DIVIDER = (128, 128, 128, 255)


def with_look(scene: Scene, source: str) -> Scene:
    """The same scene of another volume: its first one replaced, and everything that slices it."""
    if not scene.volumes:
        raise InvalidInput("The scene has no volume to compare.", remedy="Pass a volume before --compare.")
    before = scene.volumes[0].source
    layers = tuple(replace(one, source=source) if one.source == before else one for one in scene.volumes)
    slices = tuple(replace(one, source=source) if one.source == before else one for one in scene.slices)
    return replace(scene, volumes=layers, slices=slices)


def panel_size(width: int, height: int, count: int = 2) -> tuple[int, int]:
    """Pixels of one of several images beside each other.

    >>> panel_size(1000, 600)
    (499, 600)
    """
    return max(1, (width - (count - 1) * divider_width(height)) // count), height


def divider_width(height: int) -> int:
    return max(2, height // 400)


def draw_side_by_side(
    draw: Draw, scenes: Sequence[Scene], width: int, height: int, captions: Sequence[str] = ()
) -> Voxels:
    """(height, width, 4) uint8: every scene seen by the camera of the first, the first at the left.

    draw: makes one image, (height, width, 4) uint8, from a scene, a width and a height.
    """
    across, _ = panel_size(width, height, len(scenes))
    sheet = np.empty((height, width, 4), np.uint8)
    sheet[:] = DIVIDER
    for number, scene in enumerate(scenes):
        left = number * (across + divider_width(height))
        rgba = draw(replace(scene, camera=scenes[0].camera), across, height)
        sheet[:, left : left + across] = _captioned(rgba, captions[number] if captions else "")
    end = len(scenes) * (across + divider_width(height)) - divider_width(height)
    sheet[:, end:] = sheet[:, end - 1 : end]  # What is left when the width does not divide evenly.
    return sheet


def _captioned(rgba: Voxels, caption: str) -> Voxels:
    if not caption:
        return rgba
    from PIL import Image

    height, width = rgba.shape[:2]
    image = Image.fromarray(rgba)
    write(image, (width / 2, 1.2 * letter_size(width, height)), caption, letter_size(width, height))
    return np.asarray(image)
