"""The legend of an image: the names of labels with their colours.

Here: which lines it has, and drawing them in the upper left.
Not here: the scale bar and the axes (annotations), colours of labels (labels).
"""

from dataclasses import dataclass

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.printable import printable
from pellucid.rendering.annotations import MIN_PIXELS, contrast_colors, letter_size, write
from pellucid.rendering.camera import Vector
from pellucid.rendering.scene import Scene

MAX_LINES = 12
MAX_LETTERS = 40


@dataclass(frozen=True)
class LegendLine:
    """A name and its colour; None where a line stands for all that have no room."""

    name: str
    color: Vector | None


def legend_lines(scene: Scene) -> list[LegendLine]:
    """The labels that have a name and are drawn."""
    found = []
    for layer in scene.visible.volumes:
        labels = layer.labels
        named = [one for one in labels.colors if one.name] if labels is not None else []
        if labels is None or not named:
            continue
        table = labels.table(np.array([one.label for one in named], object).astype(np.int64), 1.0)
        rows = zip(named, table.tolist(), strict=True)
        found += [LegendLine(one.name, (red, green, blue)) for one, (red, green, blue, opacity) in rows if opacity > 0]
    if len(found) > MAX_LINES:
        found = [*found[: MAX_LINES - 1], LegendLine(f"and {len(found) - MAX_LINES + 1} more", None)]
    return found


def with_legend(rgba: Voxels, scene: Scene) -> Voxels:
    """An image, (height, width, 4) uint8, with the legend of its scene, if that is wanted."""
    height, width = rgba.shape[:2]
    if not scene.annotations.is_legend or min(height, width) < MIN_PIXELS or not (lines := legend_lines(scene)):
        return rgba
    from PIL import Image, ImageDraw, ImageFont

    image, size = Image.fromarray(rgba), letter_size(width, height) * scene.annotations.text_scale
    font = ImageFont.load_default(size=size)
    for order, line in enumerate(lines):
        top, edge = round(size * (1 + 1.5 * order)), round(size)
        if line.color is not None:
            _, rim = contrast_colors(image, (edge, top, 2 * edge, top + edge))
            red, green, blue = (round(255 * channel) for channel in line.color)
            ImageDraw.Draw(image).rectangle((edge, top, 2 * edge, top + edge), (red, green, blue, 255), rim)
        text = printable(line.name)[:MAX_LETTERS]
        write(image, (2.6 * edge + font.getlength(text) / 2, top + 0.25 * size), text, size)
    return np.asarray(image)
