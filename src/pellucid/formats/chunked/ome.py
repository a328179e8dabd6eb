"""OME-Zarr multiscale metadata, versions 0.4 (Zarr v2) and 0.5 (Zarr v3).

Here: from a group's attributes to axes, unit and scale of each level, and back; orientation, in an attribute of ours;
the place of the first voxel, as a translation.
Not here: where the attributes are stored, arrays (zarr).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pellucid.errors import Corrupted
from pellucid.formats.chunked.axes import SPATIAL
from pellucid.formats.chunked.store import Json
from pellucid.formats.orientation import Orientation, from_along_axes, from_attributes, to_attributes
from pellucid.formats.protocol import Layout, Spacing
from pellucid.formats.units import METRES, short_unit

_LONG_UNITS = {
    "nm": "nanometer", "um": "micrometer", "mm": "millimeter", "cm": "centimeter", "m": "meter",
    "angstrom": "angstrom", "inch": "inch",
}  # fmt: skip
_OURS = "pellucid"
_OLD_AXES = ("t", "c", "z", "y", "x")


@dataclass(frozen=True)
class Multiscale:
    """What a group says of its levels. axes: names in stored order, None where a version had none.

    scales: per level, one factor per stored axis. units: per stored axis. place: of the first voxel of the full
    resolution, per stored axis.
    """

    paths: tuple[str, ...]
    axes: tuple[str, ...]
    units: tuple[str, ...]
    scales: tuple[tuple[float, ...], ...]
    place: tuple[float, ...]

    @property
    def unit(self) -> str:
        """The unit of all spatial axes: that of x."""
        return self.units[self.axes.index("x")] if "x" in self.axes else ""

    def spacing(self, level: int) -> Spacing:
        """Along (z, y, x), in ``unit``; axes in other units are converted to it."""
        return self._in_unit(self.scales[level])

    @property
    def first_voxel(self) -> Spacing:
        """Where the first voxel lies along (z, y, x), in ``unit``."""
        return self._in_unit(self.place)

    def _in_unit(self, lengths: Sequence[float]) -> Spacing:
        numbers = []
        for axis in SPATIAL:
            at = self.axes.index(axis)
            own, common = METRES.get(self.units[at]), METRES.get(self.unit)
            numbers.append(lengths[at] * (own / common if own and common else 1.0))
        z, y, x = numbers
        return (z, y, x)


def parse_multiscale(name: str, attributes: Json) -> Multiscale | None:
    """The first multiscale image of a group; None where the group holds none."""
    container = attributes.get("ome", attributes)
    images = container.get("multiscales") if isinstance(container, dict) else None
    if not images:
        return None
    try:
        return _parse_image(images[0])
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise Corrupted(name, f"its multiscales metadata is not valid OME-Zarr ({error!r})") from error


def _parse_image(image: Json) -> Multiscale:
    if not image["datasets"]:
        raise ValueError("no datasets")
    axes = image.get("axes", _OLD_AXES)
    names = tuple(_axis_name(axis) for axis in axes)
    units = tuple(short_unit(axis.get("unit") or "") if isinstance(axis, Mapping) else "" for axis in axes)
    common = image.get("coordinateTransformations", ())
    each = [[*dataset.get("coordinateTransformations", ()), *common] for dataset in image["datasets"]]
    scales = tuple(_placed((1.0,) * len(names), steps, is_moved=False) for steps in each)
    place = _placed((0.0,) * len(names), each[0])
    return Multiscale(tuple(str(dataset["path"]) for dataset in image["datasets"]), names, units, scales, place)


def _axis_name(axis: Any) -> str:
    return str(axis["name"] if isinstance(axis, Mapping) else axis).lower()


def _placed(numbers: tuple[float, ...], steps: Sequence[Json], *, is_moved: bool = True) -> tuple[float, ...]:
    """Numbers per axis, scaled and moved step by step. Lengths, such as a spacing, are not moved."""
    for step in steps:
        if step["type"] == "scale":
            numbers = tuple(a * float(b) for a, b in zip(numbers, step["scale"], strict=True))
        elif step["type"] == "translation" and is_moved:
            numbers = tuple(a + float(b) for a, b in zip(numbers, step["translation"], strict=True))
    return numbers


def compose_multiscale(name: str, layout: Layout, version: str) -> Json:
    """A group's attributes for levels named "0", "1", ... with axes (z, y, x)."""
    image = {
        "name": name,
        "axes": [_axis(axis, layout.unit) for axis in SPATIAL],
        "datasets": [
            {"path": str(level), "coordinateTransformations": _transformations(layout, level)}
            for level in range(len(layout.levels))
        ],
    }
    ours = {_OURS: to_attributes(layout.orientation)} if layout.orientation else {}
    if version == "0.4":
        return {"multiscales": [{"version": version, **image}], **ours}
    return {"ome": {"version": version, "multiscales": [image]}, **ours}


def parse_orientation(attributes: Json, multiscale: Multiscale) -> Orientation | None:
    """What a group that we wrote says of its orientation, else where its first voxel is: OME-Zarr has no directions."""
    ours = attributes.get(_OURS)
    stated = from_attributes(ours) if isinstance(ours, Mapping) else None
    return stated or from_along_axes(multiscale.first_voxel)


def _axis(name: str, unit: str) -> Json:
    axis = {"name": name, "type": "space"}
    return {**axis, "unit": _LONG_UNITS.get(unit, unit)} if unit else axis


def _transformations(layout: Layout, level: int) -> list[Json]:
    spacing, full = layout.levels[level].spacing, layout.levels[0].spacing
    scale = {"type": "scale", "scale": list(spacing)}
    first = layout.orientation.along_axes() if layout.orientation else (0.0, 0.0, 0.0)
    # A coarse voxel's centre lies between those that it was made of.
    offset = [place + (own - finest) / 2 for place, own, finest in zip(first, spacing, full, strict=True)]
    return [scale, {"type": "translation", "translation": offset}] if any(offset) else [scale]
