"""Changes to a scene: what they change, and what they leave."""

from dataclasses import replace

import pytest

from pellucid.errors import InvalidInput
from pellucid.instance.protocol.shared_types import Change
from pellucid.instance.scene.edits import name_of, sources, with_changes, without_paths
from pellucid.rendering.scene import Isosurface, MeshLayer, Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction

SCENE = Scene((VolumeLayer("/data/ball.npy"),), meshes=(MeshLayer("/data/bone.ply"),))


def test_only_what_is_named_changes() -> None:
    after = with_changes(SCENE, [Change(("volumes", 0, "transfer", "value_range"), [12, 14.5]), Change(("step",), 1.0)])
    (layer,) = SCENE.volumes
    wanted = replace(layer, transfer=TransferFunction(value_range=(12.0, 14.5)))
    assert after == replace(SCENE, volumes=(wanted,), step=1.0)


def test_lists_grow_at_their_end_and_lose_what_is_null() -> None:
    surface = {"value": 3.0, "color": [1, 0, 0], "opacity": 0.5}
    after = with_changes(SCENE, [Change(("volumes", 0, "isosurfaces", 0), surface)])
    assert after.volumes[0].isosurfaces == (Isosurface(3.0, (1.0, 0.0, 0.0), 0.5),)
    assert with_changes(after, [Change(("volumes", 0, "isosurfaces", 0), None)]) == SCENE
    assert with_changes(SCENE, [Change(("meshes", 0), None)]).meshes == ()


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("camera", "height"), 3.0, "cannot change the camera"),
        (("volumes", 1, "mode"), "max", "no property volumes.1.mode"),
        (("volumes", 2), {}, "no property volumes.2"),
        (("volumes", -1, "mode"), "max", "no property"),
        (("volumes", 0, "colour"), "red", "no property volumes.0.colour"),
        (("volumes", 0, "mode"), "sideways", "scene.volumes[0].mode: 'sideways'"),
        (("volumes", 0, "transfer", "value_range"), [3, 3], "Invalid value range"),
        ((), 1, "has no path"),
        (("light", "ambient"), float("nan"), "contains NaN or infinity"),
    ],
)
def test_what_cannot_be_is_refused(path: tuple[str | int, ...], value: object, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        with_changes(SCENE, [Change(path, value)])
    assert words in refused.value.what


def test_layers_that_cannot_be_drawn_together_are_refused_before_anything_changes() -> None:
    two = replace(SCENE, volumes=(*SCENE.volumes, VolumeLayer("/data/rock.npy")))
    with pytest.raises(InvalidInput, match="in composite mode only"):
        with_changes(two, [Change(("volumes", 1, "mode"), "max")])
    with pytest.raises(InvalidInput, match="needs an isovalue"):
        with_changes(SCENE, [Change(("volumes", 0, "mode"), "isosurface")])
    hidden = with_changes(two, [Change(("volumes", 0, "is_visible"), False), Change(("volumes", 1, "mode"), "max")])
    assert [layer.mode for layer in hidden.visible.volumes] == ["max"]
    with pytest.raises(InvalidInput, match="in composite mode only"):
        with_changes(hidden, [Change(("volumes", 0, "is_visible"), True)])


def test_paths_are_for_owners() -> None:
    assert sources(SCENE) == {"/data/ball.npy", "/data/bone.ply"}
    assert sources(without_paths(SCENE)) == {"ball.npy", "bone.ply"}
    assert name_of("s3://bucket/scans/rock.zarr") == "rock.zarr"
