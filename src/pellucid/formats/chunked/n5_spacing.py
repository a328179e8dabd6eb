"""Where N5 metadata keeps the spacing of voxels: there are several conventions, and files mix them.

Here: spacings and unit of all levels from attributes (n5-viewer, Paintera, COSEM), and attributes for what we write.
Not here: datasets (n5).

N5 lists numbers fastest axis first (x, y, z), except where an entry names its own axes.
"""

from collections.abc import Sequence
from typing import Any

from pellucid.box import Shape
from pellucid.errors import Corrupted
from pellucid.formats.chunked.axes import SPATIAL
from pellucid.formats.chunked.store import Json
from pellucid.formats.protocol import Layout, Spacing
from pellucid.formats.units import short_unit

_ONE: Spacing = (1.0, 1.0, 1.0)


def parse_spacings(
    name: str, group: Json, datasets: Sequence[Json], shapes: Sequence[Shape]
) -> tuple[list[Spacing], str]:
    """Spacing of every level along (z, y, x), and their unit. A level itself knows better than its group."""
    try:
        base, unit = _resolution(datasets[0]) or _resolution(group) or (_ONE, "")
        spacings = [
            _spacing(group, document, level, base=base, ratio=_ratio(shapes[0], shapes[level]))
            for level, document in enumerate(datasets)
        ]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise Corrupted(name, f"its resolution attributes are invalid ({error!r})") from error
    return spacings, unit


def _spacing(group: Json, document: Json, level: int, *, base: Spacing, ratio: Spacing) -> Spacing:
    factors = _factors(group, document, level)
    if factors is None and level:
        # COSEM: every level states its own resolution. Without any statement, it follows from the shapes.
        own = _resolution(document)
        if own is not None and own[0] != base:
            return own[0]
        factors = ratio
    return _times(base, factors or _ONE)


def _factors(group: Json, document: Json, level: int) -> Spacing | None:
    """How many voxels of the full resolution one of this level spans, where that is stated."""
    if "downsamplingFactors" in document:
        return _zyx(document["downsamplingFactors"])
    for key in ("scales", "downsamplingFactors"):
        if len(group.get(key) or ()) > level:
            return _zyx(group[key][level])
    return None


def _resolution(attributes: Json) -> tuple[Spacing, str] | None:
    """Spacing and unit as stated by one set of attributes."""
    transform = attributes.get("transform")
    if isinstance(transform, dict) and "scale" in transform:
        return _from_transform(transform)
    resolution = attributes.get("pixelResolution")
    if isinstance(resolution, dict):
        return _zyx(resolution["dimensions"]), short_unit(resolution.get("unit") or "")
    numbers = resolution or attributes.get("resolution")
    return (_zyx(numbers), _unit(attributes)) if numbers else None


def _from_transform(transform: Json) -> tuple[Spacing, str]:
    """COSEM: an entry that names its axes, mostly slowest first."""
    axes = transform.get("axes") or list(SPATIAL)
    scale = dict(zip(axes, map(float, transform["scale"]), strict=True))
    units = dict(zip(axes, transform.get("units") or [""] * len(axes), strict=True))
    return (scale["z"], scale["y"], scale["x"]), short_unit(units["x"])


def _unit(attributes: Json) -> str:
    units: Any = attributes.get("units") or attributes.get("unit") or ""
    return short_unit(units if isinstance(units, str) else str(units[0]))


def _zyx(numbers: Sequence[Any]) -> Spacing:
    x, y, z = (float(n) for n in numbers[:3])
    return (z, y, x)


def _times(spacing: Spacing, factors: Spacing) -> Spacing:
    z, y, x = (a * b for a, b in zip(spacing, factors, strict=True))
    return (z, y, x)


def _ratio(full: Shape, own: Shape) -> Spacing:
    z, y, x = (float(round(a / b)) for a, b in zip(full, own, strict=True))
    return (z, y, x)


def compose_spacing(layout: Layout, level: int | None = None) -> Json:
    """Attributes of one level, or of the group (None), as n5-viewer reads them."""
    full = list(layout.levels[0].spacing[::-1])
    unit = layout.unit or "pixel"
    common: Json = {"pixelResolution": {"dimensions": full, "unit": unit}}
    if level is not None:
        return {"downsamplingFactors": _downsampling(layout, level), **common}
    scales = [_downsampling(layout, each) for each in range(len(layout.levels))]
    return {"scales": scales, "resolution": full, "units": [unit] * 3, **common}


def _downsampling(layout: Layout, level: int) -> list[float]:
    """Fastest axis first; whole numbers where they are, as other readers expect."""
    pairs = zip(layout.levels[level].spacing, layout.levels[0].spacing, strict=True)
    factors = [own / full for own, full in pairs]
    return [round(f) if abs(f - round(f)) < 1e-9 else f for f in factors[::-1]]
