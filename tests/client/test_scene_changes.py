"""Changes that depend on the scene, while other clients change it too."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest

from pellucid.client.connection import error_from_body
from pellucid.client.scene.changes import MAX_TRIES, SceneChange, change_scene
from pellucid.client.viewer import Viewer
from pellucid.errors import InvalidInput, PellucidError, SceneChanged
from pellucid.rendering.scene import Scene


class ConnectionToBusyScene:
    """Answers like a viewer whose scene others change: each PATCH fails as given, or is accepted."""

    def __init__(self, errors: list[PellucidError]) -> None:
        self.errors: Iterator[PellucidError] = iter(errors)
        self.revision, self.accepted = 3, [0]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        if method == "GET":
            scene = json.loads(json.dumps(asdict(Scene(step=float(self.revision)))))
            return {"scene": scene, "revision": self.revision}
        if (error := next(self.errors, None)) is not None:
            self.revision += 1
            raise error
        assert body["revision"] == self.revision
        self.accepted = [change["value"] for change in body["changes"]]
        return None


def next_step(scene: Scene) -> SceneChange:
    return ("step",), scene.step + 100


def late() -> PellucidError:
    """What a viewer sends over HTTP."""
    return error_from_body({"kind": "SceneChanged", "what": "Any words.", "remedy": "Reload."})


def test_a_change_is_made_anew_for_the_scene_as_it_has_become() -> None:
    connection = ConnectionToBusyScene([late(), late()])
    change_scene(connection, next_step)  # type: ignore[arg-type]
    assert connection.accepted == [105.0]


@pytest.mark.parametrize(
    ("errors", "kind"),
    [([InvalidInput("The scene changed colour.", "Use red.")], InvalidInput), ([late()] * MAX_TRIES, SceneChanged)],
)
def test_other_errors_and_too_many_tries_are_raised(errors: list[PellucidError], kind: type[PellucidError]) -> None:
    connection = ConnectionToBusyScene(errors)
    with pytest.raises(PellucidError) as raised:
        change_scene(connection, next_step)  # type: ignore[arg-type]
    assert type(raised.value) is kind and connection.accepted == [0]


def test_a_viewer_says_so_by_the_class_of_its_error(viewer: Viewer) -> None:
    body = {"changes": [{"path": ["step"], "value": 1.0}], "revision": 12345}
    with pytest.raises(SceneChanged, match="for revision 12345"):
        viewer._connection.ask("PATCH", "/api/scene", body)
