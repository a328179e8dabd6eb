"""Transfer functions in the files of other programs.

Here: reading ParaView's JSON and XML, VTK's lookup tables and 3D Slicer's volume properties; writing ParaView's JSON.
Not here: presets that come with Pellucid (presets), colour maps by name (color_maps).

Opacity is that of one voxel here and that of one world unit there: what looks too thick or too thin has other voxels.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.presets.color_spaces import PIECES, ValueColor, resampled
from pellucid.rendering.transfer import Edges, TransferFunction

EXPECTED = "Use ParaView's JSON or XML, a VTK lookup table, or a volume property of 3D Slicer (.vp, presets.xml)."

ValueLevel = tuple[float, float]


@dataclass(frozen=True)
class Curves:
    """A transfer function by values: colours, opacities (none: rising), factors by gradient (none: no second axis)."""

    colors: Sequence[ValueColor]
    opacities: Sequence[ValueLevel] = ()
    edges: Sequence[ValueLevel] = ()


def read_preset(text: str, name: str | None = None) -> TransferFunction:
    """The transfer function that a text holds; of several, the one of that name, else the first.

    Where every colour is opaque, as in files that are about colours only, the opacity rises from 0 to 1.
    """
    start = text.lstrip()[:1]
    try:
        if start in ("{", "["):
            curves = _from_json(text, name)
        elif start == "<":
            curves = _from_xml(text, name)
        else:
            curves = _from_lookup_table(text) if "LOOKUP_TABLE" in text else _from_volume_property(text.splitlines())
        return _transfer(curves)
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError, ElementTree.ParseError) as error:
        raise InvalidInput(f"Invalid preset file: {error}.", remedy=EXPECTED) from error


def to_paraview(transfer: TransferFunction, name: str) -> str:
    """A preset for ParaView's colour map editor, as JSON. gamma is worked into it; edges have no place there."""
    colors = [(at, np.array(color)) for at, color in transfer.colors]
    # ParaView takes the reach of the colours for the value range.
    colors = [(0.0, colors[0][1])] * (colors[0][0] > 0) + colors + [(1.0, colors[-1][1])] * (colors[-1][0] < 1)
    opacities = [(at, np.array((opacity, 0.5, 0.0))) for at, opacity in transfer.opacities]
    preset = {
        "Name": name,
        "ColorSpace": "RGB",
        "RGBPoints": _by_value(transfer, colors),
        "Points": _by_value(transfer, opacities),
    }
    return json.dumps([preset], indent=1)


def _by_value(transfer: TransferFunction, points: list[tuple[float, Voxels]]) -> list[float]:
    """Value and levels of all points in one list; between them more where gamma bends the way."""
    (low, high), pieces = transfer.value_range, 1 if transfer.gamma == 1 else PIECES
    dense = points[:1]
    for (at, a), (to, b) in pairwise(points):
        dense += [(at + (to - at) * i / pieces, a + (b - a) * (i / pieces)) for i in range(1, pieces + 1)]
    return [n for at, levels in dense for n in (low + (high - low) * at ** (1 / transfer.gamma), *levels.tolist())]


def _transfer(curves: Curves) -> TransferFunction:
    values = [value for value, _ in (*curves.colors, *curves.opacities)]
    low, high = min(values), max(values)
    is_about_colors = all(opacity == 1 for _, opacity in curves.opacities)
    opacities: Sequence[ValueLevel] = ((low, 0.0), (high, 1.0)) if is_about_colors else curves.opacities
    return TransferFunction(
        tuple((_place(value, low, high), color) for value, color in curves.colors),
        tuple((_place(value, low, high), _level(opacity)) for value, opacity in opacities),
        (low, high),
        edges=_edges(curves.edges),
    )


def _edges(points: Sequence[ValueLevel]) -> Edges | None:
    if all(factor == 1 for _, factor in points):
        return None
    high = max(value for value, _ in points)
    return Edges(tuple((_place(value, 0.0, high), _level(factor)) for value, factor in points), (0.0, high))


def _place(value: float, low: float, high: float) -> float:
    return min(max((value - low) / (high - low), 0.0), 1.0)


def _level(level: float) -> float:
    return min(max(level, 0.0), 1.0)


def _from_json(text: str, name: str | None) -> Curves:
    read = json.loads(text)
    presets = read if isinstance(read, list) else [read]
    preset = _named(presets, [one.get("Name") for one in presets], name)
    colors = [(float(x), (float(r), float(g), float(b))) for x, r, g, b in _rows(preset["RGBPoints"], 4)]
    points = _rows(preset.get("Points", []), 4)
    return Curves(resampled(colors, preset.get("ColorSpace", "RGB")), _bent(points))


def _named(presets: list[Any], names: list[Any], name: str | None) -> Any:
    if not presets:
        raise ValueError("it is empty")
    if name is None:
        return presets[0]
    if name not in names:
        raise InvalidInput(f"The file has no preset {name!r}.", remedy=f"Choose one of: {', '.join(map(str, names))}.")
    return presets[names.index(name)]


def _rows(numbers: Sequence[Any], width: int) -> list[list[float]]:
    rows: list[list[float]] = np.asarray(numbers, float).reshape(-1, width).tolist()
    return rows


def _bent(points: list[list[float]]) -> list[ValueLevel]:
    """Opacities with VTK's midpoint and sharpness as straight pieces."""
    dense = [(points[0][0], points[0][1])] if points else []
    for (low, a, midpoint, sharpness), (high, b, *_) in pairwise(points):
        count = 1 if (midpoint, sharpness) == (0.5, 0.0) else PIECES
        for i in range(1, count + 1):
            dense.append((low + (high - low) * i / count, a + (b - a) * _bend(i / count, midpoint, sharpness)))
    return dense


def _bend(part: float, midpoint: float, sharpness: float) -> float:
    """How far the level has come on a part of the way: half at the midpoint, in a jump there if sharpness is 1."""
    midpoint = min(max(midpoint, 1e-5), 1 - 1e-5)
    even = 0.5 * part / midpoint if part < midpoint else 0.5 + 0.5 * (part - midpoint) / (1 - midpoint)
    if sharpness > 0.99:
        return float(even >= 0.5)
    if sharpness < 0.01:
        return even
    power = 1 + 10 * sharpness
    steep: float = 0.5 * (2 * even) ** power if even < 0.5 else 1 - 0.5 * (2 - 2 * even) ** power
    smooth = steep * steep * (3 - 2 * steep)
    slope = 2 * steep**3 - 3 * steep**2 + steep
    return smooth + (1 - sharpness) * slope


def _from_xml(text: str, name: str | None) -> Curves:
    root = ElementTree.fromstring(text)
    maps = [element for element in root.iter() if element.tag in ("ColorMap", "VolumeProperty")]
    found = _named(maps, [element.get("name") for element in maps], name)
    if found.tag == "VolumeProperty":
        return _from_volume_property(
            ["0"] * 6 + [found.get(part) or "0" for part in ("scalarOpacity", "gradientOpacity", "colorTransfer")]
        )
    points = [[float(point.get(part, "1")) for part in "xorgb"] for point in found.iter("Point")]
    colors = [(x, (r, g, b)) for x, _, r, g, b in points]
    return Curves(resampled(colors, found.get("space") or "RGB"), [(x, o) for x, o, *_ in points])


def _from_lookup_table(text: str) -> Curves:
    """LOOKUP_TABLE name size, then red, green, blue and opacity of each, from 0 to 1 (VTK's legacy format, ASCII)."""
    found = re.search(r"LOOKUP_TABLE\s+\S+\s+(\d+)\s+([-+.\deE\s]+)", text)
    if found is None:
        raise ValueError("no numbers follow LOOKUP_TABLE; binary tables are not supported")
    rows = _rows(found[2].split()[: 4 * int(found[1])], 4)
    at = np.linspace(0, 1, len(rows)).tolist()
    colors = [(x, (r, g, b)) for x, (r, g, b, _) in zip(at, rows, strict=True)]
    return Curves(colors, [(x, row[3]) for x, row in zip(at, rows, strict=True)])


def _from_volume_property(lines: list[str]) -> Curves:
    """3D Slicer: six lines about light; opacities, factors by gradient, colours: a count, then as many numbers."""
    opacity, gradient, color = (_counted(line) for line in [line for line in lines if line.strip()][6:9])
    colors = [(x, (r, g, b)) for x, r, g, b in _rows(color, 4)]
    return Curves(colors, [(x, o) for x, o in _rows(opacity, 2)], [(x, o) for x, o in _rows(gradient, 2)])


def _counted(line: str) -> list[str]:
    count, *numbers = line.split()
    return numbers[: int(count)]
