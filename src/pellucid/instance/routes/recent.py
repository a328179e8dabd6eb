"""The recent files of the user over HTTP, and the sample volume.

Here: listing and clearing recent files, for the owner alone; the sample.
Not here: remembering them (recent_files), opening them (sources).
"""

import asyncio
from pathlib import Path

import numpy as np
from fastapi import APIRouter

from pellucid.errors import NotAllowed
from pellucid.formats.local_files import written_whole
from pellucid.formats.location import Location
from pellucid.instance.access.route_rules import needs
from pellucid.instance.access.sessions import ASK_OWNER, Grant
from pellucid.instance.lifecycle.recent_files import RecentFileRecord, still_exists
from pellucid.instance.protocol import http_bodies
from pellucid.instance.routes.dependencies import REFUSALS, Granted, Here
from pellucid.instance.scene import loading
from pellucid.instance.session import Session
from pellucid.volume.sample_volume import sample

router = APIRouter(prefix="/api", tags=["sources"], responses=REFUSALS, dependencies=[needs("own")])
SAMPLE_EDGE = 128


@router.get("/recent")
async def recent(session: Here, grant: Granted) -> http_bodies.RecentFiles:
    """The files that the user opened last; nothing for a share link, whatever it allows."""
    if grant.link:
        return http_bodies.RecentFiles((), "")

    def listed() -> http_bodies.RecentFiles:
        known = session.recent.read()
        files = (one for one in known.files if may_open(session, one.source, grant) and still_exists(one.source))
        folder = known.folder if known.folder and session.roots.has(known.folder) else ""
        return http_bodies.RecentFiles(tuple(map(_described, files)), folder)

    return await asyncio.to_thread(listed)


@router.delete("/recent", status_code=204)
async def clear(session: Here, grant: Granted) -> None:
    """Forget all recent files."""
    if grant.link:
        raise NotAllowed("Recent files belong to the user who started the viewer.", remedy=ASK_OWNER)
    await asyncio.to_thread(session.recent.clear)


@router.post("/sample")
async def show_sample(request: http_bodies.SampleRequest, session: Here) -> http_bodies.Loaded:
    """Show a small volume to try things with."""
    path = session.tasks.folder / "sample" / "Sample.npy"
    await asyncio.to_thread(_write_sample, path)
    return await loading.load(session, str(path), request.how)


def may_open(session: Session, source: str, grant: Grant) -> bool:
    """Whether a recent file may be opened: below the roots, or, where the user named none, anywhere."""
    return session.roots.has(source) or (session.opens_recent and not grant.link)


def openable(session: Session, path: str, grant: Grant) -> str:
    """The name of a file in full. What is neither below the roots nor a recent file of the user is refused."""
    if not session.roots.has(path) and may_open(session, path, grant) and session.recent.has(path):
        session.roots.add_opened(Location.parse(path).local.parent)
        return path
    return session.roots.require_allowed(path)


def _described(file: RecentFileRecord) -> http_bodies.RecentFile:
    path = Location.parse(file.source).path.rstrip("/")
    name, folder = path.rpartition("/")[2] or path, path.rpartition("/")[0]
    image = f"data:image/jpeg;base64,{file.thumbnail}" if file.thumbnail else ""
    return http_bodies.RecentFile(file.source, name, folder, file.opened_at * 1000, image)


def _write_sample(path: Path) -> None:
    if path.exists():
        return
    path.parent.mkdir(exist_ok=True)
    with written_whole(path) as file:
        np.save(file, sample(SAMPLE_EDGE))
