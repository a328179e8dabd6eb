"""Messages: what is read, what is refused, and in which words."""

import json
from dataclasses import asdict

import pytest

from pellucid.errors import InvalidInput
from pellucid.instance.protocol import FrameHeader, Look, Patch, Picture, read
from pellucid.rendering.camera import Camera

CAMERA = asdict(Camera())


def test_a_camera_is_read() -> None:
    text = json.dumps({"kind": "look", "camera": {**CAMERA, "position": [1, 2, 3.5]}, "is_moving": True})
    assert read(text) == Look(Camera(position=(1.0, 2.0, 3.5)), is_moving=True)


def test_what_a_patch_leaves_out_stays() -> None:
    assert read('{"kind": "patch", "revision": 3, "mode": "max"}') == Patch(revision=3, mode="max")


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("", "not understood"),
        ("[1, 2]", "not understood"),
        ('{"kind": "erase"}', "erase"),
        ('{"kind": "hello", "version": 1, "width": 0, "height": 9}', "hello.width"),
        ('{"kind": "hello", "version": 1, "width": 9, "height": 99999}', "hello.height"),
        ('{"kind": "resize", "width": "9", "height": 9}', "resize.width"),
        ('{"kind": "patch", "revision": 0, "path": "/etc"}', "patch.path"),
        ('{"kind": "patch", "revision": 0, "mode": "x-ray"}', "patch.mode"),
        ('{"kind": "patch", "revision": 0, "shading": "user"}', "patch.shading"),
        ('{"kind": "patch", "revision": 0, "value_range": [NaN, 1]}', "patch.value_range"),
        (json.dumps({"kind": "look", "camera": {**CAMERA, "position": [1e300, 0, 0]}}), "beyond all bounds"),
        (json.dumps({"kind": "look", "camera": {**CAMERA, "position": [float("nan"), 0, 0]}}), "position.0"),
        (json.dumps({"kind": "look", "camera": {**CAMERA, "position": CAMERA["target"]}}), "its own position"),
        (json.dumps({"kind": "look", "camera": {**CAMERA, "field_of_view_deg": 180}}), "field of view"),
    ],
)
def test_what_is_no_message_is_refused(message: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as refused:
        read(message)
    assert refused.value.do


def test_a_picture_carries_its_header() -> None:
    header = FrameHeader(4, Camera(), 8, 6, "png", True, {"render": 0.25})
    packed = Picture(header, b"pixels").to_bytes()
    length = int.from_bytes(packed[:4], "little")
    assert packed[4 + length :] == b"pixels"
    assert json.loads(packed[4 : 4 + length])["times_s"] == {"render": 0.25}
