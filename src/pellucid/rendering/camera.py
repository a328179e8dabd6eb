"""Cameras: where the eye is, and the ray through every pixel.

Here: Camera and framing a box with it.
Not here: what the rays meet (reference, kernels).
"""

from dataclasses import dataclass, replace
from math import radians, tan

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.number_checks import check_direction, check_finite

Vector = tuple[float, float, float]
ANGLE_DEG = 30.0
MARGIN = 1.04
STEEPEST_DEG = 89.9
NEAREST = 1e-12
"""From eye to target, of how far they are from the origin: below this, rounding decides where the camera looks."""
TURNS = 24


@dataclass(frozen=True)
class Camera:
    """A camera in world units, axes (x, y, z).

    field_of_view_deg: vertical angle of a perspective camera; None for an orthographic camera of ``height`` world
    units.
    """

    position: Vector = (0.0, 0.0, 4.0)
    target: Vector = (0.0, 0.0, 0.0)
    up: Vector = (0.0, 1.0, 0.0)
    field_of_view_deg: float | None = 30.0
    height: float = 2.0

    def __post_init__(self) -> None:
        check_finite("A camera at a position and target", *self.position, *self.target)
        check_direction("A camera's up", self.up)
        if self.distance <= NEAREST * max(map(abs, (*self.position, *self.target))):
            raise InvalidInput("The camera position equals its target.", remedy="Change the position or the target.")
        if self.field_of_view_deg is not None and not 0 < self.field_of_view_deg < 180:
            raise InvalidInput(f"Invalid field of view: {self.field_of_view_deg}°.", remedy="Use 1 to 179.")
        if not 0 < self.height < float("inf"):
            raise InvalidInput(f"Invalid camera height: {self.height}.", remedy="Use a positive number of world units.")

    def axes(self) -> tuple[Voxels, Voxels, Voxels]:
        """Unit vectors to the right, upwards and forwards."""
        forward = _unit(np.subtract(self.target, self.position))
        across = _cross(forward, self.up)
        if np.linalg.norm(across) < 1e-9:  # Looking along "up": any other direction will do.
            across = _cross(forward, (0.0, 0.0, 1.0) if abs(forward[2]) < 0.9 else (1.0, 0.0, 0.0))
        right = _unit(across)
        return right, _cross(right, forward), forward

    @property
    def distance(self) -> float:
        return float(np.linalg.norm(np.subtract(self.target, self.position)))

    @property
    def visible_height(self) -> float:
        """World units from the bottom to the top of the image at the target."""
        if self.field_of_view_deg is None:
            return self.height
        return 2 * self.distance * tan(radians(self.field_of_view_deg) / 2)

    def rays(self, width: int, height: int) -> tuple[Voxels, Voxels]:
        """Origins and unit directions, each (height, width, 3) float64; pixel (0, 0) is top left."""
        right, up, forward = self.axes()
        size = self.visible_height
        column = ((np.arange(width) + 0.5) / width - 0.5) * size * width / height
        row = (0.5 - (np.arange(height) + 0.5) / height) * size
        offset = column[None, :, None] * right + row[:, None, None] * up
        if self.field_of_view_deg is None:
            return np.asarray(self.position) + offset, np.broadcast_to(forward, offset.shape)
        directions = offset + forward * self.distance
        directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
        return np.broadcast_to(np.asarray(self.position, float), offset.shape), directions

    def turned(self, azimuth_deg: float, elevation_deg: float = 0.0) -> "Camera":
        """Moved around its target, to the right and upwards."""
        right, up, _ = self.axes()
        arm = np.subtract(self.position, self.target)
        arm = _rotate(_rotate(arm, up, radians(azimuth_deg)), right, -radians(elevation_deg))
        new_up = _rotate(np.asarray(up), right, -radians(elevation_deg))
        return replace(self, position=_vector(np.add(self.target, arm)), up=_vector(new_up))

    def orbited(self, azimuth_deg: float, elevation_deg: float = 0.0) -> "Camera":
        """Moved around its target, to the right about ``up`` and then towards it; ``up`` stays, as on a turntable.

        >>> Camera((0.0, -2.0, 0.0), up=(0.0, 0.0, 1.0)).orbited(90).position[0]
        2.0
        """
        axis = _unit(np.asarray(self.up))
        arm = _rotate(np.subtract(self.position, self.target), axis, radians(azimuth_deg))
        height = np.degrees(np.arcsin(np.clip(_unit(arm) @ axis, -1, 1)))
        rise = radians(float(np.clip(height + elevation_deg, -STEEPEST_DEG, STEEPEST_DEG) - height))
        if elevation_deg:
            arm = _rotate(arm, _unit(np.cross(arm, axis)), rise)
        return replace(self, position=_vector(np.add(self.target, arm)))

    def zoomed(self, factor: float) -> "Camera":
        """The image enlarged by a factor, from the same distance."""
        if not 0 < factor < float("inf"):
            raise InvalidInput(f"Invalid zoom factor: {factor}.", remedy="Use a positive number; 2 shows half as much.")
        if self.field_of_view_deg is None:
            return replace(self, height=self.height / factor)
        half = tan(radians(self.field_of_view_deg) / 2) / factor
        return replace(self, field_of_view_deg=float(np.degrees(2 * np.arctan(half))), height=self.height / factor)


def framing(
    low: Vector, high: Vector, direction: Vector = (1.0, 0.6, 1.4), up: Vector = (0.0, 1.0, 0.0), aspect: float = 1.0
) -> Camera:
    """A camera that sees a world box whole, from the given side, with a little air around it.

    aspect: width of the image over its height; 1 by default.
    """
    ends = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    return framing_points(np.array(low) + ends * np.subtract(high, low), direction, up, aspect)


def framing_points(
    places: Voxels,
    direction: Vector,
    up: Vector,
    aspect: float = 1.0,
    *,
    is_turning: bool = False,
    field_of_view_deg: float | None = ANGLE_DEG,
) -> Camera:
    """A camera that sees all of several places, (n, 3), and looks at their common middle.

    is_turning: from so far away that they stay in the image on the way around, about ``up``. field_of_view_deg: None
    for a parallel projection.
    """
    centre = (places.min(axis=0) + places.max(axis=0)) / 2
    seen = places - centre
    away = _unit(np.asarray(direction))
    turns = np.linspace(0, 2 * np.pi, TURNS, endpoint=False) if is_turning else (0.0,)
    sides = [_rotate(away, _unit(np.asarray(up)), float(turn)) for turn in turns]
    if not np.ptp(seen, axis=0).any():  # A single place: it has no size, and any camera will do that is near it.
        seen = np.array([[0.5, 0.5, 0.5], [-0.5, -0.5, -0.5]])
    angle_deg = field_of_view_deg or ANGLE_DEG
    distance, reach = np.max([_fitting(seen, side, up, aspect, angle_deg) for side in sides], axis=0)
    return Camera(_vector(centre + away * distance), _vector(centre), up, field_of_view_deg, 2 * float(reach))


def _fitting(seen: Voxels, away: Voxels, up: Vector, aspect: float, angle_deg: float) -> tuple[float, float]:
    """From how far away points around the origin fit into the image, and half of its height without perspective."""
    right, top, _ = Camera(_vector(away), (0.0, 0.0, 0.0), up).axes()
    reach = np.maximum(np.abs(seen @ right) / aspect, np.abs(seen @ top)) * MARGIN
    return float(np.max(reach / tan(radians(angle_deg) / 2) + seen @ away)), float(reach.max())


def _cross(one: Voxels, other: Voxels | Vector) -> Voxels:
    """np.cross for two vectors, in a tenth of its time: every frame asks for it."""
    (a, b, c), (x, y, z) = one, other
    return np.array((b * z - c * y, c * x - a * z, a * y - b * x))


def _unit(vector: Voxels) -> Voxels:
    unit: Voxels = np.asarray(vector, float) / np.linalg.norm(vector)
    return unit


def _rotate(vector: Voxels, axis: Voxels, angle: float) -> Voxels:
    """Rodrigues' formula, axis of unit length."""
    turned: Voxels = (
        vector * np.cos(angle) + np.cross(axis, vector) * np.sin(angle) + axis * (axis @ vector) * (1 - np.cos(angle))
    )
    return turned


def _vector(numbers: Voxels) -> Vector:
    x, y, z = (float(n) for n in numbers)
    return (x, y, z)
