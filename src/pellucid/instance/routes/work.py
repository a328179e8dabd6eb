"""Code, exports and states over HTTP.

Here: shadings, exports, movies, tasks, saved states, the end.
Not here: what they do (loading, exports, states), links to them (sharing).
"""

import asyncio

from fastapi import APIRouter
from fastapi.responses import FileResponse

from pellucid.instance import exports, loading
from pellucid.instance.protocol import http
from pellucid.instance.route_rules import needs
from pellucid.instance.routes.access import REFUSALS, By, Here
from pellucid.instance.routes.scene import layer_of

router = APIRouter(tags=["work"], responses=REFUSALS)
STEER, OWN = [needs("steer")], [needs("own")]
MAX_STATE_BYTES = 4 * 2**20
"""Shadings of up to 64 KiB each come along."""


@router.post("/api/shadings", dependencies=OWN)
async def compile_shading(text: http.ShadingText, session: Here) -> http.ShadingMade:
    """Compile a shading; a refusal carries the line."""
    return await _compiled(session, text.source)


@router.post("/api/shadings/{hash}/agree", dependencies=OWN)
async def agree(hash: str, session: Here) -> http.ShadingMade:
    """Compile one that came with a state from elsewhere."""
    return await _compiled(session, session.shadings.waiting(hash))


async def _compiled(session: Here, source: str) -> http.ShadingMade:
    with session.idle.held(), session.worker_events.busy("compiling"):
        made = await asyncio.wrap_future(session.worker.compile(source))
    session.shadings.made(source)
    session.shadings_changed()
    session.picturing.want(is_moving=False)
    return http.ShadingMade(made.hash, made.parameters)


@router.post("/api/exports", dependencies=OWN)
async def export(asked: http.ExportRequest, session: Here) -> http.TaskStarted:
    """Write the clipped region of a layer to a file."""
    return http.TaskStarted(exports.start_export(session, layer_of(session, asked.layer), asked))


@router.post("/api/movies", dependencies=STEER)
async def movie(asked: http.MovieRequest, session: Here, by: By) -> http.TaskStarted:
    """Once around, as an MP4."""
    return http.TaskStarted(exports.start_movie(session, asked, by))


@router.get("/api/tasks/{task}", dependencies=STEER)
async def task_status(task: str, session: Here, by: By) -> http.TaskStatus:
    """How far a task is."""
    return session.tasks.status(task, by)


@router.get("/api/tasks/{task}/result", dependencies=STEER, response_class=FileResponse)
async def task_result(task: str, session: Here, by: By) -> FileResponse:
    """What a task has made."""
    result = session.tasks.result(task, by)
    return FileResponse(result.path, media_type=result.media_type, filename=result.path.name)


@router.get("/api/state", dependencies=OWN)
async def state(session: Here) -> http.SavedState:
    """Everything that is needed to show the same picture again."""
    return loading.save(session)


@router.put("/api/state", dependencies=[needs("own", MAX_STATE_BYTES)])
async def restore(saved: http.SavedState, session: Here) -> http.Revision:
    """Show a saved state."""
    return http.Revision(await loading.restore(session, saved))


@router.post("/api/shutdown", dependencies=OWN, status_code=204)
async def shutdown(session: Here) -> None:
    """End the viewer."""
    session.end("The viewer was ended by its owner.", do="Start it again.")
