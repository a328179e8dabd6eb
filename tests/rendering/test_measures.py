"""What measures measure, against independent definitions; what they may not be; the list as CSV."""

import csv
import io
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from pellucid.errors import InvalidInput
from pellucid.rendering.label_list import LabelList, LabelRow
from pellucid.rendering.label_list import to_csv as labels_to_csv
from pellucid.rendering.measures import (
    Measure,
    MeasureKind,
    MeasureList,
    MeasureRow,
    RegionValues,
    size_of,
    to_csv,
)
from pellucid.rendering.scene import Scene

COORDINATE = st.floats(-100, 100)
POINT = st.tuples(COORDINATE, COORDINATE, COORDINATE)
Point = tuple[float, float, float]


@given(st.lists(POINT, min_size=2, max_size=6))
def test_a_polyline_is_as_long_as_its_parts(points: list[Point]) -> None:
    parts = [size_of(Measure("distance", pair)).length or 0.0 for pair in pairwise(points)]
    assert size_of(Measure("polyline", tuple(points))).length == pytest.approx(sum(parts))


@given(POINT, POINT, POINT)
def test_the_angles_of_a_triangle_are_a_half_turn(a: Point, b: Point, c: Point) -> None:
    angles = [size_of(Measure("angle", corner)).angle_deg for corner in ((a, b, c), (b, c, a), (c, a, b))]
    edges = [np.linalg.norm(np.subtract(p, q)) for p, q in ((a, b), (b, c), (c, a))]
    if min(edges) > 1e-3:
        assert sum(angle or 0.0 for angle in angles) == pytest.approx(180.0, abs=1e-3)


@given(st.integers(3, 12), st.floats(0, 6), st.floats(0.1, 50), st.integers(0, 99))
def test_the_area_of_a_polygon_in_any_plane_is_that_of_its_hull(n: int, turn: float, radius: float, seed: int) -> None:
    angles = np.linspace(0, 2 * np.pi, n, endpoint=False) + turn
    flat = radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    plane, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    points = flat @ plane[:2] + 7.0
    measured = size_of(Measure("area", tuple((float(x), float(y), float(z)) for x, y, z in points)))
    assert measured.area == pytest.approx(ConvexHull(flat).volume)


def test_a_sphere_has_a_radius_and_a_volume() -> None:
    size = size_of(Measure("sphere", ((1.0, 1.0, 1.0), (1.0, 4.0, 1.0))))
    assert (size.length, size.volume) == pytest.approx((3.0, 36 * np.pi))


@pytest.mark.parametrize(
    ("kind", "count"), [("distance", 3), ("angle", 2), ("area", 2), ("note", 2), ("polyline", 257)]
)
def test_the_number_of_points_is_checked(kind: MeasureKind, count: int) -> None:
    with pytest.raises(InvalidInput, match=f"A measure of kind {kind} has {count} points"):
        Measure(kind, ((0.0, 0.0, 0.0),) * count)


def test_points_are_finite_and_measures_limited() -> None:
    with pytest.raises(InvalidInput):
        Measure("note", ((0.0, float("nan"), 0.0),))
    with pytest.raises(InvalidInput, match="The scene would have 257 measures"):
        Scene(measures=(Measure("note", ((0.0, 0.0, 0.0),)),) * 257)


def test_measures_are_part_of_a_saved_scene() -> None:
    scene = Scene(measures=(Measure("distance", ((0.0, 0.0, 0.0), (1.0, 2.0, 3.0)), "wall"),))
    assert Scene.from_json(scene.to_json()) == scene


def test_the_list_as_csv_holds_no_formula() -> None:
    box = Measure("box", ((0.0, 0.0, 0.0), (2.0, 2.0, 2.0)), "=evil()", text="@note")
    values = RegionValues(27, 27.0, 5.0, 1.5, 0.0, 9.0, (27,))
    text = to_csv(MeasureList("mm", (MeasureRow(box, size_of(box), values),)))
    (line,) = csv.DictReader(io.StringIO(text))
    assert line["name"] == "'=evil()" and line["text"] == "'@note"
    assert (line["voxels"], line["mean"], line["sigma"], line["unit"]) == ("27", "5.0", "1.5", "mm")
    assert line["points"] == "0 0 0; 2 2 2"


@pytest.mark.parametrize("text", ["=evil()", " =evil()", "\n@evil", "\t+evil", "-evil", "＝evil()"])
def test_no_text_of_a_list_as_csv_begins_like_a_formula(text: str) -> None:
    """Guests choose names, and files units."""
    note = Measure("note", ((-1.0, 0.0, 0.0),), text, text=text)
    (line,) = csv.DictReader(io.StringIO(to_csv(MeasureList(text, (MeasureRow(note, size_of(note)),)))))
    assert {line["name"], line["text"], line["unit"]} == {f"'{text}"} and line["points"] == "'-1 0 0"
    row = LabelRow(1, text, 1, 1.0, (0.0, 0.0, 0.0), (0, 0, 0), (1, 1, 1))
    (line,) = csv.DictReader(io.StringIO(labels_to_csv(LabelList(0, text, (row,)))))
    assert line["name"] == f"'{text}" and line["unit"] == f"'{text}^3"
