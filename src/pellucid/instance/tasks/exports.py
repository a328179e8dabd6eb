"""Files for download: part of a volume, a movie.

Here: export, movie: both as tasks.
Not here: writing formats (conversion), encoding movies (rendering.movie).
"""

import asyncio
import shutil
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

from pellucid.box import Box
from pellucid.errors import Cancelled, InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.instance.access.guest_limits import check_movie
from pellucid.instance.protocol.http_bodies import ExportRequest, MovieRequest
from pellucid.instance.session import Session
from pellucid.instance.tasks.tasks import Result
from pellucid.instance.websocket.client import Requester
from pellucid.rendering.camera_path import turntable
from pellucid.rendering.movie import save_movie
from pellucid.rendering.scene import VolumeLayer
from pellucid.workers.protocol import requests

ENDINGS = {"tiff": ".tif", "nrrd": ".nrrd", "zarr": ".zarr"}
MEDIA = {"tiff": "image/tiff", "nrrd": "application/octet-stream", "zarr": "application/zip"}


def start_export(session: Session, layer: VolumeLayer, requested: ExportRequest) -> str:
    """Write the clipped region of a layer; Zarr comes as a ZIP."""
    if session.tasks.exporting is not None:
        raise InvalidInput("Another export is in progress.", remedy="Wait until it is finished, or cancel it.")
    box = _box(session, layer, requested)
    worker_requests: list[Future[Any]] = []
    time = session.history.scene.time

    async def work(id: str) -> Result:
        session.tasks.exporting = id
        name = Path(session.catalogue.name(layer.source).partition(":")[0]).stem or "volume"
        target = session.tasks.folder / f"{name}-{id}{ENDINGS[requested.format]}"
        question = lambda request: requests.Export(request, layer.source, box, str(target), time)  # noqa: E731
        try:
            worker_requests.append(session.worker.send_request("exporting", question))
            await asyncio.wrap_future(worker_requests[0])
        finally:
            session.tasks.exporting = None
        if requested.format == "zarr":
            target = await asyncio.to_thread(_zipped, target)
        return Result(target, MEDIA[requested.format])

    def cancel() -> None:
        for future in worker_requests:
            session.worker.cancel(future)

    return session.tasks.start(f"Exporting {session.catalogue.name(layer.source)}", work, cancel)


def _box(session: Session, layer: VolumeLayer, request: ExportRequest) -> Box | None:
    facts = session.catalogue.facts(layer.source)
    whole = None if facts is None else Box.whole(facts.shape)
    wanted = layer.clip
    if request.start is not None and request.stop is not None:
        wanted = Box(request.start, request.stop)
    if wanted is not None and whole is not None:
        inside = wanted.intersect(whole)
        if inside.is_empty:
            raise InvalidInput(f"The box {wanted} is outside the volume or empty.", remedy=f"Use a box within {whole}.")
        return inside
    return wanted


def _zipped(folder: Path) -> Path:
    archive = shutil.make_archive(str(folder), "zip", folder.parent, folder.name)
    shutil.rmtree(folder)
    return Path(archive)


def start_movie(session: Session, request: MovieRequest, by: Requester) -> str:
    """Once around, as an MP4."""
    check_movie(request, by.capability)
    session.tasks.check_room(by)
    scene = session.shadings.drawable(session.history.scene)
    count = max(2, round(request.seconds * request.frames_per_second))
    cameras = list(turntable(scene.camera, count))
    is_cancelled: list[bool] = []
    loop = asyncio.get_running_loop()

    async def work(id: str) -> Result:
        target = session.tasks.folder / f"turntable-{id}.mp4"

        def draw(number: int) -> Voxels:
            if is_cancelled:
                raise Cancelled("The movie")
            loop.call_soon_threadsafe(session.tasks.report, id, number, count, "frames")
            view = requests.ViewSpec(replace(scene, camera=cameras[number]), request.width, request.height)
            return session.worker.screenshot(view, is_for_guest=not by.is_owner).result()

        await asyncio.to_thread(save_movie, target, draw, count, float(request.frames_per_second))
        return Result(target, "video/mp4")

    return session.tasks.start("Making a movie", work, lambda: is_cancelled.append(True), by)
