"""Named colour maps.

Here: the maps that come with Pellucid, as control points; importing ParaView's JSON.
Not here: opacity (transfer).

viridis, magma, inferno, plasma and cividis are matplotlib's (CC0), taken at 33 places each.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.rendering.transfer import ColorPoint, OpacityPoint, TransferFunction


@cache
def color_maps() -> dict[str, list[tuple[float, float, float]]]:
    """Colours at equal distances, by name."""
    read = json.loads((files("pellucid.rendering") / "color_maps.json").read_text())
    return {name: [(float(r), float(g), float(b)) for r, g, b in colors] for name, colors in read.items()}


def color_points(name: str, start: float = 0.0) -> tuple[ColorPoint, ...]:
    """A named map as control points, spread from ``start`` to 1.

    >>> color_points("gray", 0.5)[0]
    (0.5, (0.0, 0.0, 0.0))
    """
    maps = color_maps()
    if name not in maps:
        raise InvalidInput(f"There is no colour map {name!r}.", do=f"Choose one of: {', '.join(sorted(maps))}.")
    places = np.linspace(start, 1.0, len(maps[name]))
    return tuple((float(at), color) for at, color in zip(places, maps[name], strict=True))


def from_paraview(text: str) -> TransferFunction:
    """Read a preset that ParaView exported as JSON: colours (RGBPoints) and, where given, opacities (Points)."""
    try:
        preset = json.loads(text)
        preset = preset[0] if isinstance(preset, list) else preset
        colors = np.asarray(preset["RGBPoints"], float).reshape(-1, 4)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise InvalidInput(
            f"This is no ParaView preset: {error}.", do="Export it in ParaView's colour map editor."
        ) from error
    low, high = float(colors[0, 0]), float(colors[-1, 0])
    points: tuple[ColorPoint, ...] = tuple(
        (_place(value, low, high), (float(r), float(g), float(b))) for value, r, g, b in colors
    )
    return TransferFunction(points, _opacities(preset, low, high), (low, high))


def _opacities(preset: dict[str, Any], low: float, high: float) -> tuple[OpacityPoint, ...]:
    given = np.asarray(preset.get("Points", []), float).reshape(-1, 4)
    if not len(given):
        return ((0.0, 0.0), (1.0, 1.0))
    return tuple((_place(value, low, high), float(opacity)) for value, opacity, *_ in given)


def _place(value: float, low: float, high: float) -> float:
    return min(max((float(value) - low) / (high - low), 0.0), 1.0)
