"""OME-Zarr metadata, read as others write it and written as the versions ask."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

from pellucid.errors import Corrupted, WrongDimensions
from pellucid.formats.chunked.ome import compose_multiscale, parse_multiscale, parse_orientation
from pellucid.formats.orientation import Orientation
from tests.formats.chunk_stores import layout, open_at, ramp, read, write


def axes(names: str, unit: str = "micrometer") -> list[dict[str, str]]:
    kinds = {"t": "time", "c": "channel"}
    return [{"name": n, "type": kinds.get(n, "space"), **({} if n in kinds else {"unit": unit})} for n in names]


def image(names: str, scale: list[float], *, common: list[float] | None = None, path: str = "0") -> dict[str, Any]:
    found: dict[str, Any] = {
        "axes": axes(names),
        "datasets": [{"path": path, "coordinateTransformations": [{"type": "scale", "scale": scale}]}],
    }
    return {**found, "coordinateTransformations": [{"type": "scale", "scale": common}]} if common else found


@pytest.mark.parametrize("version", ["0.4", "0.5"])
@pytest.mark.parametrize("names", ["zyx", "xyz", "tzyx", "czyx", "tczyx", "zcyx", "yxzct"])
def test_axes_in_any_order(names: str, version: str, tmp_path: Path) -> None:
    lengths = {"t": 2, "c": 3, "z": 4, "y": 5, "x": 6}
    stored = ramp(tuple(lengths[name] for name in names))
    scales = {"t": 9.0, "c": 1.0, "z": 4.0, "y": 2.0, "x": 0.5}
    group = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=2 if version == "0.4" else 3)
    group.create_array("0", data=stored, chunks=(2,) * len(names))
    found = image(names, [scales[name] for name in names], common=[2.0] * len(names))
    group.attrs.update({"multiscales": [found]} if version == "0.4" else {"ome": {"multiscales": [found]}})

    reader = open_at(tmp_path / "a.zarr")
    assert reader.header.levels[0].shape == (4, 5, 6)
    assert reader.header.levels[0].spacing == (8.0, 4.0, 1.0)
    assert reader.header.unit == "um"
    assert reader.header.times == (2 if "t" in names else 1)
    assert reader.header.channels == (3 if "c" in names else 1)
    pick = {"t": reader.header.times - 1, "c": reader.header.channels - 1}
    expected = np.einsum(f"{names}->{''.join(n for n in names if n in 'tc')}zyx", stored)
    for _ in range(expected.ndim - 3):
        expected = expected[-1]
    np.testing.assert_array_equal(read(reader, **pick), expected)


def moved(*steps: list[float]) -> list[dict[str, Any]]:
    """A scale, then a translation, then a scale, and so on."""
    kinds = ("scale", "translation") * 2
    return [{"type": kind, kind: numbers} for kind, numbers in zip(kinds, steps, strict=False)]


@pytest.mark.parametrize("names", ["zyx", "xyz", "tczyx"])
def test_a_translation_is_the_place_of_the_first_voxel(names: str, tmp_path: Path) -> None:
    places, ends = {"z": 30.0, "y": -20.0, "x": 10.0}, {"z": 1.0, "y": 2.0, "x": 3.0}
    found = image(names, [])
    found["datasets"][0]["coordinateTransformations"] = moved([0.5] * len(names), [places.get(n, 7.0) for n in names])
    found["coordinateTransformations"] = moved([2.0] * len(names), [ends.get(n, 0.0) for n in names])
    group = zarr.open_group(tmp_path / "a.zarr", mode="w")
    group.create_array("0", data=ramp((4,) * len(names)), chunks=(2,) * len(names))
    group.attrs["ome"] = {"multiscales": [found]}
    header = open_at(tmp_path / "a.zarr").header
    assert header.levels[0].spacing == (1.0, 1.0, 1.0)
    # Which way is up is not stated: x to the right, y towards the viewer, z down, as without a translation.
    assert header.orientation == Orientation(origin=(23.0, 38.0, -61.0))


@pytest.mark.parametrize("place", [[0.0, 0.0, 0.0], [1.0, float("nan"), 0.0]])
def test_a_translation_that_states_no_place(place: list[float]) -> None:
    found = image("zyx", [1.0, 1.0, 1.0])
    found["datasets"][0]["coordinateTransformations"] += moved([1.0] * 3, place)[1:]
    multiscale = parse_multiscale("a", {"multiscales": [found]})
    assert multiscale is not None
    assert parse_orientation({}, multiscale) is None


@pytest.mark.parametrize("name", ["scan.zarr", "scan.zarr2"])
def test_the_origin_is_written_as_a_translation_of_every_level(name: str, tmp_path: Path) -> None:
    stated = Orientation(((0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, 1.0)), (5.0, 6.0, 7.0), is_anatomical=True)
    write(tmp_path / name, replace(layout(), orientation=stated))
    attributes = dict(zarr.open_group(tmp_path / name, mode="r").attrs)
    ome: Any = attributes.get("ome", attributes)
    steps = [dataset["coordinateTransformations"] for dataset in ome["multiscales"][0]["datasets"]]
    # Along the volume's own axes: x runs along y of space, y against x.
    assert [step["translation"] for _, step in steps] == [[7.0, -5.0, 6.0], [8.0, -4.5, 6.25]]
    assert open_at(tmp_path / name).header.orientation == stated, "what we state ourselves counts"
    multiscale = parse_multiscale("a", attributes)
    assert multiscale is not None
    assert parse_orientation({}, multiscale) == Orientation(origin=(6.0, 5.0, -7.0))


def test_a_flat_image_is_refused(tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "a.zarr", mode="w")
    group.create_array("0", data=ramp((3, 4, 5)))
    group.attrs["ome"] = {"multiscales": [image("cyx", [1.0, 1.0, 1.0])]}
    with pytest.raises(WrongDimensions, match="not a volume"):
        open_at(tmp_path / "a.zarr")


def test_units_that_differ_are_made_one() -> None:
    found = image("zyx", [1.0, 300.0, 200.0])
    found["axes"] = [*axes("z"), *axes("yx", "nanometer")]
    multiscale = parse_multiscale("a", {"multiscales": [found]})
    assert multiscale is not None
    assert multiscale.unit == "nm"
    assert multiscale.spacing(0) == pytest.approx((1000.0, 300.0, 200.0))


def test_metadata_before_axes_had_names() -> None:
    multiscale = parse_multiscale("a", {"multiscales": [{"datasets": [{"path": "0"}], "axes": ["z", "y", "x"]}]})
    assert multiscale is not None
    assert (multiscale.axes, multiscale.spacing(0), multiscale.unit) == (("z", "y", "x"), (1.0, 1.0, 1.0), "")


@pytest.mark.parametrize("broken", [{"axes": axes("zyx")}, {"axes": [3], "datasets": []}, {"datasets": [{}]}])
def test_broken_multiscales_are_damaged(broken: dict[str, Any]) -> None:
    with pytest.raises(Corrupted, match="multiscales metadata is not valid OME-Zarr"):
        parse_multiscale("a.zarr", {"multiscales": [broken]})


def test_a_group_without_multiscales_is_none() -> None:
    assert parse_multiscale("a", {}) is None
    assert parse_multiscale("a", {"ome": {"version": "0.5", "series": []}}) is None


def test_version_5_is_written_into_zarr_json(tmp_path: Path) -> None:
    write(tmp_path / "scan.zarr", layout())
    document = json.loads((tmp_path / "scan.zarr/zarr.json").read_text())
    assert (document["zarr_format"], document["node_type"]) == (3, "group")
    ome = document["attributes"]["ome"]
    assert ome["version"] == "0.5"
    (found,) = ome["multiscales"]
    assert found["axes"] == axes("zyx")
    assert found["datasets"] == [
        {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [2.0, 1.0, 0.5]}]},
        {
            "path": "1",
            "coordinateTransformations": [
                {"type": "scale", "scale": [4.0, 2.0, 1.0]},
                {"type": "translation", "translation": [1.0, 0.5, 0.25]},
            ],
        },
    ]


def test_version_4_is_written_into_zattrs(tmp_path: Path) -> None:
    write(tmp_path / "scan.zarr2", layout())
    (found,) = json.loads((tmp_path / "scan.zarr2/.zattrs").read_text())["multiscales"]
    assert found["version"] == "0.4"
    assert json.loads((tmp_path / "scan.zarr2/.zgroup").read_text()) == {"zarr_format": 2}
    assert json.loads((tmp_path / "scan.zarr2/0/.zarray").read_text())["dimension_separator"] == "/"


@pytest.mark.parametrize(
    ("short", "long"), [("nm", "nanometer"), ("mm", "millimeter"), ("cm", "centimeter"), ("m", "meter")]
)
def test_units_are_written_in_full(short: str, long: str) -> None:
    plan = layout()
    composed = compose_multiscale("a", type(plan)(plan.levels, plan.dtype, short), "0.4")
    assert composed["multiscales"][0]["axes"] == axes("zyx", long)
