"""Measures: distances, angles, areas, regions and notes at places of a scene.

Here: Measure, what it measures by itself (lengths, angles, areas, volumes), and the list as CSV.
Not here: values of volumes inside a region (volume.region_statistics) or along a line (workers).
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, pi
from typing import Literal, get_args

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.rendering.camera import Vector
from pellucid.rendering.csv_cells import plain_cell
from pellucid.rendering.number_checks import check_finite

MeasureKind = Literal["distance", "angle", "polyline", "area", "box", "sphere", "note"]
POINTS: dict[MeasureKind, tuple[int, float]] = {
    "distance": (2, 2), "angle": (3, 3), "polyline": (2, inf), "area": (3, inf), "box": (2, 2), "sphere": (2, 2),
    "note": (1, 1),
}  # fmt: skip
"""The fewest and the most points of each kind."""
MAX_POINTS = 256
MAX_MEASURES = 256
CSV_COLUMNS = (
    "name", "kind", "length", "angle_deg", "area", "volume", "unit", "voxels", "mean", "sigma", "low", "high",
    "text", "points",
)  # fmt: skip


@dataclass(frozen=True)
class Measure:
    """Something measured, or a note, at points (x, y, z) of the world.

    angle: at the second of three points. polyline, area: along, or inside, any number of points. box: opposite corners,
    along the axes of the volume. sphere: its centre, and a point on it. layer: the volume whose values are measured.
    """

    kind: MeasureKind
    points: tuple[Vector, ...]
    name: str = ""
    text: str = ""
    layer: int = 0
    is_visible: bool = True

    def __post_init__(self) -> None:
        if self.kind not in POINTS:
            raise InvalidInput(f"Unknown measure {self.kind!r}.", remedy=f"Choose {', '.join(get_args(MeasureKind))}.")
        fewest, most = POINTS[self.kind]
        if not fewest <= len(self.points) <= min(most, MAX_POINTS):
            needed = fewest if most == fewest else f"{fewest} to {MAX_POINTS}"
            raise InvalidInput(f"A measure of kind {self.kind} has {len(self.points)} points.", remedy=f"Use {needed}.")
        check_finite("A measure at a point", *(number for point in self.points for number in point))
        if self.layer < 0:
            raise InvalidInput(f"Invalid layer {self.layer} of a measure.", remedy="Use 0 or more.")


@dataclass(frozen=True)
class MeasureSize:
    """What a measure is by itself, in world units; None where that means nothing."""

    length: float | None = None
    angle_deg: float | None = None
    area: float | None = None
    volume: float | None = None


def size_of(measure: Measure) -> MeasureSize:
    """The size of a measure.

    >>> size_of(Measure("angle", ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 2.0, 0.0)))).angle_deg
    90.0
    """
    points = np.asarray(measure.points, float)
    match measure.kind:
        case "distance" | "polyline":
            return MeasureSize(length=_length(points))
        case "angle":
            return MeasureSize(angle_deg=_angle_deg(points))
        case "area":
            return MeasureSize(length=_length(np.concatenate([points, points[:1]])), area=_area(points))
        case "sphere":
            radius = _length(points)
            return MeasureSize(length=radius, area=4 * pi * radius**2, volume=4 / 3 * pi * radius**3)
        case _:
            return MeasureSize()


def _length(points: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> float:
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


def _angle_deg(points: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> float | None:
    """By the tangent: the cosine loses small angles."""
    first, second = points[0] - points[1], points[2] - points[1]
    if not (first.any() and second.any()):
        return None
    return float(np.degrees(np.arctan2(np.linalg.norm(np.cross(first, second)), first @ second)))


def _area(points: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> float:
    """Of a polygon in a plane; of one that is not quite, as it is seen from where it looks largest."""
    spokes = points - points[0]
    return float(np.linalg.norm(np.cross(spokes[1:-1], spokes[2:]).sum(axis=0)) / 2)


@dataclass(frozen=True)
class RegionValues:
    """The voxels of a layer whose centres lie in a box or a sphere. voxels: how many have a value; volume: in cubic
    world units. mean to high: None where there is none. counts: voxels in equal bins from low to high; of
    whole numbers, as many in each bin."""

    voxels: int
    volume: float
    mean: float | None
    sigma: float | None
    low: float | None
    high: float | None
    counts: tuple[int, ...]


@dataclass(frozen=True)
class MeasureRow:
    """A measure, its size, and for a box or a sphere the values in it."""

    measure: Measure
    size: MeasureSize
    region: RegionValues | None = None


@dataclass(frozen=True)
class MeasureList:
    """GET /api/measures: every measure of the scene, in its order. unit: of lengths."""

    unit: str
    rows: tuple[MeasureRow, ...]


def to_csv(measures: MeasureList) -> str:
    """With a line of column names; points as x y z, separated by semicolons."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(CSV_COLUMNS)
    for row in measures.rows:
        one, size, region = row.measure, row.size, row.region
        volume = region.volume if region else size.volume
        found = (region.voxels, region.mean, region.sigma, region.low, region.high) if region else (None,) * 5
        sizes = (size.length, size.angle_deg, size.area, volume)
        points = "; ".join(" ".join(f"{number:.9g}" for number in point) for point in one.points)
        name, unit, note, places = map(plain_cell, (one.name, measures.unit, one.text, points))
        writer.writerow([name, one.kind, *sizes, unit, *found, note, places])
    return text.getvalue()


def check_measures(measures: Sequence[Measure]) -> None:
    if len(measures) > MAX_MEASURES:
        what = f"The scene would have {len(measures):,} measures."
        raise InvalidInput(what, remedy=f"Use at most {MAX_MEASURES}.")
