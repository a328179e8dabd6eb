"""Camera paths of a movie: once around, or smoothly through key frames.

Here: KeyFrame and CameraPath, to and from JSON; what a movie shows at any moment between them.
Not here: drawing the scenes (renderer), writing the movie (movie).
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from pellucid.box import Box, triple
from pellucid.dataclass_json import from_json
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera, Vector
from pellucid.rendering.number_checks import check_finite
from pellucid.rendering.scene import ClipPlane, Scene
from pellucid.rendering.transfer import TransferFunction

VERSION = 1


@dataclass(frozen=True)
class KeyFrame:
    """What a movie shows at ``at_s`` seconds. time: of the scene; transfer and clip: of its first volume; planes: that
    cut everything; None for no change. Without clipping, clip is the box of the whole volume."""

    at_s: float
    camera: Camera
    time: float | None = None
    transfer: TransferFunction | None = None
    clip: Box | None = None
    planes: tuple[ClipPlane, ...] | None = None

    def __post_init__(self) -> None:
        check_finite("A key frame at a second and a time", self.at_s, self.time or 0.0)

    def scene(self, scene: Scene) -> Scene:
        """A scene as the movie shows it at that moment."""
        layer = {name: value for name in ("transfer", "clip") if (value := getattr(self, name)) is not None}
        if layer and scene.volumes:
            scene = replace(scene, volumes=(replace(scene.volumes[0], **layer), *scene.volumes[1:]))
        whole = {name: value for name in ("time", "planes") if (value := getattr(self, name)) is not None}
        return replace(scene, camera=self.camera, **whole)


@dataclass(frozen=True)
class CameraPath:
    """Key frames in the order of their seconds; the camera passes exactly through each of them, and moves smoothly.

    The target, the direction and the distance of the camera are interpolated, so that it moves around its target. No
    coordinate goes beyond the key frames on either side, so that a camera at rest stays at rest.
    """

    keys: tuple[KeyFrame, ...]

    def __post_init__(self) -> None:
        seconds = [key.at_s for key in self.keys]
        if len(seconds) < 2 or any(a >= b for a, b in pairwise(seconds)):
            raise InvalidInput(
                f"Invalid key frame times: {seconds}.",
                remedy="Use at least two key frames, each later than the one before.",
            )
        if len({key.camera.field_of_view_deg is None for key in self.keys}) > 1:
            raise InvalidInput(
                "The key frames mix perspective and orthographic cameras.", remedy="Use one projection for all cameras."
            )

    @property
    def duration_s(self) -> float:
        return self.keys[-1].at_s - self.keys[0].at_s

    def camera(self, at_s: float) -> Camera:
        """The camera at a moment; before the first and after the last key frame, theirs."""
        exact = next((key.camera for key in self.keys if key.at_s == at_s), None)
        if exact is not None:
            return exact
        seconds, numbers, turns = self._poses
        turn = _smooth(seconds, turns, at_s)
        is_deep = self.keys[0].camera.field_of_view_deg is not None
        return _camera(_smooth(seconds, numbers, at_s), turn / np.linalg.norm(turn), is_deep=is_deep)

    @cached_property
    def _poses(self) -> tuple[Voxels, Voxels, Voxels]:
        """Of the keys: their seconds, what else a camera is made of, and which way it looks."""
        cameras = [key.camera for key in self.keys]
        numbers, turns = ([each(camera) for camera in cameras] for each in (_numbers, _turn))
        return np.array([key.at_s for key in self.keys]), np.array(numbers), _same_side(np.array(turns))

    def moment(self, at_s: float) -> KeyFrame:
        """What the movie shows at a moment."""
        between: dict[str, Callable[..., Any]] = {
            "time": _mix,
            "transfer": _between,
            "clip": _box_between,
            "planes": _planes_between,
        }
        mixed = {name: self._mixed(name, at_s, mix) for name, mix in between.items()}
        return KeyFrame(at_s, self.camera(at_s), **mixed)

    def moments(self, frames_per_second: float) -> list[KeyFrame]:
        """Every image of the movie, from the first key frame to the last."""
        count = max(2, round(self.duration_s * frames_per_second) + 1)
        start = self.keys[0].at_s
        return [self.moment(start + self.duration_s * number / (count - 1)) for number in range(count)]

    def scene(self, scene: Scene, at_s: float) -> Scene:
        """A scene at a moment of the movie."""
        return self.moment(at_s).scene(scene)

    def _mixed(self, name: str, at_s: float, between: Callable[..., Any]) -> Any:
        """What the keys around a moment say of something, evenly from one to the next."""
        reply = [(key.at_s, getattr(key, name)) for key in self.keys if getattr(key, name) is not None]
        if not reply:
            return None
        after = bisect_right([second for second, _ in reply], at_s)
        if after in (0, len(reply)):
            return reply[max(0, after - 1)][1]
        (start, one), (stop, other) = reply[after - 1 : after + 1]
        return one if one == other or at_s == start else between(one, other, (at_s - start) / (stop - start))

    def to_json(self) -> str:
        return json.dumps({"version": VERSION, **asdict(self)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> "CameraPath":
        """Read a path; an unknown field is an error that names it."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(
                f"Invalid camera path: {error}.", remedy="Use the JSON from CameraPath.to_json()."
            ) from error
        if not isinstance(document, dict) or document.pop("version", None) != VERSION:
            raise InvalidInput("Unknown version of a camera path.", remedy='Use {"version": 1, "keys": [...]}.')
        path: CameraPath = from_json(cls, document, "path")
        return path


def turntable(camera: Camera, count: int) -> Iterator[Camera]:
    """Once around, about the camera's ``up``, in ``count`` equal turns; the first is the camera itself."""
    for number in range(count):
        yield camera.orbited(360.0 * number / count) if number else camera


def _numbers(camera: Camera) -> list[float]:
    angle = camera.field_of_view_deg
    return [*camera.target, np.log(camera.distance), np.log(camera.height), angle if angle is not None else 0.0]


def _camera(numbers: Voxels, turn: Voxels, *, is_deep: bool) -> Camera:
    target, distance = numbers[:3], float(np.exp(numbers[3]))
    up, back = _rotation(turn)[:, 1], _rotation(turn)[:, 2]
    return Camera(
        _vector(target + distance * back), _vector(target), _vector(up), float(numbers[5]) if is_deep else None,
        float(np.exp(numbers[4])),
    )  # fmt: skip


def _smooth(seconds: Voxels, keys: Voxels, at_s: float) -> Voxels:
    """A cubic through the keys, (n, numbers), whose speed is 0 at the ends and wherever a number turns back."""
    at = min(max(at_s, float(seconds[0])), float(seconds[-1]))
    left = min(int(np.searchsorted(seconds, at, side="right")) - 1, len(seconds) - 2)
    length = np.diff(seconds)[:, None]
    slopes = np.diff(keys, axis=0) / length
    speeds = np.zeros_like(keys, dtype=float)
    before, after = 2 * length[1:] + length[:-1], length[1:] + 2 * length[:-1]
    is_onward = slopes[:-1] * slopes[1:] > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (before + after) / (before / slopes[:-1] + after / slopes[1:])
    speeds[1:-1] = np.where(is_onward, mean, 0.0)
    h = float(length[left, 0])
    t = (at - seconds[left]) / h
    smooth: Voxels = (
        (1 + 2 * t) * (1 - t) ** 2 * keys[left]
        + t * (1 - t) ** 2 * h * speeds[left]
        + t * t * (3 - 2 * t) * keys[left + 1]
        + t * t * (t - 1) * h * speeds[left + 1]
    )
    return smooth


def _turn(camera: Camera) -> Voxels:
    """The camera's orientation as a unit quaternion (w, x, y, z)."""
    right, up, forward = camera.axes()
    matrix = np.stack([right, up, -forward], axis=1)
    (a, b, c), (d, e, f), (g, h, i) = matrix
    # The eigenvector of the largest eigenvalue: the same formula for every turn, none divides by a small number.
    symmetric = np.array(
        [
            [a + e + i, h - f, c - g, d - b],
            [h - f, a - e - i, b + d, c + g],
            [c - g, b + d, e - a - i, f + h],
            [d - b, c + g, f + h, i - a - e],
        ]
    )
    turn: Voxels = np.linalg.eigh(symmetric)[1][:, -1]
    return turn


def _same_side(turns: Voxels) -> Voxels:
    """Of the two quaternions of every orientation, the one nearer to that of the key before: the shorter way around."""
    for number in range(1, len(turns)):
        if turns[number] @ turns[number - 1] < 0:
            turns[number] = -turns[number]
    return turns


def _rotation(turn: Voxels) -> Voxels:
    w, x, y, z = turn
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _between(one: TransferFunction, other: TransferFunction, part: float) -> TransferFunction:
    """Colours, opacities and range, part of the way from one transfer function to another."""
    places = sorted({at for each in (one, other) for at, _ in (*each.colors, *each.opacities)})
    colors = [_mix(_at(places, one.colors, k), _at(places, other.colors, k), part) for k in range(3)]
    opacities = _mix(_at(places, one.opacities), _at(places, other.opacities), part)
    low, high = _mix(np.array(one.value_range), np.array(other.value_range), part)
    return replace(
        one,
        colors=tuple((at, (float(r), float(g), float(b))) for at, r, g, b in zip(places, *colors, strict=True)),
        opacities=tuple((at, float(opacity)) for at, opacity in zip(places, opacities, strict=True)),
        value_range=(float(low), float(high)),
    )


def _box_between(one: Box, other: Box, part: float) -> Box:
    """Whole voxels, never empty where neither box is."""
    start, stop = (
        [round(_mix(a, b, part)) for a, b in zip(*ends, strict=True)]
        for ends in ((one.start, other.start), (one.stop, other.stop))
    )
    return Box(triple(start), triple(max(a + 1, b) for a, b in zip(start, stop, strict=True)))


def _planes_between(one: tuple[ClipPlane, ...], other: tuple[ClipPlane, ...], part: float) -> tuple[ClipPlane, ...]:
    """Each plane on its way to the other's; as many as there were, until another number of them is there."""
    if len(one) != len(other):
        return one
    return tuple(_plane_between(a, b, part) for a, b in zip(one, other, strict=True))


def _plane_between(one: ClipPlane, other: ClipPlane, part: float) -> ClipPlane:
    (first, start), (last, stop) = _unit_plane(one), _unit_plane(other)
    normal = _mix(first, last, part)
    length = float(np.linalg.norm(normal))
    if length < 1e-6:  # Turned around: there is no way between that is not arbitrary.
        return one
    return ClipPlane(_vector(normal / length), _mix(start, stop, part) / length)


def _unit_plane(plane: ClipPlane) -> tuple[Voxels, float]:
    length = float(np.linalg.norm(plane.normal))
    return np.array(plane.normal) / length, plane.offset / length


def _at(places: list[float], points: Any, channel: int | None = None) -> Voxels:
    levels = [value if channel is None else value[channel] for _, value in points]
    found: Voxels = np.interp(places, [at for at, _ in points], levels)
    return found


def _mix(one: Any, other: Any, part: float) -> Any:
    return one + (other - one) * part


def _vector(numbers: Voxels) -> Vector:
    x, y, z = (float(n) for n in numbers)
    return (x, y, z)
