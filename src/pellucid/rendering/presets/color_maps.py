"""Named colour maps.

Here: the maps that come with Pellucid, as control points.
Not here: opacity (transfer), whole looks (presets), files of other programs (files).

viridis, magma, inferno, plasma and cividis are matplotlib's (CC0), taken at 33 places each.
"""

import json
from functools import cache
from importlib.resources import files

import numpy as np

from pellucid.choices import check_choice
from pellucid.rendering.transfer import ColorPoint


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
    check_choice("colour map", name, sorted(maps))
    places = np.linspace(start, 1.0, len(maps[name]))
    return tuple((float(at), color) for at, color in zip(places, maps[name], strict=True))
