"""Changing a Scene on request.

Here: changes applied to a Scene, what of it those may see who do not own it, and the sources that it names.
Not here: revisions and undo (history), who may change it (session).
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import PurePath
from typing import Any

from pellucid.dataclass_json import from_json
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.instance.access.guest_limits import LAYER_LISTS, check_layer_counts, check_texts
from pellucid.instance.protocol.shared_types import Change
from pellucid.rendering.cinematic.options import BUILT_IN
from pellucid.rendering.scene import Scene
from pellucid.rendering.validation import check_layers


def with_changes(scene: Scene, changes: Sequence[Change]) -> Scene:
    """The scene with every change made; what it cannot be is refused, and then nothing is changed.

    >>> with_changes(Scene(), [Change(("background", 0), 1.0)]).background
    (1.0, 0.0, 0.0, 1.0)
    """
    document = json.loads(json.dumps(asdict(scene)))
    for change in changes:
        if change.path[:1] == ("camera",):
            raise InvalidInput("A patch cannot change the camera.", remedy="Send set_camera, or use PUT /api/camera.")
        _refuse_odd_numbers(change)
        check_texts(change.value, next((step for step in reversed(change.path) if isinstance(step, str)), ""))
        _put(document, change)
    check_layer_counts(document)
    built: Scene = from_json(Scene, document, "scene")
    check_layers(built)
    return built


def _refuse_odd_numbers(change: Change) -> None:
    """NaN and infinity are no JSON: a page could not read the scene any more."""
    try:
        json.dumps(change.value, allow_nan=False)
    except ValueError as error:
        raise InvalidInput("A change contains NaN or infinity.", remedy="Use finite numbers.") from error


def _put(document: Any, change: Change) -> None:
    place = document
    for step in change.path[:-1]:
        place = _inside(place, step, change)
    if not change.path:
        raise InvalidInput("A change has no path.", remedy='Use a path such as ["volumes", 0, "mode"].')
    last = change.path[-1]
    if isinstance(place, list) and isinstance(last, int) and 0 <= last <= len(place):
        # One past the end adds, None takes away.
        place[last : last + 1] = [] if change.value is None else [change.value]
    elif isinstance(place, dict) and isinstance(last, str) and last in place:
        place[last] = change.value
    else:
        raise _nowhere(change)


def _inside(place: Any, step: str | int, change: Change) -> Any:
    if isinstance(place, list) and isinstance(step, int) and 0 <= step < len(place):
        return place[step]
    if isinstance(place, dict) and isinstance(step, str) and step in place:
        return place[step]
    raise _nowhere(change)


def _nowhere(change: Change) -> InvalidInput:
    path = ".".join(str(step) for step in change.path)
    return InvalidInput(f"The scene has no property {path}.", remedy="Reload the scene and try again.")


def sources(scene: Scene) -> set[str]:
    """Everything that a scene names."""
    return {layer.source for kind in LAYER_LISTS for layer in getattr(scene, kind)}


def sources_in_order(scene: Scene) -> tuple[tuple[str, ...], ...]:
    """What a scene names, layer by layer."""
    return tuple(tuple(layer.source for layer in getattr(scene, kind)) for kind in LAYER_LISTS)


def without_paths(scene: Scene) -> Scene:
    """The scene with names instead of paths, for guests."""
    layers: dict[str, Any] = {
        kind: tuple(replace(layer, source=name_of(layer.source)) for layer in getattr(scene, kind))
        for kind in LAYER_LISTS
    }
    environment = scene.cinematic.environment
    cinematic = replace(scene.cinematic, environment=environment if environment in BUILT_IN else name_of(environment))
    return replace(scene, cinematic=cinematic, **layers)


def name_of(source: str) -> str:
    """What users call a source: the last part of its path, and the dataset.

    >>> name_of("/data/scans/rock.h5:/entry/data")
    'rock.h5:/entry/data'
    """
    location = Location.parse(source)
    name = PurePath(location.path).name or location.path
    return f"{name}:{location.dataset}" if location.dataset else name
