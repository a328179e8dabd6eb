"""Changes of a viewer's scene that depend on what it shows.

Here: read_scene, parse_scene, change_scene.
Not here: what is changed (labels, measures), changes that hold whatever the scene is (viewer).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pellucid.client.connection import Connection
from pellucid.dataclass_json import from_json
from pellucid.errors import SceneChanged
from pellucid.rendering.scene import Scene

MAX_TRIES = 20
SceneChange = tuple[Sequence[str | int], Any]
"""Where, and the new value as plain data."""


def read_scene(connection: Connection) -> tuple[Scene, int]:
    """The scene and its revision."""
    return parse_scene(connection.ask("GET", "/api/scene"))


def parse_scene(snapshot: Mapping[str, Any]) -> tuple[Scene, int]:
    """The scene and its revision in what the viewer knows about all that it shows."""
    return from_json(Scene, snapshot["scene"], "scene"), int(snapshot["revision"])


def change_scene(connection: Connection, change: Callable[[Scene], SceneChange]) -> None:
    """Change the scene as it is; again, if another client changed it meanwhile."""
    for tries_left in reversed(range(MAX_TRIES)):
        scene, revision = read_scene(connection)
        path, value = change(scene)
        try:
            changes = [{"path": list(path), "value": value}]
            connection.ask("PATCH", "/api/scene", {"changes": changes, "revision": revision})
        except SceneChanged:
            if not tries_left:
                raise
        else:
            return
