"""Messages: what is read, what is refused, and that nothing is forgotten."""

import json
from dataclasses import asdict, fields
from typing import get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from pellucid.errors import InvalidInput
from pellucid.instance.protocol import client_messages, server_messages
from pellucid.instance.protocol.codec import EncodedFrame, read, to_text
from pellucid.instance.protocol.http_bodies import SceneChange
from pellucid.instance.protocol.server_messages import SliceHeader
from pellucid.instance.protocol.shared_types import Change
from pellucid.rendering.camera import Camera
from pellucid.rendering.slice_image import WHOLE, SliceRectangle

LOOK = {"type": "set_camera", "camera": asdict(Camera())}


def test_a_message_is_read_as_what_it_says() -> None:
    assert read(json.dumps(LOOK)) == client_messages.SetCamera(Camera())
    patch = '{"type": "patch", "revision": 3, "changes": [{"path": ["volumes", 0, "mode"], "value": "max"}]}'
    assert read(patch) == client_messages.Patch(3, (Change(("volumes", 0, "mode"), "max"),))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Invalid JSON"),
        ("[]", "should be an object"),
        ('{"type": "sing"}', "'sing' found"),
        ('{"type": "resize", "width": 0, "height": 5}', "width"),
        ('{"type": "resize", "width": 9000, "height": 5}', "width"),
        ('{"type": "resize", "width": 5, "height": 5, "depth": 5}', "depth"),
        ('{"type": "resize", "width": "5", "height": 5}', "width"),
        ('{"type": "probe", "x": 1.5, "y": 0}', "x"),
        ('{"type": "slices", "voxel": [1, 2]}', "voxel"),
        (json.dumps({**LOOK, "camera": {**asdict(Camera()), "position": [float("nan"), 0, 0]}}), "position"),
        ('{"type": "patch", "revision": 1, "changes": [{"path": 3, "value": 1}]}', "path"),
    ],
)
def test_what_is_no_message_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match="Invalid message") as refused:
        read(text)
    assert words in refused.value.what


@pytest.mark.parametrize(
    "changes", [[1] * 50_000, [{"path": [{}] * 50_000, "value": 1}], [{"path": ["time"], "value": 1, "more": 1}] * 5000]
)
def test_of_a_list_the_first_thing_that_is_wrong_is_enough(changes: list[object]) -> None:
    """To collect an error for each of them takes a second, in which nobody else is served."""
    with pytest.raises(InvalidInput) as refused:
        read(json.dumps({"type": "patch", "revision": 1, "changes": changes}))
    assert isinstance(refused.value.__cause__, ValidationError) and refused.value.__cause__.error_count() <= 2
    with pytest.raises(ValidationError) as refused_body:
        TypeAdapter(SceneChange).validate_python({"changes": changes})
    assert refused_body.value.error_count() <= 2


def test_a_camera_beyond_all_bounds_is_refused() -> None:
    with pytest.raises(InvalidInput, match="out of range"):
        read(json.dumps({**LOOK, "camera": {**asdict(Camera()), "position": [1e13, 0, 0]}}))


def test_every_message_has_a_type_of_its_own_and_a_capability() -> None:
    for union in (client_messages.Incoming, server_messages.Outgoing | server_messages.Header):
        kinds = get_args(union)
        tags = [next(field.default for field in fields(kind) if field.name == "type") for kind in kinds]
        assert len(set(tags)) == len(kinds)
    assert set(client_messages.NEEDED) == set(get_args(client_messages.Incoming))


PLACE = SliceRectangle((0.0, 0.0, 3.0), (9.0, 0.0, 0.0), (0.0, 9.0, 0.0), (0.0, 0.0, 1.0))


def test_a_picture_is_its_header_and_its_bytes() -> None:
    image = EncodedFrame(SliceHeader("y", 3, 0, 7, 1, 20, 10, WHOLE, PLACE, is_exact=True), b"png")
    sent = image.to_bytes()
    length = int.from_bytes(sent[:4], "little")
    assert json.loads(sent[4 : 4 + length]) == json.loads(json.dumps(asdict(image.header)))
    assert sent[4 + length :] == b"png"


def test_what_is_told_carries_its_type() -> None:
    assert json.loads(to_text(server_messages.ShuttingDown("It is over.", "Go home."))) == {
        "what": "It is over.",
        "remedy": "Go home.",
        "type": "shutting_down",
    }
