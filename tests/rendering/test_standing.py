"""Volumes stand as their files state, however they are stored, and none is mirrored."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.formats.orientation import Orientation
from pellucid.formats.protocol import Voxels
from pellucid.rendering.automatic import automatic_camera, automatic_scene
from pellucid.rendering.camera import Camera
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene
from pellucid.volume.slice_planes import planes_of
from pellucid.volume.volume import Volume

SIZE = 40
NAMED = {"R": (1, 0, 0), "L": (-1, 0, 0), "A": (0, 1, 0), "P": (0, -1, 0), "S": (0, 0, 1), "I": (0, 0, -1)}


def patient() -> Voxels:
    """(x, y, z) to the right, the front and the head: a block, more of it to the right, above, and at the front."""
    voxels = np.zeros((24, 20, 28), np.uint8)
    voxels[6:18, 5:15, 6:22] = 120
    voxels[13:18, 5:15, 16:22] = 250
    voxels[8:12, 12:15, 8:12] = 30
    return voxels


def stored(code: str) -> Volume:
    """The patient with x, y and z of the volume running where the three letters say."""
    axes = [tuple(float(n) for n in NAMED[letter]) for letter in code]
    order = [int(np.argmax(np.abs(axis))) for axis in axes]
    voxels = patient().transpose(order)
    for axis, direction in enumerate(axes):
        voxels = np.flip(voxels, axis) if sum(direction) < 0 else voxels
    return Volume.from_array(np.ascontiguousarray(voxels.T), orientation=Orientation(tuple(axes), is_anatomical=True))  # type: ignore[arg-type]


def centred(camera: Camera, volume: Volume) -> Camera:
    """The same direction without perspective, at the middle of the volume."""
    shift = (np.array(volume.shape[::-1]) - 1) / 2 - camera.target
    position, target = (tuple(float(n) for n in place + shift) for place in (camera.position, camera.target))
    return replace(camera, position=position, target=target, field_of_view_deg=None, height=32.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("code", ["RAS", "LPS", "LAS", "RPS", "RSP", "PIR", "ASL", "IPL", "SAR"])
@pytest.mark.parametrize("view", ["front", "right", "top"])
def test_one_patient_is_seen_however_it_is_stored(renderer: Renderer, code: str, view: str) -> None:
    images = []
    for volume in (stored("RAS"), stored(code)):
        renderer.add(volume)
        (layer,) = automatic_scene(volume).volumes
        camera = automatic_camera(volume, view=view)  # type: ignore[arg-type]
        scene = Scene((replace(layer, mode="max"),), centred(camera, volume))
        images.append(renderer.render(scene, SIZE, SIZE).rgba[..., 0].astype(int))
    assert images[0].std() > 20
    assert np.abs(images[0] - images[1]).mean() < 2


def test_the_front_view_faces_the_patient(renderer: Renderer) -> None:
    volume = stored("LAS")
    renderer.add(volume)
    (layer,) = automatic_scene(volume).volumes
    scene = Scene((replace(layer, mode="max"),), automatic_camera(volume, view="front"))
    image = renderer.render(scene, SIZE, SIZE).rgba[..., 0]
    row, column = (float(part.mean()) for part in np.nonzero(image > 240))
    assert row < SIZE / 2, "the head is up"
    assert column < SIZE / 2, "the patient's right is on the left"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("RAS", [("-y", "x"), ("-z", "x"), ("-z", "y")]),
        ("LPS", [("y", "x"), ("-z", "x"), ("-z", "y")]),
        ("RIP", [("y", "x"), ("z", "x"), ("y", "z")]),
        ("SAR", [("-x", "y"), ("-x", "z"), ("-y", "z")]),
    ],
)
def test_slices_have_the_head_or_the_front_at_the_top(code: str, expected: list[tuple[str, str]]) -> None:
    assert [(plane.down, plane.right) for plane in planes_of(stored(code))] == expected


def test_what_a_file_states_wins_over_the_face_that_a_sample_goes_through() -> None:
    voxels = np.zeros((20, 20, 20), np.uint8)
    voxels[6:, 6:14, 6:14] = 200
    assert automatic_scene(Volume.from_array(voxels)).camera.up == (0.0, 0.0, -1.0)
    upright = Orientation(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
    assert automatic_scene(Volume.from_array(voxels, orientation=upright)).camera.up == (0.0, 0.0, 1.0)
