"""The position and orientation of a volume in space.

Here: Orientation; what is assumed of a file that states none; changes by cropping and by coarser levels.
Not here: reading and writing it (the formats), what it means for images (volume.slice_planes,
rendering.first_view.orientation).

Space has axes (x, y, z): to the right, away from the viewer, and up. For a patient that is NIfTI's RAS: to the
patient's right, to the front (anterior) and to the head (superior).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from pellucid.box import Shape

Vector = tuple[float, float, float]
Vectors = tuple[Vector, Vector, Vector]

ASSUMED: Vectors = ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0))
"""x to the right and z down: slice 0 is the top, as row 0 of a projection is. y towards the viewer, so that nothing is
mirrored."""

WORDS = {
    "R": "right", "L": "left", "A": "anterior", "P": "posterior", "S": "superior", "I": "inferior", "B": "back",
    "F": "front", "U": "up", "D": "down",
}  # fmt: skip

PATIENT, LABORATORY = "RAS", "laboratory"
"""The names of the two spaces in attributes."""

FLATTEST = 1e-6
"""Three directions that span less than this (as a determinant of unit vectors) are not directions of a volume."""


@dataclass(frozen=True)
class Orientation:
    """The directions of a volume's axes, and where its first voxel is.

    axes: unit vectors in space along which the volume's x, y and z run, in that order. origin: the centre of voxel
    (0, 0, 0) in space, (x, y, z) in the volume's unit. is_anatomical: whether space is that of a patient.
    """

    axes: Vectors = ASSUMED
    origin: Vector = (0.0, 0.0, 0.0)
    is_anatomical: bool = False

    @classmethod
    def from_affine(cls, matrix: Any, *, is_anatomical: bool) -> "Orientation | None":
        """From (3, 4): steps along the volume's x, y, z as columns, then the origin; None where it is no such matrix.

        >>> Orientation.from_affine([[2, 0, 0, 5], [0, 2, 0, 6], [0, 0, 3, 7]], is_anatomical=True).code
        'RAS'
        """
        steps, origin = np.asarray(matrix, float)[:, :3], np.asarray(matrix, float)[:, 3]
        lengths = np.linalg.norm(steps, axis=0)
        if not (np.isfinite(steps).all() and np.isfinite(origin).all() and lengths.all()):
            return None
        axes = steps / lengths
        if abs(np.linalg.det(axes)) < FLATTEST:
            return None
        x, y, z = (_vector(axis) for axis in axes.T)
        return cls((x, y, z), _vector(origin), is_anatomical)

    def affine(self, spacing: Vector) -> Any:
        """(3, 4) from a voxel (x, y, z) to space. spacing: along (z, y, x)."""
        steps = np.asarray(self.axes).T * spacing[::-1]
        return np.concatenate([steps, np.asarray(self.origin)[:, None]], axis=1)

    @property
    def up(self) -> str:
        """The axis of the volume that points up, such as "z" or "-y"."""
        return self._along(2)

    @property
    def front(self) -> str | None:
        """The axis of the volume that points to a patient's front; None where there is no patient."""
        return self._along(1, besides=self.up[-1]) if self.is_anatomical else None

    @property
    def code(self) -> str:
        """Where x, y and z run, each by the nearest of right, left, anterior, posterior, superior and inferior.

        Where there is no patient: right, left, back, front, up and down.
        """
        letters = ("RL", "AP", "SI") if self.is_anatomical else ("RL", "BF", "UD")
        nearest = [int(np.argmax(np.abs(axis))) for axis in self.axes]
        return "".join(letters[n][axis[n] < 0] for n, axis in zip(nearest, self.axes, strict=True))

    @property
    def is_mirrored(self) -> bool:
        """Whether the volume's axes are left-handed: drawn as if they were not, it would be its own mirror image."""
        return bool(np.linalg.det(np.asarray(self.axes)) < 0)

    def moved(self, offset: Vector, spacing: Vector) -> "Orientation":
        """With another voxel as the first: so many voxels (z, y, x) further, which need not be whole."""
        steps = np.multiply(offset, spacing)[::-1]
        return replace(self, origin=_vector(np.asarray(self.origin) + steps @ np.asarray(self.axes)))

    def along_axes(self) -> Vector:
        """How far the first voxel lies along each of the volume's own axes (z, y, x), from the origin of space.

        >>> Orientation(origin=(1.0, -2.0, -3.0)).along_axes()
        (3.0, 2.0, 1.0)
        """
        x, y, z = _vector(np.linalg.solve(np.asarray(self.axes).T, np.asarray(self.origin)))
        return (z, y, x)

    def scaled(self, factor: float) -> "Orientation":
        """In another unit of length."""
        return replace(self, origin=_vector(np.asarray(self.origin) * factor))

    def mirrored(self, signs: Vector) -> Any:
        """Axes and origin in a space whose axes are reversed where a sign is -1: (4, 3), origin last."""
        return np.array([*self.axes, self.origin]) * signs

    def _along(self, direction: int, besides: str = "") -> str:
        """The axis of the volume that runs most along an axis of space."""
        shares = {name: axis[direction] for name, axis in zip("xyz", self.axes, strict=True) if name != besides}
        name = max(shares, key=lambda one: abs(shares[one]))
        return name if shares[name] > 0 else f"-{name}"


def to_attributes(orientation: Orientation | None) -> dict[str, Any]:
    """As the attributes of a Zarr group or an HDF5 dataset: plain numbers, and the name of the space."""
    if orientation is None:
        return {}
    axes, space = [list(axis) for axis in orientation.axes], PATIENT if orientation.is_anatomical else LABORATORY
    return {"directions": axes, "origin": list(orientation.origin), "space": space}


def from_attributes(attributes: Mapping[str, Any]) -> Orientation | None:
    """From what to_attributes made; None where there is none of it, or not as it should be.

    >>> from_attributes(to_attributes(Orientation())) == Orientation()
    True
    """
    space = attributes.get("space", "")
    space = space.decode(errors="replace") if isinstance(space, bytes) else str(space)
    try:
        axes = np.asarray(attributes["directions"], float).reshape(3, 3)
        origin = np.asarray(attributes["origin"], float).reshape(1, 3)
    except (KeyError, TypeError, ValueError):
        return None
    if space not in (PATIENT, LABORATORY):
        return None
    return Orientation.from_affine(np.concatenate([axes, origin]).T, is_anatomical=space == PATIENT)


def from_along_axes(place: Vector) -> Orientation | None:
    """Of a file that states no directions, only how far its first voxel lies along its own axes (z, y, x), in its unit.

    None where it is at 0, or at no finite place.

    >>> from_along_axes((3.0, 2.0, 1.0)) == Orientation(origin=(1.0, -2.0, -3.0))
    True
    """
    if not any(place) or not all(isfinite(n) for n in place):
        return None
    return Orientation().moved(place, (1.0, 1.0, 1.0))


def at_level(orientation: Orientation | None, first: Vector, own: Vector) -> Orientation | None:
    """Of a coarser level: its first voxel's centre lies between the centres of those that it was made of.

    first, own: spacing of the full resolution and of the level.
    """
    if orientation is None:
        return None
    z, y, x = ((b - a) / 2 / a for a, b in zip(first, own, strict=True))
    return orientation.moved((z, y, x), first)


def cropped(orientation: Orientation | None, start: Shape, spacing: Vector) -> Orientation | None:
    """Of a part that begins at a voxel (z, y, x)."""
    if not any(start):
        return orientation
    z, y, x = (float(n) for n in start)
    return (orientation or Orientation()).moved((z, y, x), spacing)


def describe_orientation(orientation: Orientation | None) -> str:
    """In words, for users; empty where none is stated.

    >>> describe_orientation(Orientation(origin=(0.0, 1.5, 0.0)))
    'x right, y front, z down; origin (0, 1.5, 0)'
    """
    if orientation is None:
        return ""
    words = ", ".join(f"{axis} {WORDS[letter]}" for axis, letter in zip("xyz", orientation.code, strict=True))
    named = f"{orientation.code} ({words})" if orientation.is_anatomical else words
    return f"{named}; origin ({', '.join(f'{n:g}' for n in orientation.origin)})"


def lost(orientation: Orientation | None, stored: Orientation | None) -> str:
    """What a reader of an output will not know of a volume; empty where that is nothing.

    stored: what the output states; None: what is assumed then.

    >>> lost(Orientation(origin=(1.0, 2.0, 3.0)), None)
    'the origin (1, 2, 3)'
    """
    wanted, stored = orientation or Orientation(), stored or Orientation()
    parts = []
    if not np.allclose(wanted.axes, stored.axes, atol=1e-5):
        parts.append(f"the orientation {wanted.code}")
    elif wanted.is_anatomical != stored.is_anatomical:
        parts.append(f"that the space is {'' if wanted.is_anatomical else 'not '}a patient's")
    if not np.allclose(wanted.origin, stored.origin, rtol=1e-5, atol=1e-6):
        parts.append(f"the origin ({', '.join(f'{n:g}' for n in wanted.origin)})")
    return " and ".join(parts)


def _vector(numbers: Any) -> Vector:
    x, y, z = (float(n) + 0.0 for n in numbers)
    assert isfinite(x + y + z)  # noqa: S101 - checked where it comes from a file
    return (x, y, z)
