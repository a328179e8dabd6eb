"""Looks by name, and transfer functions in the files of other programs."""

import json
from pathlib import Path

import numpy as np
import pytest

from pellucid.errors import InvalidInput
from pellucid.rendering.first_view.volumes import automatic_scene
from pellucid.rendering.presets.builtin import PRESETS, preset_names
from pellucid.rendering.presets.color_maps import color_points
from pellucid.rendering.presets.color_spaces import resampled
from pellucid.rendering.presets.files import read_preset, to_paraview
from pellucid.rendering.transfer import Edges, TransferFunction
from pellucid.volume.volume import Volume

JSON = [
    {"Name": "warm", "RGBPoints": [10, 0, 0, 0, 20, 1, 0.5, 0.25], "Points": [10, 0, 0.5, 0, 20, 0.8, 0.5, 0]},
    {"Name": "cold", "RGBPoints": [0, 0, 0, 1, 1, 0, 1, 1]},
]
XML = """<?xml version="1.0"?>
<ColorMaps>
  <ColorMap name="signed" space="RGB">
    <Point x="-1" o="0" r="0" g="0" b="0"/><Point x="0" o="0.25" r="0" g="1" b="0"/>
    <Point x="3" o="1" r="1" g="0" b="0"/>
    <NaN r="1" g="1" b="0"/>
  </ColorMap>
  <ColorMap name="opaque" space="RGB">
    <Point x="0" o="1" r="0" g="0" b="0"/><Point x="1" o="1" r="1" g="1" b="1"/>
  </ColorMap>
</ColorMaps>
"""
LOOKUP_TABLE = """# vtk DataFile Version 3.0
POINT_DATA 8
SCALARS density float 1
LOOKUP_TABLE reds 3
0.0 0.0 0.0 0.0
0.5 0.0 0.0 0.2
1.0 0.5 0.5 1.0
"""
SLICER = """<MRML><VolumeProperty name="thin" gradientOpacity="4 0 0 255 1" scalarOpacity="6 -1000 0 200 0.1 3000 0.7"
 colorTransfer="8 -1000 0 0 0 3000 1 0.9 0.8" shade="1"/></MRML>"""


def test_paraview_s_json() -> None:
    transfer = read_preset(json.dumps(JSON))
    assert transfer.value_range == (10.0, 20.0)
    assert transfer.colors[-1] == (1.0, (1.0, 0.5, 0.25))
    assert transfer.opacities == ((0.0, 0.0), (1.0, 0.8))
    assert read_preset(json.dumps(JSON), "cold").colors[0] == (0.0, (0.0, 0.0, 1.0))
    with pytest.raises(InvalidInput, match="Choose one of: warm, cold"):
        read_preset(json.dumps(JSON), "hot")


def test_midpoint_and_sharpness_bend_the_opacity() -> None:
    preset = {"RGBPoints": [0, 0, 0, 0, 1, 1, 1, 1], "Points": [0, 0, 0.25, 0, 1, 1, 0.5, 0]}
    table = read_preset(json.dumps(preset)).table(1.0)
    assert table[1024, 3] == pytest.approx(0.5, abs=0.01)  # at a quarter of the range
    preset["Points"] = [0, 0, 0.25, 1, 1, 1, 0.5, 0]
    table = read_preset(json.dumps(preset)).table(1.0)
    assert table[[700, 1100], 3].tolist() == pytest.approx([0, 1], abs=0.01)


def test_paraview_s_xml() -> None:
    transfer = read_preset(XML)
    assert transfer.value_range == (-1.0, 3.0)
    assert transfer.colors == ((0.0, (0.0, 0.0, 0.0)), (0.25, (0.0, 1.0, 0.0)), (1.0, (1.0, 0.0, 0.0)))
    assert transfer.opacities == ((0.0, 0.0), (0.25, 0.25), (1.0, 1.0))
    assert read_preset(XML, "opaque").opacities == ((0.0, 0.0), (1.0, 1.0))


def test_a_lookup_table_of_vtk() -> None:
    transfer = read_preset(LOOKUP_TABLE)
    assert transfer.colors == ((0.0, (0.0, 0.0, 0.0)), (0.5, (0.5, 0.0, 0.0)), (1.0, (1.0, 0.5, 0.5)))
    assert transfer.opacities == ((0.0, 0.0), (0.5, 0.2), (1.0, 1.0))


def test_volume_properties_of_slicer() -> None:
    transfer = read_preset(SLICER)
    assert transfer.value_range == (-1000.0, 3000.0)
    assert transfer.opacities == ((0.0, 0.0), (0.3, 0.1), (1.0, 0.7))
    assert transfer.edges == Edges(((0.0, 0.0), (1.0, 1.0)), (0.0, 255.0))
    lines = [
        "1",
        "1",
        "0.9",
        "0.1",
        "0.2",
        "10",
        "6 -1000 0 200 0.1 3000 0.7",
        "4 0 0 255 1",
        "8 -1000 0 0 0 3000 1 0.9 0.8",
    ]
    assert read_preset("\n".join(lines)) == transfer


@pytest.mark.parametrize(
    "text",
    [
        "", "{}", "[]", "<a/>", "<a", "LOOKUP_TABLE x 2\nabc", "LOOKUP_TABLE x 2\n0 0 0 0", "1\n2\n3",
        '{"RGBPoints": [1]}', "[" * 100_000,
    ],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_what_is_no_preset_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"Invalid preset file.*Use ParaView's"):
        read_preset(text)


@pytest.mark.parametrize("gamma", [1.0, 2.0])
def test_what_is_written_for_paraview_is_read_again(gamma: float) -> None:
    transfer = TransferFunction(
        ((0.2, (0.1, 0.2, 0.3)), (1.0, (1.0, 0.9, 0.8))), ((0.0, 0.0), (0.3, 0.1), (1.0, 0.9)), (-5.0, 15.0), gamma
    )
    read = read_preset(to_paraview(transfer, "ours"))
    assert read.value_range == pytest.approx((-5.0, 15.0))
    assert np.abs(read.table(1.0) - transfer.table(1.0)).max() < (1e-6 if gamma == 1 else 0.01)
    assert json.loads(to_paraview(transfer, "ours"))[0]["Name"] == "ours"


@pytest.mark.parametrize("name", ["viridis", "coral"])
def test_colour_maps_survive_exactly(name: str) -> None:
    transfer = TransferFunction(color_points(name), ((0.0, 0.0), (0.5, 0.0), (0.5, 0.7), (1.0, 0.2)), (0.0, 1.0))
    assert read_preset(to_paraview(transfer, name)) == transfer


@pytest.mark.parametrize(
    ("space", "middle"),
    [
        ("RGB", (0.5, 0.0, 0.5)),
        ("HSV", (1.0, 0.0, 1.0)),
        ("Lab", (0.792, 0.0, 0.536)),
    ],
)
def test_colours_between_red_and_blue(space: str, middle: tuple[float, float, float]) -> None:
    points = resampled([(0.0, (1.0, 0.0, 0.0)), (1.0, (0.0, 0.0, 1.0))], space)
    at = [np.interp(0.5, [x for x, _ in points], [color[i] for _, color in points]) for i in range(3)]
    assert at == pytest.approx(middle, abs=0.02)
    assert points[0][1] == (1.0, 0.0, 0.0)
    assert points[-1][1] == pytest.approx((0.0, 0.0, 1.0), abs=1e-3)


def test_cool_to_warm_passes_a_light_grey() -> None:
    cool, warm = (0.230, 0.299, 0.754), (0.706, 0.016, 0.150)
    points = resampled([(0.0, cool), (1.0, warm)], "Diverging")
    assert points[len(points) // 2][1] == pytest.approx((0.865, 0.865, 0.865), abs=0.002)
    assert points[-1][1] == pytest.approx(warm, abs=1e-3)


@pytest.fixture(scope="module")
def ball() -> Volume:
    z, y, x = np.indices((24, 24, 24)) - 11.5
    return Volume.from_array(np.clip(250 - 24 * np.sqrt(z**2 + y**2 + x**2), 5, 250).astype(np.uint8))


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_look_hides_the_air(ball: Volume, name: str) -> None:
    (layer,) = automatic_scene(ball, name).volumes
    table = layer.transfer.table(1.0)
    assert table[int(layer.transfer.index(np.array(5.0))), 3] == 0
    assert table[-1, 3] > 0.01
    assert layer.shading == PRESETS[name].shading


def test_a_file_is_a_preset_too(ball: Volume, tmp_path: Path) -> None:
    path = tmp_path / "cold.json"
    path.write_text(json.dumps(JSON[1]))
    (layer,) = automatic_scene(ball, str(path)).volumes
    assert layer.transfer.colors[0][1] == (0.0, 0.0, 1.0)
    assert layer.transfer.value_range == automatic_scene(ball).volumes[0].transfer.value_range
    path.write_text(json.dumps(JSON[0]))
    assert automatic_scene(ball, str(path)).volumes[0].transfer.value_range == (10.0, 20.0)


def test_unknown_looks_are_refused_by_name(ball: Volume) -> None:
    with pytest.raises(InvalidInput, match=r"Unknown preset 'jet'.*soft.*viridis.*\.json"):
        automatic_scene(ball, "jet")
    with pytest.raises(InvalidInput, match="Cannot read the preset"):
        automatic_scene(ball, "nowhere.xml")
    assert {"soft", "gold", "bone", "viridis"} <= set(preset_names())
