"""Shadings that users write: compiled into the loop, errors at the user's own line, the last good one stays."""

from dataclasses import replace

import numpy as np
import pytest
import warp as wp

from pellucid.errors import InvalidInput, ShadingInvalid
from pellucid.rendering.camera import framing
from pellucid.rendering.light import HEADLIGHT
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.rendering.user_shading import Parameter, UserShading
from pellucid.volume.volume import Volume

KEPT: list[Volume] = []
"""Volumes in memory are found by name as long as somebody holds them."""

TINTED = """//@ red = 0.25 in 0 .. 1
//@ green = 0.5 in 0 .. 1
return vec3(red, green, value / 200.0f);
"""


@pytest.fixture(scope="module")
def scene() -> Scene:
    volume = Volume.from_array(np.full((12, 12, 12), 100, np.uint8))
    KEPT.append(volume)
    layer = VolumeLayer(str(volume.location), TransferFunction(opacities=((0.0, 1.0),), value_range=(0.0, 255.0)))
    return Scene((layer,), framing((0.0, 0.0, 0.0), (12.0, 12.0, 12.0)))


def drawn(renderer: Renderer, scene: Scene, shading: UserShading, **chosen: float) -> list[int]:
    (layer,) = scene.volumes
    layer = replace(layer, shading="user", user_shading=shading.hash, parameters=tuple(chosen.items()))
    pixel: list[int] = renderer.render(replace(scene, volumes=(layer,)), 33, 33).rgba[16, 16, :3].tolist()
    return pixel


def test_parameters_are_declared_with_range_and_default() -> None:
    assert UserShading(TINTED).parameters == (Parameter("red", 0.25, 0.0, 1.0), Parameter("green", 0.5, 0.0, 1.0))


def test_it_sees_values_and_its_parameters(renderer: Renderer, scene: Scene) -> None:
    shading = renderer.add_shading(TINTED)
    assert drawn(renderer, scene, shading) == pytest.approx([64, 128, 128], abs=1)
    assert drawn(renderer, scene, shading, red=1.0, green=0.0) == pytest.approx([255, 0, 128], abs=1)


def test_it_sees_gradient_view_and_light(renderer: Renderer) -> None:
    ramp = np.broadcast_to(np.arange(12, dtype=np.float32)[:, None, None] * 10, (12, 12, 12)).copy()
    volume = Volume.from_array(ramp, spacing=(2.0, 1.0, 1.0))
    layer = VolumeLayer(str(volume.location), TransferFunction(opacities=((0.0, 1.0),), value_range=(0.0, 255.0)))
    camera = framing((0.0, 0.0, 0.0), (12.0, 12.0, 24.0), direction=(0.0, 1.0, 0.0), up=(0.0, 0.0, 1.0))
    shading = renderer.add_shading("return vec3(gradient[2] / 10.0f, view[1], light[1]);")
    assert drawn(renderer, Scene((layer,), camera, HEADLIGHT), shading) == pytest.approx([128, 255, 255], abs=1)


def test_a_compile_error_names_the_line_and_the_last_good_shading_stays(renderer: Renderer, scene: Scene) -> None:
    good = renderer.add_shading(TINTED)
    with pytest.raises(ShadingInvalid, match=r"Line 2 of the shading: .*nope") as error:
        renderer.add_shading("float a = 1.0f;\nreturn color * nope;")
    assert error.value.line == 2
    assert drawn(renderer, scene, good) == pytest.approx([64, 128, 128], abs=1)


@pytest.mark.parametrize(
    ("source", "reply"),
    [
        ("", "Line 1 of the shading: it returns nothing"),
        ("float a = 1.0f;\na += value;", "Line 2 of the shading: it returns nothing"),
        ("if (value > 1.0f) {\nreturn color;", "Line 2 of the shading"),
    ],
)
def test_a_text_without_an_end_is_refused(renderer: Renderer, source: str, reply: str) -> None:
    with pytest.raises(ShadingInvalid, match=reply):
        renderer.add_shading(source)


def test_where_nothing_is_returned_the_colour_stays(renderer: Renderer, scene: Scene) -> None:
    plain = drawn(renderer, scene, renderer.add_shading("return color * 1.0f;"))
    assert drawn(renderer, scene, renderer.add_shading("if (value > 1000.0f) return vec3();")) == plain


@pytest.mark.parametrize(
    ("source", "reply"),
    [
        ("//@ a = 1\nreturn color;", "Line 1 of the shading: this is not a valid parameter declaration"),
        ("return color;\n//@ a = 5 in 0 .. 1", "Line 2 of the shading: the default is outside"),
    ],
)
def test_wrong_declarations_are_told(source: str, reply: str) -> None:
    with pytest.raises(ShadingInvalid, match=reply):
        _ = UserShading(source).parameters


def test_values_outside_their_range_are_refused() -> None:
    shading = UserShading("//@ gain = 1 in 0 .. 4\n//@ int count = 2 in 1 .. 8\nreturn color;")
    assert shading.values({"count": 2.6}) == [1.0, 3.0]
    with pytest.raises(InvalidInput, match=r"Invalid value of gain: 5\. Use a value from 0 to 4"):
        shading.values({"gain": 5.0})


def test_unknown_names_are_refused(renderer: Renderer, scene: Scene) -> None:
    shading = renderer.add_shading(TINTED)
    with pytest.raises(InvalidInput, match=r"no parameter 'blue'.*red, green"):
        drawn(renderer, scene, shading, blue=1.0)
    with pytest.raises(InvalidInput, match="add_shading first"):
        drawn(renderer, scene, UserShading("return color * 0.987f;"))


PYTHON = """#@ red = 0.25 in 0 .. 1
#@ int steps = 2 in 1 .. 8

@wp.func
def dimmed(level: wp.float32, steps: wp.int32):
    return level / wp.float32(steps)


def shade(steps, value, red):
    return wp.vec3(red, dimmed(1.0, steps), value / 200.0)
"""


def test_python_text_is_compiled_too(renderer: Renderer, scene: Scene) -> None:
    shading = renderer.add_shading(PYTHON)
    assert shading.parameters == (Parameter("red", 0.25, 0.0, 1.0), Parameter("steps", 2.0, 1.0, 8.0, "int"))
    assert drawn(renderer, scene, shading) == pytest.approx([64, 128, 128], abs=1)
    assert drawn(renderer, scene, shading, red=1.0, steps=4.0) == pytest.approx([255, 64, 128], abs=1)


def test_a_python_function_finds_what_is_around_it(renderer: Renderer, scene: Scene) -> None:
    tint = 0.5

    def shade(view, value, depth):  # type: ignore[no-untyped-def]
        # @ depth = 0.25 in 0 .. 1
        return wp.vec3(tint, depth, value / 200.0)  # fmt: skip

    assert drawn(renderer, scene, renderer.add_shading(shade)) == pytest.approx([128, 64, 128], abs=1)


@pytest.mark.parametrize(
    ("source", "reply"),
    [
        ("def shade(color):\n    a = 1.0\n    return color * nope\n", "Line 3 of the shading: .*nope"),
        ("def shade(color):\n    return wp.nosuch(color)\n", "Line 2 of the shading: .*nosuch"),
        ("\n\ndef shade(color)\n    return color\n", "Line 3 of the shading: expected ':'"),
        ("gain = 1.0\n\ndef shade(color, strenght):\n    return color\n", "Line 3 of the shading: .*'strenght'"),
        ("\ndef shade(value):\n    return value\n", "Line 2 of the shading: .*float32"),
        ("gain = 1 / 0\ndef shade(color):\n    return color\n", "Line 1 of the shading: division by zero"),
        (
            "@wp.func\ndef bad(x: float):\n    return x + 'a'\n\n"
            "def shade(color, value):\n    return color * bad(value)\n",
            "Line 3 of the shading",
        ),
    ],
)
def test_errors_in_python_name_the_line(renderer: Renderer, scene: Scene, source: str, reply: str) -> None:
    good = renderer.add_shading(PYTHON)
    with pytest.raises(ShadingInvalid, match=reply):
        renderer.add_shading(source)
    assert drawn(renderer, scene, good) == pytest.approx([64, 128, 128], abs=1)
