"""The agent's routes for files: list, inspect, download, upload.

Here: the routes.
Not here: what may be seen (files), what is in a file (inspection).
"""

import asyncio
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, Response, StreamingResponse

from pellucid.agent.files.inspection import Inspector
from pellucid.agent.files.listing import UserFiles, zip_stream
from pellucid.agent.jobs.estimate import estimate
from pellucid.errors import NotFound
from pellucid.formats.system_errors import system_error
from pellucid.instance.access.route_rules import MAX_STREAM_BYTES, needs
from pellucid.jobs.site import Site

SHOWN = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".mp4", ".webm", ".txt", ".json", ".csv", ".log"}
"""What a browser shows by itself, and cannot run."""


def add(app: FastAPI, site: Site) -> None:
    files = UserFiles(site.roots)
    inspector = Inspector(name for name in files.roots.names if not name.startswith("s3://"))
    _add_looking(app, files, inspector, site)
    _add_moving(app, files)


def _add_looking(app: FastAPI, files: UserFiles, inspector: Inspector, site: Site) -> None:
    @app.get("/api/files")
    async def listed(folder: str = "") -> dict[str, Any]:
        return asdict(await asyncio.to_thread(files.list_folder, folder))

    @app.get("/api/files/info")
    async def facts(path: str) -> dict[str, Any]:
        """What is in a file, and what a viewer of it takes."""
        found = await inspector.facts(await asyncio.to_thread(files.roots.require_allowed, path))
        largest = max((int(volume["bytes"]) for volume in found["volumes"]), default=0)
        wanted = estimate(largest, site)
        return found | {"estimate": {"gpus": wanted.gpus, "memory_bytes": wanted.memory_bytes}}


def _add_moving(app: FastAPI, files: UserFiles) -> None:
    @app.get("/api/files/content")
    async def content(path: str, show: bool = False) -> Response:
        """A file, or a folder packed into one. show: in the browser, where it can."""
        found = await asyncio.to_thread(files.require_existing, path)
        if found.is_dir():
            name = quote(f"{found.name}.zip", safe="")
            saved = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
            return StreamingResponse(zip_stream(found), media_type="application/zip", headers=saved)
        if not found.is_file():  # A pipe or a device would never end.
            raise NotFound(path)
        kind = "inline" if show and found.suffix.lower() in SHOWN else "attachment"
        return FileResponse(found, filename=found.name, content_disposition_type=kind)

    @app.put("/api/files/content", dependencies=[needs("own", MAX_STREAM_BYTES)])
    async def send(request: Request, folder: str, name: str, overwrite: bool = False) -> dict[str, Any]:
        """The body becomes a file, whole or not at all."""
        path = await asyncio.to_thread(files.new_file_path, folder, name, overwrite=overwrite)
        size = await _written(request, path)
        return {"path": str(path), "size": size}


async def _written(request: Request, path: Path) -> int:
    partial, size = path.with_name(f".{path.name}.{os.urandom(4).hex()}.partial"), 0
    try:
        with partial.open("xb") as file:
            async for piece in request.stream():
                await asyncio.to_thread(file.write, piece)
                size += len(piece)
        partial.replace(path)
    except OSError as error:
        raise system_error(error, str(path)) from error
    finally:
        partial.unlink(missing_ok=True)
    return size
