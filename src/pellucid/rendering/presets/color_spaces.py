"""Colours between two colours, in the colour spaces that ParaView's presets name.

Here: resampling control points so that straight lines in RGB between them follow the other space.
Not here: reading the presets (files).
"""

import colorsys
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from pellucid.formats.protocol import Voxels

PIECES = 16
"""Straight pieces between two control points of another space."""

WHITE = np.array([0.95047, 1.0, 1.08883])
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
NEARLY_GREY = 0.05
"""Saturation below which a colour of the diverging space has no hue of its own."""

ValueColor = tuple[float, tuple[float, float, float]]


def resampled(points: Sequence[ValueColor], space: str) -> list[ValueColor]:
    """Control points of a named space as control points to be joined by straight lines in RGB.

    >>> resampled([(0.0, (1.0, 0.0, 0.0)), (1.0, (0.0, 0.0, 1.0))], "RGB")
    [(0.0, (1.0, 0.0, 0.0)), (1.0, (0.0, 0.0, 1.0))]
    """
    between = SPACES.get(space.lower())
    if between is None:
        return list(points)
    dense = list(points[:1])
    for (low, a), (high, b) in pairwise(points):
        for i in range(1, PIECES + 1):
            red, green, blue = np.clip(between(np.array(a), np.array(b), i / PIECES), 0, 1).tolist()
            dense.append((low + (high - low) * i / PIECES, (red, green, blue)))
    return dense


def _in_hsv(a: Voxels, b: Voxels, t: float) -> Voxels:
    """Around the colour circle the shorter way."""
    (hue, *one), (other_hue, *other) = colorsys.rgb_to_hsv(*a), colorsys.rgb_to_hsv(*b)
    turn = (other_hue - hue + 0.5) % 1 - 0.5
    saturation, value = ((1 - t) * p + t * q for p, q in zip(one, other, strict=True))
    return np.array(colorsys.hsv_to_rgb((hue + t * turn) % 1, saturation, value))


def _in_lab(a: Voxels, b: Voxels, t: float) -> Voxels:
    return _from_lab((1 - t) * _to_lab(a) + t * _to_lab(b))


def _diverging(a: Voxels, b: Voxels, t: float) -> Voxels:
    """Lightness, saturation and hue, through white where two strong colours differ (Moreland 2009)."""
    one, other = _to_polar(a), _to_polar(b)
    apart = abs((one[2] - other[2] + np.pi) % (2 * np.pi) - np.pi)
    if one[1] > NEARLY_GREY and other[1] > NEARLY_GREY and apart > np.pi / 3:
        middle = np.array([max(one[0], other[0], 88.0), 0.0, 0.0])
        one, other, t = (one, middle, 2 * t) if t < 0.5 else (middle, other, 2 * t - 1)
    if one[1] < NEARLY_GREY < other[1]:
        one = np.array([one[0], one[1], _hue_beside(other, one[0])])
    elif other[1] < NEARLY_GREY < one[1]:
        other = np.array([other[0], other[1], _hue_beside(one, other[0])])
    length, saturation, hue = (1 - t) * one + t * other
    color = [np.cos(saturation), np.sin(saturation) * np.cos(hue), np.sin(saturation) * np.sin(hue)]
    return _from_lab(length * np.array(color))


SPACES: dict[str, Callable[[Voxels, Voxels, float], Voxels]] = {
    "hsv": _in_hsv,
    "lab": _in_lab,
    "ciede2000": _in_lab,
    "diverging": _diverging,
}


def _hue_beside(color: Voxels, length: float) -> float:
    """The hue that a grey of some length has on its way to a colour."""
    if color[0] >= length:
        return float(color[2])
    turn = color[1] * np.sqrt(length**2 - color[0] ** 2) / (color[0] * np.sin(color[1]))
    return float(color[2] + turn if color[2] > -np.pi / 3 else color[2] - turn)


def _to_polar(rgb: Voxels) -> Voxels:
    lab = _to_lab(rgb)
    length = float(np.linalg.norm(lab))
    return np.array([length, np.arccos(lab[0] / length) if length > 1e-3 else 0.0, np.arctan2(lab[2], lab[1])])


def _to_lab(rgb: Voxels) -> Voxels:
    linear = np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    x, y, z = (_root(part) for part in TO_XYZ @ linear / WHITE)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def _from_lab(lab: Voxels) -> Voxels:
    y = (lab[0] + 16) / 116
    roots = np.array([y + lab[1] / 500, y, y - lab[2] / 200])
    xyz = WHITE * np.where(roots**3 > 0.008856, roots**3, (roots - 16 / 116) / 7.787)
    linear = np.linalg.solve(TO_XYZ, xyz).clip(0)
    rgb: Voxels = np.where(linear > 0.0031308, 1.055 * linear ** (1 / 2.4) - 0.055, 12.92 * linear)
    return rgb


def _root(part: float) -> float:
    return float(np.cbrt(part)) if part > 0.008856 else 7.787 * part + 16 / 116
