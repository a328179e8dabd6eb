"""Annotations on a finished image: a scale bar, and the directions of the axes.

Here: how long the bar is and where the axes point, from the camera alone; drawing both.
Not here: what is in the image (renderer); captions of images side by side (side_by_side).
"""

from dataclasses import dataclass
from math import floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera, Vector

if TYPE_CHECKING:
    from PIL import Image

Point = tuple[float, float]
Color = tuple[int, int, int]
Ink = tuple[int, int, int, int]
Inks = tuple[Ink, Ink]

WIDEST_BAR = 0.28
ROUND = (1, 2, 5)
FINER = 4
MIN_TEXT, MAX_TEXT = 0.25, 8.0
"""Of the size of letters."""
MIN_PIXELS = 24
"""A smaller image cannot be written on."""
WHITE, DARK_RIM = (255, 255, 255, 255), (0, 0, 0, 190)
BLACK, BRIGHT_RIM = (0, 0, 0, 255), (255, 255, 255, 190)
AXES: tuple[tuple[str, Color], ...] = (("x", (240, 96, 88)), ("y", (112, 200, 96)), ("z", (96, 160, 255)))
FORWARD: Vector = (1.0, 1.0, 1.0)
METRES = {"pm": -12, "nm": -9, "µm": -6, "mm": -3, "m": 0}
SPELLED = {
    "um": "µm", "μm": "µm", "micron": "µm", "microns": "µm", "micrometer": "µm", "micrometre": "µm",
    "nanometer": "nm", "nanometre": "nm", "millimeter": "mm", "millimetre": "mm", "meter": "m", "metre": "m",
    "picometer": "pm", "picometre": "pm",
}  # fmt: skip


@dataclass(frozen=True)
class Annotations:
    """What is drawn on the image. unit: the unit of the world, such as "um", for the scale bar. is_legend: the names of
    labels that have one, with their colours. is_color_bar: the colours of the first volume and their values;
    value_unit: of these. text_scale: size of all letters, over that which suits the image.

    In perspective the bar is correct at the depth of the camera's target.
    """

    is_scale_bar: bool = False
    is_axes: bool = False
    unit: str = ""
    is_legend: bool = False
    is_color_bar: bool = False
    value_unit: str = ""
    text_scale: float = 1.0

    def __post_init__(self) -> None:
        if not MIN_TEXT <= self.text_scale <= MAX_TEXT:
            remedy = f"Use {MIN_TEXT} to {MAX_TEXT}; 1 suits most images."
            raise InvalidInput(f"Invalid text scale: {self.text_scale}.", remedy=remedy)


@dataclass(frozen=True)
class ScaleBar:
    """length: in world units. pixels: as long in the image. label: with a unit that suits it."""

    length: float
    pixels: float
    label: str


@dataclass(frozen=True)
class Axis:
    """An arm of the axes: from ``root`` to ``tip`` in pixels; depth: towards the eye is negative, from -1 to 1."""

    name: str
    color: Color
    root: Point
    tip: Point
    depth: float


def scale_bar(camera: Camera, width: int, height: int, unit: str = "") -> ScaleBar:
    """The longest round length that takes little of the image.

    >>> scale_bar(Camera(field_of_view_deg=None, height=1000.0), 1000, 1000, "um")
    ScaleBar(length=200.0, pixels=200.0, label='200 µm')
    """
    per_unit = height / camera.visible_height
    length = _round_below(WIDEST_BAR * min(width, 1.2 * height) / per_unit)
    return ScaleBar(length, length * per_unit, _label(length, unit))


def axes(camera: Camera, width: int, height: int, signs: Vector = FORWARD) -> list[Axis]:
    """The world's x, y and z as the camera sees them from afar, in the lower left; the farthest first.

    signs: -1 for an axis along which the volume is mirrored, so that its arm points to higher indices.
    """
    right, up, forward = camera.axes()
    arm = 0.075 * min(width, height)
    root = (1.7 * arm, height - 1.7 * arm)
    found = [
        Axis(name, color, root, (root[0] + arm * float(a), root[1] - arm * float(b)), float(depth))
        for (name, color), a, b, depth in zip(AXES, right * signs, up * signs, forward * signs, strict=True)
    ]
    return sorted(found, key=lambda axis: -axis.depth)


def annotated(rgba: Voxels, camera: Camera, annotations: Annotations, signs: Vector = FORWARD) -> Voxels:
    """An image, (height, width, 4) uint8, with what is to be written on it. signs: of the axes' arms."""
    height, width = rgba.shape[:2]
    if not (annotations.is_scale_bar or annotations.is_axes) or min(height, width) < MIN_PIXELS:
        return rgba
    from PIL import Image

    image = Image.fromarray(rgba)
    if annotations.is_axes:
        _draw_axes(image, axes(camera, width, height, signs), annotations.text_scale)
    if annotations.is_scale_bar:
        _draw_bar(image, scale_bar(camera, width, height, annotations.unit), annotations.text_scale)
    return np.asarray(image)


def write(image: "Image.Image", centre: Point, text: str, size: float) -> None:
    """One line of letters, with a rim, that are read on dark and on light."""
    from PIL import ImageFont

    font = ImageFont.load_default(size=size)
    plain = text.replace("µ", "u")
    wide, tall = round(font.getlength(plain) + 2 * size), round(2 * size)
    origin = (wide / 2 - font.getlength(plain) / 2, round(1.3 * size))
    left, top = round(centre[0] - wide / 2), round(centre[1] - size)
    inks = contrast_colors(image, (left, top, left + wide, top + tall))
    tile = _letters((wide, tall), origin, plain, font, inks)
    if "µ" in text:  # The font that is always there lacks it: a u with the stem of a p.
        start = origin[0] + font.getlength(plain[: text.index("µ")])
        below = (round(start - size / 10), round(origin[1]), round(start + size / 4), tall)
        tile.alpha_composite(_letters((wide, tall), origin, text.replace("µ", "p"), font, inks).crop(below), below[:2])
    inside = (max(0, -left), max(0, -top), wide, tall)
    image.alpha_composite(tile.crop(inside), (max(0, left), max(0, top)))


def contrast_colors(image: "Image.Image", area: tuple[int, int, int, int]) -> Inks:
    """For what is written and for its rim: white on dark, and black on a light part of the image."""
    pixels = np.asarray(image.crop(area), np.float32)
    is_light = (pixels[..., :3].mean(axis=-1) * pixels[..., 3] / 255).mean() > 140
    return (BLACK, BRIGHT_RIM) if is_light else (WHITE, DARK_RIM)


def _letters(area: tuple[int, int], origin: Point, text: str, font: Any, inks: Inks) -> "Image.Image":
    """origin: left end of the line that the letters stand on."""
    from PIL import Image, ImageDraw

    tile = Image.new("RGBA", area, (0, 0, 0, 0))
    rim = max(1.0, font.size / 10)
    ImageDraw.Draw(tile).text(origin, text, inks[0], font, "ls", stroke_width=rim, stroke_fill=inks[1])
    return tile


def letter_size(width: int, height: int) -> float:
    """Pixels from line to line that can be read at this size of the image."""
    return max(10.0, min(width, height) / 36)


def _round_below(length: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not longer.

    >>> [_round_below(length) for length in (0.3, 7.0, 199.0, 2000.0)]
    [0.2, 5.0, 100.0, 2000.0]
    """
    power = floor(log10(length) + 1e-9)
    first = max(digit for digit in ROUND if digit <= length / 10.0**power + 1e-9)
    return float(f"{first}e{power}")


def _label(length: float, unit: str) -> str:
    """A length with a unit in which it is a number users say.

    >>> _label(2000.0, "nm"), _label(0.05, "millimeter"), _label(50.0, "voxels"), _label(0.2, "")
    ('2 µm', '50 µm', '50 voxels', '0.2')
    """
    unit = SPELLED.get(unit, unit)
    if unit in METRES:
        metres = length * 10.0 ** METRES[unit]
        fitting = [name for name in METRES if metres >= 0.999 * 10.0 ** METRES[name]]
        unit = fitting[-1] if fitting else unit
        length = metres / 10.0 ** METRES[unit]
    return f"{length:.6g} {unit}".strip()


def _draw_bar(image: "Image.Image", bar: ScaleBar, text_scale: float) -> None:
    """In the lower right, its ends at whole pixels."""
    from PIL import ImageDraw

    width, height = image.size
    size = letter_size(width, height) * text_scale
    thick, rim = max(2, round(size / 5)), max(1, round(size / 16))
    right, bottom = width - round(size), height - round(size)
    left, top = right - max(1, round(bar.pixels)), bottom - thick
    ink, around = contrast_colors(image, (left, top, right, bottom))
    draw = ImageDraw.Draw(image)
    draw.rectangle((left - rim, top - rim, right - 1 + rim, bottom - 1 + rim), (*around[:3], 255))
    draw.rectangle((left, top, right - 1, bottom - 1), ink)
    write(image, ((left + right) / 2, top - 0.75 * size), bar.label, size)


def _draw_axes(image: "Image.Image", arms: list[Axis], text_scale: float) -> None:
    """Drawn finer and shrunk, so that slanted arms are smooth."""
    from PIL import Image, ImageDraw

    reach = 2 * round(arms[0].root[0])
    low = image.size[1] - reach
    tile = Image.new("RGBA", (reach * FINER, reach * FINER), (0, 0, 0, 0))
    draw = ImageDraw.Draw(tile)
    thick = max(2.0, reach / 45) * FINER
    for arm in arms:
        ends = [(x * FINER, (y - low) * FINER) for x, y in (arm.root, arm.tip)]
        _draw_arm(draw, ends, arm.color, thick)
    image.alpha_composite(tile.resize((reach, reach), Image.Resampling.BOX), (0, max(0, low)))
    for arm in arms:
        away = [tip + 0.32 * (tip - root) for root, tip in zip(arm.root, arm.tip, strict=True)]
        write(image, (away[0], away[1]), arm.name, letter_size(*image.size) * text_scale)


def _draw_arm(draw: Any, ends: list[Point], color: Color, thick: float) -> None:
    for width, fill in ((thick * 1.7, DARK_RIM), (thick, (*color, 255))):
        draw.line(ends, fill, round(width))
        for x, y in ends:
            draw.ellipse((x - width / 2, y - width / 2, x + width / 2, y + width / 2), fill)
