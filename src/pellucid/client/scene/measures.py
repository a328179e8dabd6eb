"""Measures of a viewer: distances, angles, areas, regions and notes.

Here: ViewerMeasures, which a Viewer has as ``measures``.
Not here: what they are (rendering.measures), reading voxels (workers).
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict

from pellucid.client.connection import Connection
from pellucid.client.scene.changes import change_scene, read_scene
from pellucid.dataclass_json import from_json
from pellucid.errors import InvalidInput
from pellucid.rendering.camera import Vector
from pellucid.rendering.measures import Measure, MeasureKind, MeasureList, MeasureRow, RegionValues

Point = Sequence[float]


class ViewerMeasures:
    """The measures of the scene. Points are (x, y, z) in world units. Every change can be undone in the page."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __iter__(self) -> Iterator[Measure]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __getitem__(self, index: int) -> Measure:
        return self._read()[index]

    def add(
        self, kind: MeasureKind, points: Sequence[Point], *, name: str = "", text: str = "", layer: int = 0
    ) -> Measure:
        """Add a distance, angle, polyline, area, box, sphere or note. layer: the volume whose values are measured.

        box: opposite corners. sphere: its centre and a point on it. note: a point, and its text.
        """
        measure = Measure(kind, tuple(_vector(point) for point in points), name, text, layer)
        self._change(lambda known: (*known, measure))
        return measure

    def note(self, point: Point, text: str) -> Measure:
        """Add a note at a point."""
        return self.add("note", [point], text=text)

    def remove(self, index: int) -> None:
        """Remove a measure by its index."""
        self._change(lambda known: _without(known, index))

    def clear(self) -> None:
        """Remove all measures."""
        self._change(lambda _: ())

    def region(self, measure: Measure) -> RegionValues:
        """Mean, standard deviation, minimum, maximum and histogram of the voxels in a box or a sphere, at full
        resolution."""
        body = {"kind": measure.kind, "points": measure.points, "layer": measure.layer}
        values: RegionValues = from_json(RegionValues, self._connection.ask("POST", "/api/regions", body), "region")
        return values

    def profile(self, start: Point, stop: Point, *, layer: int = 0, count: int = 256) -> tuple[float | None, ...]:
        """Values at equal distances from one point to another; None outside the volume."""
        body = {"start": _vector(start), "stop": _vector(stop), "layer": layer, "count": count}
        return tuple(self._connection.ask("POST", "/api/profile", body)["values"])

    def table(self) -> tuple[MeasureRow, ...]:
        """Every measure with its length, angle, area or volume, and the values in boxes and spheres."""
        found: MeasureList = from_json(MeasureList, json.loads(self._fetch("json")), "measures")
        return found.rows

    def to_csv(self) -> str:
        """The table as the text of a CSV file."""
        return self._fetch("csv")

    def to_json(self) -> str:
        """The table as JSON."""
        return self._fetch("json")

    def _fetch(self, format: str) -> str:
        return self._connection.exchange("GET", "/api/measures", format=format).decode()

    def _read(self) -> tuple[Measure, ...]:
        return read_scene(self._connection)[0].measures

    def _change(self, change: Callable[[tuple[Measure, ...]], tuple[Measure, ...]]) -> None:
        change_scene(self._connection, lambda scene: (("measures",), [asdict(one) for one in change(scene.measures)]))


def _without(measures: tuple[Measure, ...], index: int) -> tuple[Measure, ...]:
    if not -len(measures) <= index < len(measures):
        raise InvalidInput(f"The scene has no measure {index}.", remedy=f"Use a number below {len(measures)}.")
    at = index % len(measures)
    return measures[:at] + measures[at + 1 :]


def _vector(point: Point) -> Vector:
    try:
        x, y, z = (float(number) for number in point)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"Invalid point: {point!r}.", remedy="Use three numbers: x, y and z.") from error
    return (x, y, z)
