"""The colour bar of an image: which colour stands for which value.

Here: its ticks, and drawing it at the right.
Not here: the scale bar and the axes (annotations), names of labels (legend).
"""

from math import ceil, floor, log10

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.printable import printable
from pellucid.rendering.annotations import MIN_PIXELS, contrast_colors, letter_size, write
from pellucid.rendering.scene import Scene, VolumeLayer

MAX_LETTERS = 24
STEPS = (1, 2, 5, 10)
TICKS = 5
"""So many, or a few less."""


def ticks(low: float, high: float) -> list[float]:
    """Round values from low to high.

    >>> ticks(0.0, 255.0), ticks(-0.02, 0.031)
    ([0.0, 100.0, 200.0], [-0.02, 0.0, 0.02])
    """
    rough = (high - low) / (TICKS - 1)
    power = 10.0 ** floor(log10(rough))
    step = next(digit * power for digit in STEPS if digit * power >= rough * (1 - 1e-9))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def colored_layer(scene: Scene) -> VolumeLayer | None:
    """The first visible volume of values."""
    return next((layer for layer in scene.visible.volumes if layer.labels is None), None)


def with_color_bar(rgba: Voxels, scene: Scene) -> Voxels:
    """An image, (height, width, 4) uint8, with the colours of its first volume and their values, if that is wanted."""
    height, width = rgba.shape[:2]
    layer = colored_layer(scene)
    if not scene.annotations.is_color_bar or layer is None or min(height, width) < MIN_PIXELS:
        return rgba
    from PIL import Image, ImageDraw, ImageFont

    size = letter_size(width, height) * scene.annotations.text_scale
    image, font = Image.fromarray(rgba), ImageFont.load_default(size=size)
    low, high = layer.transfer.value_range
    labels = [(value, f"{value:.6g}") for value in ticks(low, high)]
    unit = printable(scene.annotations.value_unit)[:MAX_LETTERS]
    room = max([font.getlength(text) for _, text in labels], default=0.0)
    length, thick, rim = max(2, round(0.4 * height)), max(2, round(0.8 * size)), max(1, round(size / 16))
    top, left = round(2.6 * size), round(width - 1.2 * size - room - thick - 0.6 * size)
    _, around = contrast_colors(image, (left, top, left + thick, top + length))
    draw = ImageDraw.Draw(image)
    draw.rectangle((left - rim, top - rim, left + thick - 1 + rim, top + length - 1 + rim), (*around[:3], 255))
    image.paste(Image.fromarray(_colors(layer, length, thick)), (left, top))
    for value, text in labels:
        y = top + (length - 1) * (high - value) / (high - low)
        ink, _ = contrast_colors(image, (left + thick, round(y - size / 2), width, round(y + size / 2)))
        draw.line((left + thick, y, left + thick + 0.3 * size, y), ink, rim)
        write(image, (left + thick + 0.6 * size + font.getlength(text) / 2, y - 0.0 * size), text, size)
    if unit:
        write(
            image, (min(left + thick / 2, width - 0.6 * size - font.getlength(unit) / 2), top - 1.2 * size), unit, size
        )
    return np.asarray(image)


def _colors(layer: VolumeLayer, length: int, thick: int) -> Voxels:
    """(length, thick, 4) uint8, the highest value at the top."""
    table = layer.transfer.table(1.0, length)[::-1, :3]
    column = np.concatenate([table * 255 + 0.5, np.full((length, 1), 255.0)], axis=1).astype(np.uint8)
    return np.ascontiguousarray(np.broadcast_to(column[:, None], (length, thick, 4)))
