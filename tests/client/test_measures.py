"""Measures from Python: sizes, values of full-resolution voxels, profiles, notes, CSV."""

import csv
import io
import json

import numpy as np
import pytest

import pellucid
from pellucid.client.viewer import Viewer
from pellucid.errors import InvalidInput, NotAllowed
from pellucid.formats.protocol import Voxels

SPACING = (2.0, 0.5, 0.5)


@pytest.fixture(autouse=True)
def shown(viewer: Viewer, array: Voxels) -> Voxels:
    viewer.render_volume(array, SPACING, unit="mm")
    return array


def world(viewer: Viewer, voxel: tuple[int, int, int]) -> tuple[float, float, float]:
    """Where a voxel (z, y, x) is."""
    transform = viewer.layer.transform
    place = transform.matrix() @ (np.array(voxel[::-1]) * SPACING[::-1]) + transform.translation
    return (float(place[0]), float(place[1]), float(place[2]))


def test_a_box_has_the_values_of_its_voxels(viewer: Viewer, array: Voxels) -> None:
    box = viewer.measures.add("box", [world(viewer, (2, 3, 4)), world(viewer, (6, 9, 12))], name="core")
    values, inside = viewer.measures.region(box), array[2:7, 3:10, 4:13].astype(float)
    assert values.voxels == inside.size and values.volume == pytest.approx(inside.size * 0.5)
    assert (values.mean, values.sigma) == pytest.approx((inside.mean(), inside.std()))
    assert (values.low, values.high) == (inside.min(), inside.max()) and sum(values.counts) == inside.size


def test_a_sphere_has_the_values_near_its_centre(viewer: Viewer, array: Voxels) -> None:
    x, y, z = world(viewer, (6, 10, 11))
    sphere = viewer.measures.add("sphere", [(x, y, z), (x + 3.1, y, z)])
    planes, rows, columns = np.indices(array.shape)
    distance = np.sqrt(((planes - 6) * 2.0) ** 2 + ((rows - 10) * 0.5) ** 2 + ((columns - 11) * 0.5) ** 2)
    inside = array[distance <= 3.1].astype(float)
    values = viewer.measures.region(sphere)
    assert values.voxels == inside.size
    assert (values.mean, values.sigma) == pytest.approx((inside.mean(), inside.std()))


def test_the_list_has_sizes_values_and_names(viewer: Viewer) -> None:
    measures = viewer.measures
    measures.add("distance", [(0, 0, 0), (3, 4, 0)], name="wall")
    measures.add("angle", [(1, 0, 0), (0, 0, 0), (0, 1, 0)])
    measures.add("area", [(0, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0)])
    measures.add("box", [world(viewer, (0, 0, 0)), world(viewer, (1, 1, 1))])
    measures.note((1, 2, 3), "a pore")
    sizes = [row.size for row in measures.table()]
    assert sizes[0].length == 5.0 and sizes[1].angle_deg == 90.0 and sizes[2].area == 4.0
    lines = list(csv.DictReader(io.StringIO(measures.to_csv())))
    assert [line["kind"] for line in lines] == ["distance", "angle", "area", "box", "note"]
    assert lines[0]["name"] == "wall" and lines[3]["voxels"] == "8" and lines[4]["text"] == "a pore"
    assert json.loads(measures.to_json())["unit"] == "mm"
    measures.remove(1)
    assert [one.kind for one in measures] == ["distance", "area", "box", "note"]
    with pytest.raises(InvalidInput, match="The scene has no measure 9"):
        measures.remove(9)
    measures.clear()
    assert len(measures) == 0


def test_a_profile_has_the_values_along_a_line(viewer: Viewer, array: Voxels) -> None:
    values = viewer.measures.profile(world(viewer, (3, 4, 2)), world(viewer, (3, 4, 12)), count=11)
    assert values == pytest.approx(array[3, 4, 2:13].astype(float).tolist())


def test_guests_measure_what_they_may(viewer: Viewer) -> None:
    guest = pellucid.connect(viewer.share("control", "measures"))
    guest.measures.note((0, 0, 0), "from a guest")
    assert viewer.measures[-1].text == "from a guest"
    with pytest.raises(InvalidInput, match="characters"):
        guest.measures.note((0, 0, 0), "x" * 201)
    watcher = pellucid.connect(viewer.share("view", "watching"))
    with pytest.raises(NotAllowed):
        watcher.measures.table()


def test_points_have_three_numbers(viewer: Viewer) -> None:
    with pytest.raises(InvalidInput, match="Invalid point"):
        viewer.measures.note((1, 2), "flat")
