"""Descriptions of the layers of a scene: facts, histograms, and the first view of a new layer.

Here: Catalogue, by source; and placing what was described into a scene.
Not here: finding the facts out (workers), files and folders (access.roots).
"""

import math
from dataclasses import replace
from typing import Literal, get_args

from pellucid.box import Shape
from pellucid.formats.location import Location
from pellucid.instance.protocol.server_messages import LayerList
from pellucid.instance.protocol.shared_types import (
    Choices,
    ExportFormat,
    HistogramData,
    LayerDescription,
    MeshDescription,
    PointsDescription,
    View,
)
from pellucid.instance.scene.edits import name_of, sources_in_order
from pellucid.instance.scene.history import History, ScenePair
from pellucid.rendering.camera import Camera, Vector
from pellucid.rendering.presets.color_maps import color_maps
from pellucid.rendering.scene import Mode, Scene, ShadingName, VolumeLayer
from pellucid.rendering.validation import check_layers
from pellucid.workers.protocol.replies import Measured, SourceDescribed, VolumeFacts

How = Literal["replace", "add", "labels"]


class Catalogue:
    """Descriptions by source. names: what users call arrays that were handed over."""

    def __init__(self) -> None:
        self._described: dict[str, SourceDescribed] = {}
        self.names: dict[str, str] = {}
        self._version = 0  # Grows with every description.
        self._reply: tuple[object, ...] = ()

    def add(self, source: str, described: SourceDescribed) -> None:
        self._described[source] = described
        self._version += 1

    def add_copy(self, source: str, base: str) -> None:
        """A volume in memory that was made from another one."""
        self.names[source] = self.name(base)
        self.add(source, self._described[base])

    def measured(self, source: str, measured: Measured) -> None:
        """What all voxels say, where some were looked at before."""
        described = self._described.get(source)
        if described is not None and described.facts is not None:
            known = replace(described.facts, low=measured.low, high=measured.high, counts=measured.counts)
            self._described[source] = replace(described, facts=replace(known, is_estimated=False))

    def forget(self, source: str) -> None:
        self._described.pop(source, None)
        self.names.pop(source, None)

    def has(self, source: str) -> bool:
        return source in self._described

    def kinds(self, source: str) -> frozenset[str]:
        """As which layers of a scene a source can be shown; empty where it is not known."""
        return frozenset() if (described := self._described.get(source)) is None else kinds_of(described)

    def facts(self, source: str) -> VolumeFacts | None:
        described = self._described.get(source)
        return described.facts if described else None

    def first_layer(self, source: str) -> VolumeLayer | None:
        """How a volume was shown at first."""
        described = self._described.get(source)
        return described.volume if described else None

    def first_camera(self, source: str) -> Camera | None:
        """From where it was seen at first."""
        described = self._described.get(source)
        return described.camera if described else None

    def value_range(self, source: str) -> tuple[float, float] | None:
        """The values that matter in a volume; None where they are not known, or all the same."""
        facts = self.facts(source)
        return (facts.low, facts.high) if facts is not None and facts.low < facts.high else None

    def shapes(self, scene: Scene) -> list[Shape | None]:
        """Of its volumes; None where that is not known."""
        return [None if (facts := self.facts(layer.source)) is None else facts.shape for layer in scene.volumes]

    def messages(self, history: History) -> tuple[LayerList, ...]:
        """Descriptions of the scene, and of the one beside it."""
        scenes: tuple[tuple[View, Scene | None], ...] = (("main", history.scene), ("other", history.other))
        return tuple(self.message(one, history.revision, view) for view, one in scenes if one is not None)

    def message(self, scene: Scene, revision: int, view: View = "main") -> LayerList:
        return LayerList(
            tuple(self._layer(layer) for layer in scene.volumes),
            tuple(self._points(layer.source) for layer in scene.points),
            tuple(self._mesh(layer.source) for layer in scene.meshes),
            revision,
            view,
        )

    def news(self, history: History) -> tuple[LayerList, ...]:
        """The descriptions where they are not those of the scenes before; else none."""
        pair = history.pair
        other = None if pair.other is None else sources_in_order(pair.other)
        units = tuple(layer.unit for one in (pair.scene, pair.other) if one is not None for layer in one.volumes)
        shown = self._version, sources_in_order(pair.scene), other, units
        was, self._reply = self._reply, shown
        return self.messages(history) if shown != was else ()

    def name(self, source: str) -> str:
        return self.names.get(source) or name_of(source)

    def unit(self, layer: VolumeLayer) -> str:
        """Of lengths: what a user has chosen, or what the file states."""
        facts = self.facts(layer.source)
        return layer.unit or (facts.unit if facts is not None else "")

    def world_unit(self, scene: Scene) -> str:
        """Of the first volume that has one."""
        return next((unit for layer in scene.volumes if (unit := self.unit(layer))), "")

    def flips(self, layer: VolumeLayer) -> Vector:
        """For x, y and z, -1 where a user has reversed an axis of a volume."""
        first = self.first_layer(layer.source)
        before = first.transform.scale if first is not None else (1.0, 1.0, 1.0)
        x, y, z = (math.copysign(1.0, a * b) for a, b in zip(layer.transform.scale, before, strict=True))
        return (x, y, z)

    def _layer(self, layer: VolumeLayer) -> LayerDescription:
        source = layer.source
        location = Location.parse(source)
        channel = location.number("c") or 0
        facts = self.facts(source)
        if facts is None:
            nothing = ((0, 0, 0), (1.0, 1.0, 1.0), "", "", 1, location.is_memory, 1, 1)
            return LayerDescription(self.name(source), *nothing, channel, None)
        return LayerDescription(
            self.name(source), facts.shape, facts.spacing, self.unit(layer), facts.dtype, facts.levels,
            location.is_memory, facts.times, facts.channels, channel, _histogram(facts), facts.planes,
            facts.orientation, facts.compression, facts.is_projections, facts.resembles_projections, facts.axis_code,
        )  # fmt: skip

    def _points(self, source: str) -> PointsDescription:
        described = self._described.get(source)
        facts = described.facts if described else None
        return PointsDescription(
            self.name(source), described.count if described else 0, None if facts is None else _histogram(facts)
        )

    def _mesh(self, source: str) -> MeshDescription:
        described = self._described.get(source)
        return MeshDescription(self.name(source), described.count if described else 0)


def kinds_of(described: SourceDescribed) -> frozenset[str]:
    """As which layers of a scene something can be shown."""
    found = {
        "volumes": described.volume,
        "slices": described.volume,
        "points": described.points,
        "meshes": described.mesh,
    }
    return frozenset(kind for kind, layer in found.items() if layer is not None)


def _histogram(facts: VolumeFacts) -> HistogramData:
    return HistogramData(facts.low, facts.high, facts.counts)


def placed(pair: ScenePair, described: SourceDescribed, how: How) -> ScenePair:
    """The scene with what was described: alone, or with what is in it. A scene side by side with it stays."""
    scene, is_alone = pair.scene, how == "replace" or not _has_anything(pair.scene)
    if is_alone:
        scene = Scene(camera=described.camera, background=scene.background, annotations=scene.annotations)
    if described.volume is not None:
        scene = replace(scene, volumes=(*scene.volumes, described.volume))
    if described.points is not None:
        scene = replace(scene, points=(*scene.points, described.points))
    if described.mesh is not None:
        scene = replace(scene, meshes=(*scene.meshes, described.mesh))
    check_layers(scene)
    return ScenePair(scene, pair.other)


def _has_anything(scene: Scene) -> bool:
    return bool(scene.volumes or scene.points or scene.meshes or scene.slices)


def choices() -> Choices:
    maps = {name: tuple(colors) for name, colors in color_maps().items()}
    return Choices(get_args(Mode), get_args(ShadingName), maps, get_args(ExportFormat))
