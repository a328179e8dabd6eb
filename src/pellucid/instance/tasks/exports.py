"""Files for download: part of a volume.

Here: exports, as tasks.
Not here: writing formats (conversion), movies (movies).
"""

import asyncio
import shutil
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from pellucid.box import Box
from pellucid.errors import InvalidInput
from pellucid.instance.protocol.http_bodies import ExportRequest
from pellucid.instance.session import Session
from pellucid.instance.tasks.tasks import Result
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
            what = f"The box {wanted} (z, y, x) is outside the volume or empty."
            raise InvalidInput(what, remedy=f"Use a box within {whole}.")
        return inside
    return wanted


def _zipped(folder: Path) -> Path:
    archive = shutil.make_archive(str(folder), "zip", folder.parent, folder.name)
    shutil.rmtree(folder)
    return Path(archive)
