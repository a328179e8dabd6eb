"""The orientation of a volume in an image: which axis points up, and the sides from which it can be viewed.

Here: the axis that points up, as the file states it or from where the sample leaves the scan; directions of the named
views; the transform of a volume that is stored mirrored.
Not here: how far away the camera is (camera.framing).
"""

from typing import Literal, get_args

import numpy as np

from pellucid.box import Box
from pellucid.choices import check_choice
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Vector
from pellucid.rendering.scene import STANDING, Scene, Transform
from pellucid.volume.volume import Volume

View = Literal["corner", "front", "back", "left", "right", "top", "bottom"]
VIEWS: tuple[View, ...] = get_args(View)
SIDES = ("x", "y", "z", "-x", "-y", "-z")
MIN_VOXELS = 16
MAX_BYTES = 2**30
THIN = 20
"""A volume that is so many times wider than thick is seen face on."""
STANDS_ON, STANDS_OUT = 0.15, 3.0
"""A sample stands on a face of the scan if it fills that part of it, and so many times more than of any other."""

# What stands at the right, behind and above, in terms of (right, back, up): where the eye is.
EYES: dict[str, Vector] = {
    "corner": (0.55, -1.0, 0.35),
    "front": (0.0, -1.0, 0.0),
    "back": (0.0, 1.0, 0.0),
    "left": (-1.0, 0.0, 0.0),
    "right": (1.0, 0.0, 0.0),
    "top": (0.0, 0.0, 1.0),
    "bottom": (0.0, 0.0, -1.0),
}


def view_direction(view: View, up: str = "-z", front: str | None = None) -> tuple[Vector, Vector]:
    """From the scan's middle to the eye, and upwards in the image; both (x, y, z).

    front: the axis towards the eye in the view from the front; without it, the one that leaves x (or y, where x points
    up) to the right.

    >>> view_direction("front"), view_direction("front", "y")
    (((0.0, 1.0, 0.0), (0.0, 0.0, -1.0)), ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0)))
    """
    check_choice("view", view, EYES)
    top = _axis(up)
    right = np.array((0.0, 1.0, 0.0)) if abs(top[0]) else np.array((1.0, 0.0, 0.0))
    back = np.cross(top, right)
    if front is not None and front[-1] != up[-1]:
        back = -_axis(front)
        right = np.cross(back, top)
    across, along, upwards = EYES[view]
    eye = across * right + along * back + upwards * top
    return _vector(eye), _vector(back * np.sign(upwards) if view in ("top", "bottom") else top)


def facing(volume: Volume) -> tuple[Vector, Vector] | None:
    """The direction to the eye, and upwards, that show a volume of a few slices face on; None for any other.

    Slices along z are seen as an image viewer shows them, x to the right and y downwards, or, where the file states how
    a patient lies, from the feet.
    """
    extents = [n * step for n, step in zip(volume.shape, volume.spacing, strict=True)]
    thin, others = int(np.argmin(extents)), sorted(extents)[1:]
    if extents[thin] * THIN > others[0]:
        return None
    if thin > 0:
        return view_direction("front" if thin == 1 else "right", "-z")
    if volume.orientation is not None:
        return view_direction("bottom", up_in_world(volume), front_in_world(volume))
    return view_direction("front", "-y")


def upright_axis(volume: Volume, air: float | None) -> str:
    """The axis that points up: as the file states it, else away from the face that the sample goes through."""
    return up_in_world(volume) if air is None or volume.orientation is not None else find_up_axis(volume, air)


def standing_of(volume: Volume) -> Transform:
    """Where a volume stands: as it is stored, or, where its axes are left-handed, mirrored along x in its own place."""
    if not is_mirrored(volume):
        return STANDING
    return Transform(scale=(-1.0, 1.0, 1.0), translation=((volume.shape[2] - 1) * volume.spacing[2], 0.0, 0.0))


def index_signs(scene: Scene) -> Vector:
    """For x, y and z, -1 where the scene's first volume is mirrored: its indices grow against the world's axis."""
    if not scene.volumes:
        return (1.0, 1.0, 1.0)
    return _vector(np.sign(scene.volumes[0].transform.scale))


def is_mirrored(volume: Volume) -> bool:
    """Whether the file states left-handed axes: drawn as stored, a patient's right would be the left."""
    return volume.orientation is not None and volume.orientation.is_mirrored


def up_in_world(volume: Volume) -> str:
    """The axis of the world that points up, once the volume stands."""
    return _unmirrored(volume, volume.up)


def front_in_world(volume: Volume) -> str | None:
    """The axis of the world that points to a patient's front; None where there is none."""
    return None if volume.front is None else _unmirrored(volume, volume.front)


def _unmirrored(volume: Volume, axis: str) -> str:
    return _opposite(axis) if axis[-1] == "x" and is_mirrored(volume) else axis


def find_up_axis(volume: Volume, air: float) -> str:
    """The axis away from the one face of the scan that the sample goes through: there it is held, or was cut off.

    Without such a face slice 0 is at the top. Only six faces are read, of the coarsest level that still shows
    it; a scan of more than a GiB without levels stands as it is.
    """
    volume = _coarse(volume)
    if volume.nbytes > MAX_BYTES:
        return volume.up
    filled = {side: float(np.mean(volume.read(_face(volume, side)) > air)) for side in SIDES}
    best, next_best = sorted(filled, key=lambda side: -filled[side])[:2]
    is_clear = filled[best] >= STANDS_ON and filled[best] >= STANDS_OUT * filled[next_best]
    return _opposite(best) if is_clear else volume.up


def _coarse(volume: Volume) -> Volume:
    wide_enough = [
        number for number, level in enumerate(volume.levels) if min(level.shape) >= MIN_VOXELS or number == 0
    ]
    return volume.at_level(max(volume.level, wide_enough[-1]))


def _face(volume: Volume, side: str) -> Box:
    """One layer of voxels at the end of an axis."""
    axis = "zyx".index(side[-1])
    start, stop = [0, 0, 0], list(volume.shape)
    if side.startswith("-"):
        stop[axis] = 1
    else:
        start[axis] = stop[axis] - 1
    return Box((start[0], start[1], start[2]), (stop[0], stop[1], stop[2]))


def _opposite(side: str) -> str:
    return side[1:] if side.startswith("-") else f"-{side}"


def _axis(name: str) -> Voxels:
    check_choice("direction", name, SIDES)
    axis: Voxels = np.zeros(3)
    axis["xyz".index(name[-1])] = -1.0 if name.startswith("-") else 1.0
    return axis


def _vector(numbers: Voxels) -> Vector:
    x, y, z = (float(n) + 0.0 for n in numbers)
    return (x, y, z)
