"""Scene: what to draw, as plain data.

Here: Scene and its parts, to and from JSON, versions and their migrations.
Not here: how it is drawn (reference, renderer), what the first image should show (first_view).
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from pellucid.box import Box
from pellucid.choices import check_choice
from pellucid.dataclass_json import from_json
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.rendering.annotations import Annotations
from pellucid.rendering.camera import Camera, Vector
from pellucid.rendering.cinematic.options import Cinematic
from pellucid.rendering.labels import Labels
from pellucid.rendering.light import FROM_THE_EYE, KEY_LIGHT, Light
from pellucid.rendering.measures import Measure, check_measures
from pellucid.rendering.number_checks import check_direction, check_finite, check_shares
from pellucid.rendering.slice_options import AUTOMATIC, SliceOptions, ThreeSlices
from pellucid.rendering.transfer import TransferFunction

VERSION = 3
Mode = Literal["composite", "max", "min", "mean", "isosurface"]
ShadingName = Literal["none", "gradient", "shadow", "occlusion", "full", "cinematic", "user"]


GREY, AHEAD, UNMARKED, OPTIONS = TransferFunction(), Camera(), Annotations(), SliceOptions()
CINEMATIC = Cinematic()


@dataclass(frozen=True)
class Isosurface:
    """The surface where the values pass ``value``."""

    value: float
    color: Vector = (0.9, 0.85, 0.75)
    opacity: float = 1.0

    def __post_init__(self) -> None:
        check_finite("An isosurface at a value", self.value)
        check_shares("An isosurface's colour", *self.color)
        check_shares("An isosurface's opacity", self.opacity)


@dataclass(frozen=True)
class Transform:
    """Where a volume stands: scaled, then turned about the world's x, y and z axes (degrees), then moved."""

    scale: Vector = (1.0, 1.0, 1.0)
    rotation_deg: Vector = (0.0, 0.0, 0.0)
    translation: Vector = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        check_finite("A transform", *self.scale, *self.rotation_deg, *self.translation)
        if not all(self.scale):
            raise InvalidInput("The scale must not be 0.", remedy="Use a positive number; a negative one mirrors.")

    def matrix(self) -> Voxels:
        """(3, 3): from the volume's own world units to the world's, before it is moved."""
        x, y, z = (_turn(axis, angle) for axis, angle in enumerate(self.rotation_deg))
        turned: Voxels = z @ y @ x @ np.diag(self.scale)
        return turned

    def world_to_voxel(self, spacing: Spacing) -> tuple[Voxels, Voxels]:
        """(3, 3) and (3,): voxel = matrix @ world + shift, both (x, y, z). spacing: of the volume, (z, y, x)."""
        matrix = np.linalg.inv(self.matrix() @ np.diag(spacing[::-1]))
        return matrix, -matrix @ np.asarray(self.translation)


def _turn(axis: int, angle_deg: float) -> Voxels:
    cosine, sine = np.cos(np.radians(angle_deg)), np.sin(np.radians(angle_deg))
    matrix = np.eye(3)
    a, b = (axis + 1) % 3, (axis + 2) % 3
    matrix[a, a], matrix[a, b], matrix[b, a], matrix[b, b] = cosine, -sine, sine, cosine
    return matrix


STANDING = Transform()


@dataclass(frozen=True)
class ClipPlane:
    """Cuts away what lies before it: every point where normal · point < offset, in world units."""

    normal: Vector
    offset: float

    def __post_init__(self) -> None:
        check_direction("A clipping plane's normal", self.normal)
        check_finite("A clipping plane at an offset", self.offset)


@dataclass(frozen=True)
class VolumeLayer:
    """A volume to draw. source: its location; of a series, the time step of the scene. clip: only these voxels (z, y,
    x).

    labels: its voxels are whole numbers that name objects; they are drawn in these colours instead of the transfer
    function, unlit or lit at their boundaries. edit: the state of labels that were painted, 0 as they were opened.
    user_shading: the hash of a custom shading that was added to the
    renderer; parameters: (name, value) pairs for it. is_visible: whether it is drawn; every layer has this.
    slice_options: how a viewer shows its slices across z, y and x. unit: of lengths in the world; "" where it is that
    of the file. A spacing that a file states wrongly is corrected by the scale of the transform.
    """

    source: str
    transfer: TransferFunction = GREY
    mode: Mode = "composite"
    shading: ShadingName = "gradient"
    isosurfaces: tuple[Isosurface, ...] = ()
    clip: Box | None = None
    transform: Transform = STANDING
    user_shading: str = ""
    parameters: tuple[tuple[str, float], ...] = ()
    labels: Labels | None = None
    is_visible: bool = True
    edit: int = 0
    slice_options: ThreeSlices = AUTOMATIC
    unit: str = ""

    def __post_init__(self) -> None:
        for what, name, names in (
            ("mode", self.mode, get_args(Mode)),
            ("shading", self.shading, get_args(ShadingName)),
        ):
            check_choice(what, name, names)


@dataclass(frozen=True)
class SliceLayer:
    """A plane through a volume, drawn where it cuts the volume. point, normal: of the plane, (x, y, z) in world units.

    opacity: 1 hides everything behind it. is_solid: whether values that the transfer function makes transparent are
    drawn too; otherwise the plane has holes there. labels: as in VolumeLayer; a label is as opaque as one voxel of it.
    Of slices in the same plane, the last one is on top. slice_options: how a viewer shows it beside the 3D image.
    """

    source: str
    point: Vector
    normal: Vector = (0.0, 0.0, 1.0)
    transfer: TransferFunction = GREY
    opacity: float = 1.0
    is_solid: bool = True
    labels: Labels | None = None
    clip: Box | None = None
    transform: Transform = STANDING
    is_visible: bool = True
    slice_options: SliceOptions = OPTIONS

    def __post_init__(self) -> None:
        check_finite("A slice at a point", *self.point)
        check_direction("A slice's normal", self.normal)
        check_shares("A slice's opacity", self.opacity)

    @classmethod
    def across(cls, source: str, axis: Literal["x", "y", "z"], position: float, **rest: Any) -> "SliceLayer":
        """Across an axis of the world, at a position along it.

        >>> SliceLayer.across("scan.zarr", "y", 12.5).point
        (0.0, 12.5, 0.0)
        """
        if axis not in ("x", "y", "z"):
            raise InvalidInput(f"Unknown axis {axis!r}.", remedy="Choose x, y or z.")
        x, y, z = (float(axis == name) for name in "xyz")
        return cls(source, (x * position, y * position, z * position), (x, y, z), **rest)


@dataclass(frozen=True)
class PointsLayer:
    """Points to draw as spheres. source: a file, or the name of Points in memory.

    radius_scale: radius in world units per unit of the value; points without a positive radius are not drawn. The
    transfer function gives the colour; a value that it makes transparent is not drawn, all others are opaque.
    """

    source: str
    transfer: TransferFunction = GREY
    radius_scale: float = 1.0
    is_lit: bool = True
    transform: Transform = STANDING
    is_visible: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.radius_scale < float("inf"):
            raise InvalidInput(f"Invalid radius_scale: {self.radius_scale}.", remedy="Use a positive number.")


@dataclass(frozen=True)
class MeshLayer:
    """A mesh to draw; both sides look the same. source: a file, or the name of a Mesh in memory.

    opacity: of one surface; 1 hides everything behind it. Of translucent surfaces, the nearest eight along a ray are
    drawn.
    """

    source: str
    color: Vector = (0.9, 0.85, 0.75)
    is_lit: bool = True
    transform: Transform = STANDING
    opacity: float = 1.0
    is_visible: bool = True

    def __post_init__(self) -> None:
        check_shares("A mesh's colour", *self.color)
        check_shares("A mesh's opacity", self.opacity)


@dataclass(frozen=True)
class Scene:
    """Everything that is drawn in an image.

    step: distance between samples in voxels. is_jittered: whether each ray starts at its own random fraction of a step,
    which turns the banding of coarse sampling into fine noise. background: red, green, blue and opacity. time: time
    step of every source that is a series; the nearest one is drawn. annotations: what is drawn on the image. measures:
    distances, regions and notes, which a viewer shows over the image. cinematic: how paths of light are followed, where
    the shading of a volume is cinematic.
    """

    volumes: tuple[VolumeLayer, ...] = ()
    camera: Camera = AHEAD
    light: Light = KEY_LIGHT
    planes: tuple[ClipPlane, ...] = ()
    background: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    step: float = 0.5
    is_jittered: bool = True
    points: tuple[PointsLayer, ...] = ()
    meshes: tuple[MeshLayer, ...] = ()
    slices: tuple[SliceLayer, ...] = ()
    time: float = 0.0
    annotations: Annotations = UNMARKED
    measures: tuple[Measure, ...] = ()
    cinematic: Cinematic = CINEMATIC

    def __post_init__(self) -> None:
        check_measures(self.measures)
        if not 0.01 <= self.step <= 100:
            raise InvalidInput(f"Invalid step of {self.step} voxels.", remedy="Use 0.01 to 100; 0.5 is usual.")
        check_shares("A background", *self.background)
        check_finite("A time", self.time)

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of all layers."""
        volumes = [*(layer.source for layer in self.volumes), *(layer.source for layer in self.slices)]
        shapes = [*(layer.source for layer in self.points), *(layer.source for layer in self.meshes)]
        return tuple(dict.fromkeys([*volumes, *shapes]))

    @property
    def has_translucent_surfaces(self) -> bool:
        """Whether any surface is translucent."""
        slices = any(layer.opacity < 1 or layer.labels is not None for layer in self.slices)
        return slices or any(layer.opacity < 1 for layer in self.meshes)

    @property
    def visible(self) -> "Scene":
        """The scene without its hidden layers."""
        return replace(
            self,
            volumes=tuple(layer for layer in self.volumes if layer.is_visible),
            points=tuple(layer for layer in self.points if layer.is_visible),
            meshes=tuple(layer for layer in self.meshes if layer.is_visible),
            slices=tuple(layer for layer in self.slices if layer.is_visible),
        )

    def to_json(self) -> str:
        """The scene as text, with its version."""
        return json.dumps({"version": VERSION, **asdict(self)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Scene":
        """Read a scene; an unknown field is an error that names it.

        >>> Scene.from_json(Scene().to_json()) == Scene()
        True
        """
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"Invalid scene: {error}.", remedy="Use the JSON from Scene.to_json().") from error
        scene: Scene = from_json(cls, _migrated(document), "scene")
        return scene


def _migrated(document: Any) -> Any:
    if not isinstance(document, dict) or type(document.get("version")) is not int:
        raise InvalidInput("Invalid scene: it has no version.", remedy="Use the JSON from Scene.to_json().")
    version = document["version"]
    if not 1 <= version <= VERSION:
        raise InvalidInput(
            f"Unsupported scene version {version}; this program supports 1 to {VERSION}.",
            remedy="Update Pellucid to open it.",
        )
    for older in range(version, VERSION):
        document = MIGRATIONS[older](document)
    return {name: value for name, value in document.items() if name != "version"}


def _from_1(document: dict[str, Any]) -> dict[str, Any]:
    """Version 2 has slices, labels, time, annotations, opacities of meshes, hidden layers; most by default."""
    return {"slices": [], "time": 0.0, **document}


def _from_2(document: dict[str, Any]) -> dict[str, Any]:
    """Version 3 has a light that may come from anywhere beside the camera; before, it came from the eye."""
    light = {"camera_direction": list(FROM_THE_EYE), **document.get("light", {})}
    return {**document, "light": light}


MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _from_1, 2: _from_2}
"""From each version to the next."""
