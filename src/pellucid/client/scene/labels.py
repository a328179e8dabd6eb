"""Labels of a viewer: names, colours, visibility and sizes.

Here: ViewerLabels, which a Viewer has as ``labels``.
Not here: what is drawn (rendering.labels), the table (rendering.label_list).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Literal

from pellucid.client.connection import Connection
from pellucid.client.scene.changes import SceneChange, change_scene, read_scene
from pellucid.dataclass_json import from_json
from pellucid.errors import InvalidInput
from pellucid.rendering.label_list import LabelList, LabelRow
from pellucid.rendering.labels import Color, LabelColor, Labels
from pellucid.rendering.scene import Scene


class ViewerLabels:
    """The labels of a layer; by default, of the first layer that has labels. Every change can be undone in the page.

    layer: its index in ``scene.volumes``.
    """

    def __init__(self, connection: Connection, layer: int | None = None) -> None:
        self._connection, self._layer = connection, layer

    def of_layer(self, layer: int) -> "ViewerLabels":
        """The labels of another layer."""
        return ViewerLabels(self._connection, layer)

    def __getitem__(self, label: int) -> LabelColor:
        """Name, colour and visibility of a label."""
        _, labels = self._labels_in(read_scene(self._connection)[0])
        return next((one for one in labels.colors if one.label == label), LabelColor(label))

    def set(
        self,
        label: int,
        *,
        name: str | None = None,
        color: Color | None = None,
        opacity: float | None = None,
        is_visible: bool | None = None,
    ) -> None:
        """Change the name, colour (red, green, blue, 0 to 1), opacity or visibility of a label; None leaves it."""
        given = {"name": name, "color": color, "opacity": opacity, "is_visible": is_visible}
        changes = {what: value for what, value in given.items() if value is not None}
        self._change(lambda labels: labels.with_label(label, **changes))

    def hide(self, *labels: int) -> None:
        """Do not draw these labels."""
        self._set_visible(labels, is_visible=False)

    def show(self, *labels: int) -> None:
        """Draw these labels again."""
        self._set_visible(labels, is_visible=True)

    def isolate(self, *labels: int) -> None:
        """Draw only these labels; without any, all that are not hidden."""
        self._change(lambda known: replace(known, isolated=tuple(labels)))

    def mask_volume(self, *labels: int) -> None:
        """Draw values of volumes only where these labels are, and the labels only on slices; 0 is what has no label.
        Without any label, draw everything again."""
        self._change(lambda known: replace(known, isolated=tuple(labels), is_mask=bool(labels)))

    def show_all(self) -> None:
        """Draw all labels: none is isolated or hidden any more."""
        self._change(_all_shown)

    def table(self) -> tuple[LabelRow, ...]:
        """Voxels, volume, centre and box of every label, counted at full resolution."""
        return self.list.rows

    @property
    def list(self) -> LabelList:
        """The table with its unit."""
        found = json.loads(self._connection.exchange("GET", "/api/labels", layer=self._index))
        labels: LabelList = from_json(LabelList, found, "labels")
        return labels

    def to_csv(self) -> str:
        """The table as the text of a CSV file."""
        return self._connection.exchange("GET", "/api/labels", layer=self._index, format="csv").decode()

    def paint(
        self,
        points: Sequence[Sequence[float]],
        label: int,
        *,
        radius: float = 4.0,
        axis: Literal["z", "y", "x"] | None = None,
        only: int | None = None,
    ) -> None:
        """Give a label to the voxels that a brush touches on its path through points (z, y, x), in voxels.

        radius: in voxels, along the axis with the finest spacing. axis: a disc in the slice across it; without it, a
        ball. only: voxels with this label alone. The file that the labels were opened from stays as it is.
        """
        body = {"layer": self._index, "label": label, "points": points, "radius": radius, "axis": axis, "only": only}
        self._connection.ask("POST", "/api/paint", body)

    def erase(
        self,
        points: Sequence[Sequence[float]],
        *,
        radius: float = 4.0,
        axis: Literal["z", "y", "x"] | None = None,
        only: int | None = None,
    ) -> None:
        """Paint with label 0."""
        self.paint(points, 0, radius=radius, axis=axis, only=only)

    def save(self, path: str | Path) -> None:
        """Write the labels to a new Zarr or HDF5 file on the viewer's machine."""
        self._connection.ask("POST", "/api/labels/save", {"layer": self._index, "path": str(path)})

    def _set_visible(self, labels: tuple[int, ...], *, is_visible: bool) -> None:
        def changed(known: Labels) -> Labels:
            for label in labels:
                known = known.with_label(label, is_visible=is_visible)
            return known

        self._change(changed)

    @property
    def _index(self) -> int:
        """The index of the layer."""
        return self._labels_in(read_scene(self._connection)[0])[0]

    def _labels_in(self, scene: Scene) -> tuple[int, Labels]:
        """The index of the layer, and its labels."""
        for number, layer in enumerate(scene.volumes):
            if layer.labels is not None and self._layer in (None, number):
                return number, layer.labels
        remedy = 'Call render_volume(labels, how="labels") first.'
        which = "The viewer shows no labels." if self._layer is None else f"Layer {self._layer} has no labels."
        raise InvalidInput(which, remedy=remedy)

    def _change(self, change: Callable[[Labels], Labels]) -> None:
        def changed(scene: Scene) -> SceneChange:
            number, labels = self._labels_in(scene)
            return ("volumes", number, "labels"), asdict(change(labels))

        change_scene(self._connection, changed)


def _all_shown(labels: Labels) -> Labels:
    for one in labels.colors:
        labels = labels.with_label(one.label, is_visible=True)
    return replace(labels, isolated=())
