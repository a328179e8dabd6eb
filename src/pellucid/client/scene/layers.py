"""Layers of a viewer: what each of them is, showing, hiding and removing them.

Here: ViewerLayers, which a Viewer has as ``layers``, and ShownLayer.
Not here: how a volume is drawn (view), adding layers (viewer).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pellucid.client.connection import Connection
from pellucid.client.scene.changes import SceneChange, change_scene, parse_scene
from pellucid.errors import InvalidInput
from pellucid.rendering.scene import MeshLayer, PointsLayer, Scene, SliceLayer, VolumeLayer

KINDS = ("volumes", "points", "meshes", "slices")
"""Lists of the scene, in the order in which their layers are counted."""
AnyLayer = VolumeLayer | PointsLayer | MeshLayer | SliceLayer


@dataclass(frozen=True)
class ShownLayer:
    """A layer of the scene. path: of the layer, for ``viewer.change``: ("volumes", 0). name: to show. layer: how it is
    drawn. facts: shape, spacing, unit and dtype of a volume, and what else the viewer knows."""

    path: tuple[str, int]
    name: str
    layer: AnyLayer
    facts: dict[str, Any]

    @property
    def is_visible(self) -> bool:
        return self.layer.is_visible

    @property
    def opacity(self) -> float | None:
        """Of labels, a mesh or a slice; None where the transfer function decides."""
        return None if (path := _opacity_path(self.path, self.layer)) is None else float(_at(self.layer, path[2:]))


class ViewerLayers:
    """All layers: volumes first, as in ``scene.volumes``, then points, meshes and slices. Numbers count from 0 in this
    order. Every change can be undone in the page."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __iter__(self) -> Iterator[ShownLayer]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __getitem__(self, number: int) -> ShownLayer:
        shown = self._read()
        _check(number, len(shown))
        return shown[number]

    def hide(self, *numbers: int) -> None:
        """Do not draw these layers."""
        for number in numbers:
            self._change(number, lambda path, _: ((*path, "is_visible"), False))

    def show(self, *numbers: int) -> None:
        """Draw these layers again."""
        for number in numbers:
            self._change(number, lambda path, _: ((*path, "is_visible"), True))

    def remove(self, number: int) -> None:
        """Take a layer out of the scene; the layers after it count one less."""
        self._change(number, lambda path, _: (path, None))

    def set_opacity(self, number: int, opacity: float) -> None:
        """From 0 to 1: of the labels of a layer, a mesh or a slice."""

        def changed(path: tuple[str, int], layer: AnyLayer) -> SceneChange:
            place = _opacity_path(path, layer)
            if place is None:
                remedy = "Change the opacities of its transfer function."
                raise InvalidInput(f"Layer {number} has no opacity of its own.", remedy=remedy)
            return place, opacity

        self._change(number, changed)

    def _change(self, number: int, change: Any) -> None:
        def changed(scene: Scene) -> SceneChange:
            layers = _layers_of(scene)
            _check(number, len(layers))
            place: SceneChange = change(*layers[number])
            return place

        change_scene(self._connection, changed)

    def _read(self) -> list[ShownLayer]:
        snapshot = self._connection.ask("GET", "/api/scene")
        facts = {"volumes": snapshot["layers"], "points": snapshot["points"], "meshes": snapshot["meshes"]}
        shown = []
        for path, layer in _layers_of(parse_scene(snapshot)[0]):
            kind, index = path
            known: dict[str, Any] = facts[kind][index] if kind in facts else {}
            shown.append(ShownLayer(path, known.get("name", layer.source), layer, known))
        return shown


def _layers_of(scene: Scene) -> list[tuple[tuple[str, int], AnyLayer]]:
    return [((kind, index), layer) for kind in KINDS for index, layer in enumerate(getattr(scene, kind))]


def _opacity_path(path: tuple[str, int], layer: AnyLayer) -> tuple[str | int, ...] | None:
    if isinstance(layer, MeshLayer | SliceLayer):
        return (*path, "opacity")
    return (*path, "labels", "opacity") if isinstance(layer, VolumeLayer) and layer.labels is not None else None


def _at(layer: Any, path: tuple[str | int, ...]) -> Any:
    for name in path:
        layer = getattr(layer, str(name))
    return layer


def _check(number: int, count: int) -> None:
    if not 0 <= number < count:
        remedy = f"Use a number below {count}." if count else "Call render_volume first."
        raise InvalidInput(f"The scene has no layer {number}.", remedy=remedy)
