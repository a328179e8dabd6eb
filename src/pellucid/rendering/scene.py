"""Scene: what to draw, as plain data.

Here: Scene and its parts, to and from JSON, versions and their migrations.
Not here: how it is drawn (reference, renderer), what the first picture should show (automatic).
"""

import json
from dataclasses import asdict, dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from pellucid.box import Box
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera, Vector
from pellucid.rendering.transfer import TransferFunction

VERSION = 1
Mode = Literal["composite", "max", "min", "mean", "isosurface"]
ShadingName = Literal["none", "gradient", "shadow", "occlusion", "user"]


GREY, AHEAD = TransferFunction(), Camera()


@dataclass(frozen=True)
class Light:
    """Where light comes from: ``direction`` points from the light into the scene; None is a headlight at the eye."""

    direction: Vector | None = None
    ambient: float = 0.25
    diffuse: float = 0.75
    specular: float = 0.25
    shininess: float = 24.0


HEADLIGHT = Light()


@dataclass(frozen=True)
class Isosurface:
    """The surface where the values pass ``value``."""

    value: float
    color: Vector = (0.9, 0.85, 0.75)
    opacity: float = 1.0


@dataclass(frozen=True)
class Transform:
    """Where a volume stands: scaled, then turned about the world's x, y and z axes (degrees), then moved."""

    scale: Vector = (1.0, 1.0, 1.0)
    rotation_deg: Vector = (0.0, 0.0, 0.0)
    translation: Vector = (0.0, 0.0, 0.0)

    def matrix(self) -> Voxels:
        """(3, 3): from the volume's own world units to the world's, before it is moved."""
        x, y, z = (_turn(axis, angle) for axis, angle in enumerate(self.rotation_deg))
        turned: Voxels = z @ y @ x @ np.diag(self.scale)
        return turned


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


@dataclass(frozen=True)
class VolumeLayer:
    """A volume to draw. source: its URI. clip: only these voxels of it.

    user_shading: the hash of a shading that the renderer was given; parameters: (name, value) pairs for it.
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


@dataclass(frozen=True)
class PointsLayer:
    """Points to draw as spheres. source: a file, or the name of Points in memory.

    radius_scale: world units of radius per unit of the value; without a positive radius nothing is drawn. The transfer
    function gives the colour; a value that it makes transparent is not drawn, every other one is opaque.
    """

    source: str
    transfer: TransferFunction = GREY
    radius_scale: float = 1.0
    is_lit: bool = True
    transform: Transform = STANDING

    def __post_init__(self) -> None:
        if not 0 < self.radius_scale < float("inf"):
            raise InvalidInput(f"Spheres cannot be scaled by {self.radius_scale}.", do="Give a scale above 0.")


@dataclass(frozen=True)
class MeshLayer:
    """Triangles to draw, opaque, both sides alike. source: a file, or the name of a Mesh in memory."""

    source: str
    color: Vector = (0.9, 0.85, 0.75)
    is_lit: bool = True
    transform: Transform = STANDING


@dataclass(frozen=True)
class Scene:
    """Everything that a picture is made from.

    step: distance between samples in voxels. is_jittered: whether each ray starts at its own random fraction of a step,
    which turns the rings of coarse sampling into fine noise. background: red, green, blue and opacity.
    """

    volumes: tuple[VolumeLayer, ...] = ()
    camera: Camera = AHEAD
    light: Light = HEADLIGHT
    planes: tuple[ClipPlane, ...] = ()
    background: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    step: float = 0.5
    is_jittered: bool = True
    points: tuple[PointsLayer, ...] = ()
    meshes: tuple[MeshLayer, ...] = ()

    def __post_init__(self) -> None:
        if not 0.01 <= self.step <= 100:
            raise InvalidInput(f"Steps of {self.step} voxels cannot be taken.", do="Choose 0.01 to 100; 0.5 is usual.")

    def to_json(self) -> str:
        """The scene as text, with its version."""
        return json.dumps({"version": VERSION, **asdict(self)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Scene":
        """Read a scene; what this version does not know is refused by name.

        >>> Scene.from_json(Scene().to_json()) == Scene()
        True
        """
        try:
            document = json.loads(text)
        except ValueError as error:
            raise InvalidInput(f"This is no scene: {error}.", do="Give the JSON that Scene.to_json writes.") from error
        scene: Scene = _build(cls, _migrated(document), "scene")
        return scene


def _migrated(document: Any) -> Any:
    if not isinstance(document, dict) or not isinstance(document.get("version"), int):
        raise InvalidInput("This is no scene: it has no version.", do="Give the JSON that Scene.to_json writes.")
    version = document["version"]
    if not 1 <= version <= VERSION:
        raise InvalidInput(
            f"The scene has version {version}, and this program knows 1 to {VERSION}.", do="Update Pellucid to open it."
        )
    return {name: value for name, value in document.items() if name != "version"}


def _build(kind: Any, value: Any, where: str) -> Any:
    """A value of a declared type from what JSON gives; the message of a refusal names the place."""
    if is_dataclass(kind):
        return _build_dataclass(kind, value, where)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return None if value is None and NoneType in inner else _build(_not_none(inner), value, where)
    if origin is Literal:
        return value if value in inner else _refuse(where, value, f"one of {', '.join(map(str, inner))}")
    if origin is tuple:
        return _build_tuple(inner, value, where)
    return _build_plain(kind, value, where)


def _build_dataclass(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        _refuse(where, value, "an object")
    known = {field.name for field in fields(kind)}
    if unknown := sorted(set(value) - known):
        raise InvalidInput(f"{where} has no {unknown[0]!r}.", do=f"It has: {', '.join(sorted(known))}.")
    types = get_type_hints(kind)
    try:
        return kind(**{name: _build(types[name], one, f"{where}.{name}") for name, one in value.items()})
    except TypeError as error:
        raise InvalidInput(f"{where} is incomplete: {error}.", do="Give the missing part.") from error


def _build_tuple(inner: tuple[Any, ...], value: Any, where: str) -> Any:
    if not isinstance(value, list):
        _refuse(where, value, "a list")
    if len(inner) == 2 and inner[1] is Ellipsis:
        return tuple(_build(inner[0], one, f"{where}[{i}]") for i, one in enumerate(value))
    if len(value) != len(inner):
        _refuse(where, value, f"{len(inner)} numbers")
    return tuple(_build(kind, one, f"{where}[{i}]") for i, (kind, one) in enumerate(zip(inner, value, strict=True)))


def _build_plain(kind: Any, value: Any, where: str) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return (
        value
        if type(value) is kind
        else _refuse(where, value, {float: "a number", int: "a whole number"}.get(kind, kind.__name__))
    )


def _not_none(kinds: tuple[Any, ...]) -> Any:
    return next(kind for kind in kinds if kind is not NoneType)


def _refuse(where: str, value: Any, wanted: str) -> Any:
    raise InvalidInput(f"{where} is {value!r}.", do=f"Give {wanted}.")
