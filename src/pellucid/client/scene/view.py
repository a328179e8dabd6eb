"""How a viewer shows what it shows: camera, colours, shading, and any other property of the scene.

Here: ViewerScene, the part of a Viewer that reads and changes its scene.
Not here: arrays and images (viewer), lists of layers, labels and measures (layers, labels, measures).
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, TypeVar, get_args

from pellucid.client.connection import Connection
from pellucid.client.scene.changes import read_scene
from pellucid.client.scene.labels import ViewerLabels
from pellucid.client.scene.layers import ViewerLayers
from pellucid.client.scene.measures import ViewerMeasures
from pellucid.errors import InvalidInput
from pellucid.rendering.camera import Camera
from pellucid.rendering.scene import Scene, ShadingName, VolumeLayer
from pellucid.rendering.transfer import TransferFunction

STATE = 1
Kind = TypeVar("Kind")


class ViewerScene:
    """What users change, read with the changes that were made in a browser."""

    _connection: Connection

    @property
    def scene(self) -> Scene:
        """The whole scene, as it is shown now."""
        return read_scene(self._connection)[0]

    @scene.setter
    def scene(self, scene: Scene) -> None:
        state = {"version": STATE, "scene": json.loads(_checked(scene, Scene).to_json())}
        self._connection.ask("PUT", "/api/state", state)

    @property
    def camera(self) -> Camera:
        return self.scene.camera

    @camera.setter
    def camera(self, camera: Camera) -> None:
        self._connection.ask("PUT", "/api/camera", {"camera": asdict(_checked(camera, Camera))})

    def fit_camera(self, aspect: float | None = None, *, is_from_here: bool = False) -> None:
        """Look at all that transfer functions and clipping leave visible, from the side of the first image.

        aspect: width over height of the image, by default that of the page. is_from_here: from the side where the
        camera is now.
        """
        fitted = self._connection.ask("POST", "/api/camera/fit", {"aspect": aspect, "is_from_here": is_from_here})
        self._connection.ask("PUT", "/api/camera", {"camera": fitted["camera"]})

    def restore_first_view(self) -> None:
        """Colours, opacities, light, clipping and camera as they were at first."""
        self._connection.ask("POST", "/api/auto")

    @property
    def layer(self) -> VolumeLayer:
        """The first volume of the scene."""
        volumes = self.scene.volumes
        if not volumes:
            raise InvalidInput("No volume is shown.", remedy="Call render_volume first.")
        return volumes[0]

    @layer.setter
    def layer(self, layer: VolumeLayer) -> None:
        self.change("volumes", 0, value=_checked(layer, VolumeLayer))

    @property
    def layers(self) -> ViewerLayers:
        """All layers: ``layers.hide(1)``, ``layers.show(1)``, ``layers.remove(1)``, ``layers[1].name``."""
        return ViewerLayers(self._connection)

    @property
    def transfer(self) -> TransferFunction:
        """Colours and opacities of the first volume."""
        return self.layer.transfer

    @transfer.setter
    def transfer(self, transfer: TransferFunction) -> None:
        self.layer = replace(self.layer, transfer=_checked(transfer, TransferFunction))

    @property
    def value_range(self) -> tuple[float, float]:
        """The values of the first volume that have the first and the last colour."""
        return self.transfer.value_range

    @value_range.setter
    def value_range(self, value_range: tuple[float, float]) -> None:
        self.change("volumes", 0, "transfer", "value_range", value=list(value_range))

    def use_preset(self, name: str, *, layer: int = 0) -> None:
        """Draw a volume in the colours, opacities and shading of a preset (soft, dense, skin, gold, glass, x-ray), or
        in the colours of a colour map (viridis, bone, ...)."""
        self._connection.ask("PUT", "/api/presets", {"name": name, "layer": layer})

    @property
    def shading(self) -> ShadingName:
        """How the first volume is lit: none, gradient, shadow, occlusion, full, cinematic, or user (shade_with)."""
        return self.layer.shading

    @shading.setter
    def shading(self, shading: ShadingName) -> None:
        names = get_args(ShadingName)
        if shading not in names:
            raise InvalidInput(f"Unknown shading {shading!r}.", remedy=f"Choose one of {', '.join(names)}.")
        self.layer = replace(self.layer, shading=shading)

    def shade_with(self, source: str, /, **parameters: float) -> None:
        """Shade the first volume with your own code (docs/how-to/custom-shading.md); ShadingInvalid names the line
        of an error."""
        made = self._connection.ask("POST", "/api/shadings", {"source": source})
        chosen = tuple((name, float(value)) for name, value in parameters.items())
        self.layer = replace(self.layer, shading="user", user_shading=made["hash"], parameters=chosen)

    @property
    def labels(self) -> ViewerLabels:
        """Names, colours, visibility and sizes of labels: ``labels.set(7, name="nucleus")``, ``labels.isolate(7)``."""
        return ViewerLabels(self._connection)

    @property
    def measures(self) -> ViewerMeasures:
        """Distances, angles, areas, regions and notes: ``measures.add("distance", [start, stop])``."""
        return ViewerMeasures(self._connection)

    def probe(self, position: Sequence[float]) -> dict[str, Any]:
        """What is at a position (x, y, z) in world units: ``layer``, ``voxel`` and ``value`` of the first volume there,
        ``label`` and ``label_layer`` of the labels; layers are -1, and a value or label None, where there is none."""
        hit: dict[str, Any] = self._connection.ask("POST", "/api/probe", {"position": list(position)})
        return hit

    def change(self, *path: str | int, value: object) -> None:
        """Set one property of the scene: ``change("volumes", 0, "mode", value="max")``."""
        plain = asdict(value) if hasattr(value, "__dataclass_fields__") else value  # type: ignore[call-overload]
        self._connection.ask("PATCH", "/api/scene", {"changes": [{"path": path, "value": plain}]})

    def undo(self) -> None:
        """Back to the scene before the last change, painted labels included; the camera stays."""
        self._connection.ask("POST", "/api/undo")

    def redo(self) -> None:
        """Forward again, to what was undone."""
        self._connection.ask("POST", "/api/redo")


def _checked(value: object, kind: type[Kind]) -> Kind:
    if not isinstance(value, kind):
        raise InvalidInput(
            f"Expected a pellucid.{kind.__name__}, got {type(value).__name__}.",
            remedy=f"Pass a pellucid.{kind.__name__}.",
        )
    return value
