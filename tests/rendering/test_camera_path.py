"""Key frames are met exactly, and the way between them is smooth."""

import json
from dataclasses import replace

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera
from pellucid.rendering.camera_path import CameraPath, KeyFrame, turntable
from pellucid.rendering.scene import ClipPlane, Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction

FRONT = Camera((0.0, -10.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
SIDE = Camera((10.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
ABOVE = Camera((1.0, 2.0, 23.0), (1.0, 2.0, 3.0), (0.0, 1.0, 0.0), field_of_view_deg=20.0)
PATH = CameraPath((KeyFrame(0.0, FRONT), KeyFrame(1.0, SIDE), KeyFrame(3.0, ABOVE), KeyFrame(4.0, ABOVE)))


def pose(camera: Camera) -> Voxels:
    """Everything that a picture depends on."""
    return np.concatenate([camera.position, camera.target, *camera.axes(), [camera.visible_height]])


@pytest.mark.parametrize("number", range(4))
def test_keys_are_met_exactly(number: int) -> None:
    key = PATH.keys[number]
    assert PATH.camera(key.at_s) == key.camera
    for moment in (key.at_s - 1e-7, key.at_s + 1e-7):
        assert pose(PATH.camera(moment)) == pytest.approx(pose(key.camera), abs=1e-5)


def test_the_way_has_no_jolt() -> None:
    moments = np.linspace(0, 4, 4001)
    poses = np.array([pose(PATH.camera(moment)) for moment in moments])
    speed = np.diff(poses, axis=0) * 1000
    assert np.abs(speed).max() < 40
    assert np.abs(np.diff(speed, axis=0)).max() < 0.2  # A corner in the way would be a jump of the size of the speed.
    assert np.abs(speed[0]).max() < 0.1 and np.abs(speed[-1]).max() < 0.1  # It starts and ends at rest.


def test_a_resting_camera_rests() -> None:
    assert pose(PATH.camera(3.5)) == pytest.approx(pose(ABOVE))


def test_the_camera_goes_around_what_it_looks_at() -> None:
    halfway = CameraPath((KeyFrame(0.0, FRONT), KeyFrame(2.0, SIDE))).camera(1.0)
    assert halfway.position == pytest.approx((10 / np.sqrt(2), -10 / np.sqrt(2), 0.0))
    assert halfway.axes()[1] == pytest.approx((0.0, 0.0, 1.0))


def test_before_and_after_stand_the_ends() -> None:
    assert pose(PATH.camera(-1.0)) == pytest.approx(pose(FRONT))
    assert pose(PATH.camera(99.0)) == pytest.approx(pose(ABOVE))


def test_flat_cameras_grow_evenly() -> None:
    flat = [replace(FRONT, field_of_view_deg=None, height=height) for height in (1.0, 100.0)]
    camera = CameraPath((KeyFrame(0.0, flat[0]), KeyFrame(1.0, flat[1]))).camera(0.5)
    assert camera.field_of_view_deg is None
    assert camera.height == pytest.approx(10.0)


def test_time_and_transfer_go_along() -> None:
    dark = TransferFunction(opacities=((0.0, 0.0), (1.0, 0.2)), value_range=(0.0, 100.0))
    bright = TransferFunction(opacities=((0.0, 0.0), (0.5, 1.0), (1.0, 1.0)), value_range=(50.0, 200.0))
    path = CameraPath((KeyFrame(0.0, FRONT, 2.0, dark), KeyFrame(1.0, SIDE), KeyFrame(2.0, FRONT, 6.0, bright)))
    scene = Scene((VolumeLayer("a"),), time=9.0)
    between = path.scene(scene, 1.0)
    assert between.time == 4.0
    assert between.volumes[0].transfer.value_range == (25.0, 150.0)
    assert np.array(between.volumes[0].transfer.opacities) == pytest.approx(np.array([(0, 0), (0.5, 0.55), (1, 0.6)]))
    assert path.scene(scene, 2.0).volumes[0].transfer.value_range == bright.value_range
    plain = PATH.scene(scene, 0.5)
    assert (plain.time, plain.volumes) == (9.0, scene.volumes)


def test_clipping_goes_along() -> None:
    whole, part = Box((0, 0, 0), (10, 20, 30)), Box((4, 0, 0), (10, 20, 10))
    planes = tuple((ClipPlane(normal, offset),) for normal, offset in (((2.0, 0.0, 0.0), 2.0), ((0.0, 1.0, 0.0), 3.0)))
    path = CameraPath(
        (KeyFrame(0.0, FRONT, clip=whole, planes=planes[0]), KeyFrame(2.0, SIDE, clip=part, planes=planes[1]))
    )
    scene = Scene((VolumeLayer("a"),))
    half = path.scene(scene, 1.0)
    assert half.volumes[0].clip == Box((2, 0, 0), (10, 20, 20))
    assert half.planes[0].normal == pytest.approx((np.sqrt(0.5), np.sqrt(0.5), 0.0))
    assert half.planes[0].offset == pytest.approx(2 * np.sqrt(2))
    assert path.scene(scene, 0.0).planes == planes[0] and path.scene(scene, 2.0).volumes[0].clip == part
    # Another number of planes comes at once.
    more = replace(path, keys=(path.keys[0], replace(path.keys[1], planes=())))
    assert (more.scene(scene, 1.9).planes, more.scene(scene, 2.0).planes) == (planes[0], ())


def test_the_moments_are_the_images_of_the_movie() -> None:
    moments = PATH.moments(10)
    assert len(moments) == 41
    assert (moments[0].camera, moments[-1].camera) == (FRONT, ABOVE)
    assert moments[10].camera == PATH.camera(moments[10].at_s)


def test_seconds_that_mean_nothing_are_refused() -> None:
    with pytest.raises(InvalidInput, match="not finite"):
        KeyFrame(float("nan"), FRONT)


def test_to_and_from_json() -> None:
    box, planes = Box((0, 0, 0), (1, 2, 3)), (ClipPlane((0.0, 0.0, 1.0), 2.0),)
    path = CameraPath((KeyFrame(0.0, FRONT, 1.0, TransferFunction(), box, planes), KeyFrame(2.0, ABOVE)))
    assert CameraPath.from_json(path.to_json()) == path
    short = {"version": 1, "keys": [{"at_s": 0, "camera": {"position": [0, 0, 4]}}, {"at_s": 1, "camera": {}}]}
    assert CameraPath.from_json(json.dumps(short)).keys[0].camera == Camera()


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("{", "Invalid camera path"),
        ("{}", "Unknown version of a camera path"),
        ('{"version": 1, "keys": []}', "Use at least two"),
        ('{"version": 1, "keys": [{"at_s": 1, "camera": {}}, {"at_s": 1, "camera": {}}]}', "later than the one before"),
        ('{"version": 1, "keys": [{"at": 1, "camera": {}}]}', r"Unknown field 'at' in path.keys\[0\]"),
        (
            '{"version": 1, "keys": [{"at_s": 0, "camera": {}}, {"at_s": 1, "camera": {"field_of_view_deg": null}}]}',
            "one projection for all cameras",
        ),
    ],
)
def test_what_is_no_path_is_told(text: str, reply: str) -> None:
    with pytest.raises(InvalidInput, match=reply):
        CameraPath.from_json(text)


def test_a_turntable_goes_once_around() -> None:
    tilted = FRONT.orbited(0, 30)
    cameras = list(turntable(tilted, 8))
    assert cameras[0] == tilted
    assert [camera.position[2] for camera in cameras] == pytest.approx([5.0] * 8)
    assert all(camera.up == (0.0, 0.0, 1.0) for camera in cameras)
    angles = np.unwrap([np.arctan2(camera.position[1], camera.position[0]) for camera in cameras])
    assert np.degrees(np.diff(angles)) == pytest.approx([45.0] * 7)


def test_orbits_stop_at_the_pole_and_zoom_only_changes_the_angle() -> None:
    assert FRONT.orbited(0, 120).position == pytest.approx((0.0, -0.01745, 10.0), abs=1e-4)
    assert FRONT.zoomed(2).visible_height == pytest.approx(FRONT.visible_height / 2)
    assert FRONT.zoomed(2).position == FRONT.position
    with pytest.raises(InvalidInput, match="Invalid zoom factor: 0"):
        FRONT.zoomed(0)
