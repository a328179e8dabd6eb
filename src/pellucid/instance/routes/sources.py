"""Files and arrays over HTTP.

Here: the file browser, loading, uploading, arrays that are handed over, voxels that are taken back.
Not here: what may be opened (access.roots), what it becomes (loading).
"""

import asyncio
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Annotated
from uuid import uuid4

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from numpy.lib import format as npy_format

from pellucid.box import Box
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.formats.registry import KINDS
from pellucid.formats.shared_memory import SharedArray
from pellucid.formats.system_errors import system_error
from pellucid.formats.tiff.folder import is_stack_folder
from pellucid.instance.access.route_rules import MAX_STREAM_BYTES, needs
from pellucid.instance.frames.encoders import encode_png
from pellucid.instance.protocol import http_bodies
from pellucid.instance.protocol.shared_types import MAX_UPLOAD_BYTES
from pellucid.instance.routes.dependencies import REFUSALS, Granted, Here
from pellucid.instance.routes.recent import openable
from pellucid.instance.scene import loading
from pellucid.tomo.scan_files.registry import is_scan_folder
from pellucid.volume.slice_sheet import grey_levels, grey_window
from pellucid.workers.protocol import replies, requests

router = APIRouter(prefix="/api", tags=["sources"], responses=REFUSALS, dependencies=[needs("own")])
PIECE = 4 * 2**20
Offset = Annotated[int, Query(ge=0)]
FolderId = Annotated[str, Query(pattern="^([0-9a-f]{32})?$")]
MAX_FOLDER_DEPTH = 16
MAX_SLICE_VOXELS = 2**26
MAX_SLICE_EDGE = 384
"""Pixels of the preview of a slice; of larger ones, every n-th voxel."""


@router.get("/files")
async def files(session: Here, grant: Granted, folder: str = "", search: str = "") -> http_bodies.Folder:
    """List a folder; with a search text, also its subfolders."""

    def listed() -> http_bodies.Folder:
        found = session.roots.list_folder(folder, search)
        if found.path and not search and not grant.link:
            session.recent.set_folder(found.path)
        if not found.path or search:
            return found
        is_scan = is_scan_folder(Path(found.path))
        return replace(found, is_scan=is_scan, is_stack=not is_scan and is_stack_folder(Path(found.path)))

    return await asyncio.to_thread(listed)


@router.get("/files/info")
async def facts(path: str, session: Here) -> http_bodies.FileFacts:
    """Describe a file."""
    source = session.roots.require_allowed(path)
    question = lambda request: requests.Inspect(request, source)  # noqa: E731
    reply: replies.Inspected = await asyncio.wrap_future(session.worker.send_request("inspecting a file", question))
    nbytes = int(np.prod(reply.shape, dtype=object)) * np.dtype(reply.dtype).itemsize if reply.shape else 0
    return http_bodies.FileFacts(
        path, reply.shape, reply.spacing, reply.unit, reply.dtype, reply.levels, reply.times, reply.channels,
        nbytes * max(1, reply.times) * max(1, reply.channels), reply.datasets, reply.problem,
        reply.is_scan, reply.may_be_scan, Location.parse(source).path.lower().endswith(KINDS["raw"].suffixes),
    )  # fmt: skip


@router.get("/files/slice", response_class=Response, responses={200: {"content": {"image/png": {}}}})
async def middle_slice(path: str, session: Here) -> Response:
    """The middle slice across z of a file, small and grey: whether the shape and type of a raw file are right."""
    source = session.roots.require_allowed(path)
    inspect = lambda request: requests.Inspect(request, source)  # noqa: E731
    facts: replies.Inspected = await asyncio.wrap_future(session.worker.send_request("inspecting a file", inspect))
    z, y, x = facts.shape or (0, 0, 0)
    if not facts.shape or y * x > MAX_SLICE_VOXELS:
        what = facts.problem or f"A slice of {x} × {y} voxels is too large for a preview."
        raise InvalidInput(what, remedy="Check its shape and type.")
    box = Box((z // 2, 0, 0), (z // 2 + 1, y, x))
    read = lambda request: requests.Retrieve(request, source, box)  # noqa: E731
    _, shared = await asyncio.wrap_future(session.worker.send_request("reading a slice", read))
    return Response(await asyncio.to_thread(_small_png, shared), media_type="image/png")


@router.post("/load")
async def load(request: http_bodies.LoadRequest, session: Here, grant: Granted) -> http_bodies.Loaded:
    """Show a file."""
    return await loading.load(session, openable(session, request.path, grant), request.how)


@router.put("/upload", dependencies=[needs("own", MAX_UPLOAD_BYTES)])
async def upload(request: Request, session: Here, name: str, folder_id: FolderId = "") -> http_bodies.Uploaded:
    """Upload a small file; the body is its content. folder_id: all files of a folder have the same; their names are
    their paths in it."""
    safe = safe_path(name) if folder_id else safe_name(name)
    if safe.lower().endswith((".onnx", ".zip")):
        session.pool.get("compute").start()  # A network: what will run it starts while it arrives.
    # In a folder of its own: another file of the same name, which may be shown, stays.
    uploads, id = session.tasks.folder / "uploads", uuid4().hex
    target, partial = uploads / (folder_id or id) / safe, uploads / f".{id}.partial"
    try:
        uploads.mkdir(exist_ok=True)
        with session.idle.held_off(), partial.open("wb") as file:
            async for piece in request.stream():
                await asyncio.to_thread(file.write, piece)
        target.parent.mkdir(parents=True, exist_ok=bool(folder_id))
        partial.replace(target)
    except OSError as error:
        raise system_error(error, safe) from error
    finally:  # Too large, a full disk, a sender that is gone: nothing of it stays.
        partial.unlink(missing_ok=True)
    return http_bodies.Uploaded(str(target))


@router.post("/arrays")
async def offer_array(offer: http_bodies.ArrayOffer, session: Here) -> http_bodies.ArrayUpload:
    """Announce an array."""
    return http_bodies.ArrayUpload(*session.arrays.announce(offer))


@router.put("/arrays/{id}", status_code=204, dependencies=[needs("own", MAX_STREAM_BYTES)])
async def fill_array(id: str, request: Request, session: Here, offset: Offset = 0) -> None:
    """Send a piece of an array; several may be sent at the same time."""
    with session.idle.held_off():
        async for piece in request.stream():
            session.arrays.fill(id, offset, piece)
            offset += len(piece)


@router.post("/arrays/{id}/show")
async def show_array(id: str, session: Here) -> http_bodies.Revision:
    """Show an array that is complete."""
    offer, handed = session.arrays.finish(id)
    return http_bodies.Revision(await loading.show_array(session, id, handed, offer.how, offer.name or "array"))


@router.get("/volume", response_class=StreamingResponse)
async def volume(session: Here, layer: Annotated[int, Query(ge=0)] = 0, box: str = "") -> StreamingResponse:
    """The voxels of a layer, or of a box of it (z0:z1,y0:y1,x0:x1), as .npy."""
    shared = await loading.retrieve(session, layer, box)
    return StreamingResponse(_npy(shared), media_type="application/octet-stream")


def safe_name(name: str) -> str:
    """The last part of a name, without what means something to a file system."""
    safe = re.sub(r"[^\w.-]+", "_", name.rpartition("/")[2]).lstrip(".")[-100:]
    if not safe:
        raise InvalidInput("The file has no name.", remedy="Add a name with an extension, such as scan.h5.")
    return safe


def safe_path(name: str) -> str:
    """A path inside an uploaded folder. A part may begin with a dot: .zarray describes an array.

    >>> safe_path("scan/0 1/.zarray")
    'scan/0_1/.zarray'
    """
    parts = [re.sub(r"[^\w.-]", "_", part)[-100:] for part in name.split("/")]
    if len(parts) > MAX_FOLDER_DEPTH or not all(part.strip(".") for part in parts):
        raise InvalidInput(f"Invalid path in a folder: {name!r}.", remedy="Send names such as scan/slice_001.tif.")
    return "/".join(parts)


def _small_png(shared: SharedArray) -> bytes:
    """A slice in a shared array as a grey image."""
    with shared:
        voxels = shared.array[0]
        step = max(1, ceil(max(voxels.shape) / MAX_SLICE_EDGE))
        small = voxels[::step, ::step]
        return encode_png(np.ascontiguousarray(grey_levels(small, *grey_window(small))))


def _npy(shared: SharedArray) -> Iterator[bytes]:
    header = io.BytesIO()
    described = {"descr": shared.dtype.str, "fortran_order": False, "shape": tuple(shared.shape)}
    npy_format.write_array_header_1_0(header, described)
    yield header.getvalue()
    with shared:
        flat = shared.array.reshape(-1).view(np.uint8)
        for start in range(0, len(flat), PIECE):
            yield flat[start : start + PIECE].tobytes()
