"""What a scene may not be given: shadings by guests, and long texts by anyone."""

import pytest

from pellucid.errors import InvalidInput
from pellucid.instance.protocol.shared_types import Change
from pellucid.instance.scene.edits import with_changes
from pellucid.instance.server import Instance
from pellucid.rendering.scene import Scene, VolumeLayer
from tests.instance.loopback import http


def test_a_guest_chooses_no_shading_that_the_scene_does_not_have(instance: Instance) -> None:
    changes = [{"path": ["volumes", 0, "user_shading"], "value": "0" * 64}]
    with http(instance, "control") as guest, http(instance) as owner:
        answer = guest.patch("/api/scene", json={"changes": changes})
        assert answer.status_code == 403 and "This link is for viewing and control" in answer.json()["what"]
        assert owner.patch("/api/scene", json={"changes": changes}).status_code == 200
        same = [{"path": ["volumes", 0, "mode"], "value": "composite"}]
        assert guest.patch("/api/scene", json={"changes": same}).status_code == 200
        owner.patch("/api/scene", json={"changes": [{"path": ["volumes", 0, "user_shading"], "value": ""}]})


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("annotations", "unit"), "u" * 201, "unit of the scene has 201 characters."),
        (("annotations",), {"is_axes": True, "unit": "u" * 201}, "unit of the scene has 201 characters."),
        (("volumes", 0, "parameters"), [["p" * 201, 1.0]], "parameters of the scene has 201 characters."),
        (("volumes", 0, "source"), "/" + "s" * 4096, "source of the scene has 4,097 characters."),
    ],
)
def test_texts_in_a_scene_have_a_largest_length(path: tuple[str | int, ...], value: object, says: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        with_changes(Scene((VolumeLayer("/data/ball.npy"),)), [Change(path, value)])
    assert refused.value.what == says


def test_texts_in_a_saved_state_have_a_largest_length(instance: Instance) -> None:
    with http(instance) as owner:
        state = owner.get("/api/state").json()
        state["scene"]["annotations"]["unit"] = "u" * 201
        answer = owner.put("/api/state", json=state)
    assert answer.status_code == 400 and answer.json()["what"] == "unit of the scene has 201 characters."
