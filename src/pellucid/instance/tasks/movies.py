"""Movies of the scene, as tasks.

Here: once around, or through key frames; what key frames show, and which of them are refused.
Not here: encoding (rendering.movie), what is between key frames (rendering.camera_path).
"""

import asyncio
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

from pellucid.errors import Cancelled, InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.instance.access.guest_limits import check_movie, check_scene_size
from pellucid.instance.protocol.movie_bodies import MovieRequest
from pellucid.instance.protocol.shared_types import Capability, check_camera
from pellucid.instance.session import Session
from pellucid.instance.tasks.tasks import Result
from pellucid.instance.websocket.client import Requester
from pellucid.rendering.camera_path import CameraPath, KeyFrame, turntable
from pellucid.rendering.movie import save_movie
from pellucid.rendering.scene import Scene
from pellucid.workers.protocol import requests

MAX_KEYS = 100
MAX_PATH_S = 600.0
MAX_MOMENTS = 2000


def start_movie(session: Session, request: MovieRequest, by: Requester) -> str:
    """Through the key frames, or once around, as an MP4."""
    check_movie(request, by.capability)
    session.tasks.check_room(by)
    scenes = _scenes(session, request, by.capability)
    count = len(scenes)
    is_cancelled: list[bool] = []
    loop = asyncio.get_running_loop()

    async def work(id: str) -> Result:
        target = session.tasks.folder / f"{'turntable' if request.path is None else 'movie'}-{id}.mp4"

        def draw(number: int) -> Voxels:
            if is_cancelled:
                raise Cancelled("The movie")
            loop.call_soon_threadsafe(session.tasks.report, id, number, count, "frames")
            view = requests.ViewSpec(scenes[number], request.width, request.height)
            return session.worker.screenshot(view, is_for_guest=not by.is_owner).result()

        await asyncio.to_thread(save_movie, target, draw, count, float(request.frames_per_second))
        return Result(target, "video/mp4")

    return session.tasks.start("Making a movie", work, lambda: is_cancelled.append(True), by)


def _scenes(session: Session, request: MovieRequest, capability: Capability) -> list[Scene]:
    """Every image of a movie."""
    scene = session.shadings.drawable(session.history.scene)
    if request.path is None:
        count = max(2, round(request.seconds * request.frames_per_second))
        return [replace(scene, camera=camera) for camera in turntable(scene.camera, count)]
    check_path(session, request.path, capability)
    return [moment.scene(scene) for moment in request.path.moments(request.frames_per_second)]


def keyed_scene(session: Session, key: KeyFrame, capability: Capability) -> Scene:
    """The scene as a key frame shows it; what it must not show is refused."""
    check_camera(key.camera)
    scene = session.history.scene
    keyed = key.scene(scene)
    check_scene_size(keyed, scene, capability)
    return keyed


def check_path(session: Session, path: CameraPath, capability: Capability) -> None:
    if len(path.keys) > MAX_KEYS or path.duration_s > MAX_PATH_S:
        what = f"A path of {len(path.keys)} key frames in {path.duration_s:,.0f} s is too long."
        raise InvalidInput(what, remedy=f"Use at most {MAX_KEYS} key frames in {MAX_PATH_S:.0f} s.")
    for key in path.keys:
        keyed_scene(session, key, capability)


def moments(path: CameraPath, frames_per_second: int) -> tuple[KeyFrame, ...]:
    """What a movie shows, at most 2000 images of it; None where it is as before."""
    rate = min(float(frames_per_second), MAX_MOMENTS / path.duration_s)
    every = path.moments(rate)
    return (every[0], *(_changes(before, after) for before, after in pairwise(every)))


def _changes(before: KeyFrame, after: KeyFrame) -> KeyFrame:
    optional = [field.name for field in fields(KeyFrame) if field.name not in ("at_s", "camera")]
    same: dict[str, Any] = {name: None for name in optional if getattr(before, name) == getattr(after, name)}
    return replace(after, **same)
