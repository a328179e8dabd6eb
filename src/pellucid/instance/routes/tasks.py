"""Shadings, exports and saved states over HTTP.

Here: shadings, exports, tasks, saved states, the end.
Not here: what they do (loading, exports, saved_states), links to them (sharing), movies (movies).
"""

import asyncio

from fastapi import APIRouter
from fastapi.responses import FileResponse

from pellucid.instance.access.route_rules import needs
from pellucid.instance.protocol import http_bodies
from pellucid.instance.routes.dependencies import REFUSALS, By, Here
from pellucid.instance.routes.scene import layer_of
from pellucid.instance.scene import loading
from pellucid.instance.tasks import exports

router = APIRouter(tags=["work"], responses=REFUSALS)
CONTROL, OWN = [needs("control")], [needs("own")]
MAX_STATE_BYTES = 4 * 2**20
"""It contains shadings of up to 64 KiB each."""


@router.post("/api/shadings", dependencies=OWN)
async def compile_shading(text: http_bodies.ShadingText, session: Here) -> http_bodies.CompiledShading:
    """Compile a custom shading; an error has the line."""
    return await _compiled(session, text.source)


@router.post("/api/shadings/{hash}/approve", dependencies=OWN)
async def approve(hash: str, session: Here) -> http_bodies.CompiledShading:
    """Approve and compile a shading that came with another user's state."""
    return await _compiled(session, session.shadings.pending_approval(hash))


async def _compiled(session: Here, source: str) -> http_bodies.CompiledShading:
    with session.idle.held_off(), session.worker_events.busy("compiling"):
        made = await asyncio.wrap_future(session.worker.compile(source))
    session.shadings.add_compiled(source)
    session.shadings_changed()
    session.picturing.request_frame(is_moving=False)
    return http_bodies.CompiledShading(made.hash, made.parameters)


@router.post("/api/exports", dependencies=OWN)
async def export(request: http_bodies.ExportRequest, session: Here) -> http_bodies.TaskStarted:
    """Write the clipped part of a layer to a file."""
    return http_bodies.TaskStarted(exports.start_export(session, layer_of(session, request.layer), request))


@router.get("/api/tasks/{task}", dependencies=CONTROL)
async def task_status(task: str, session: Here, by: By) -> http_bodies.TaskStatus:
    """The state and progress of a task."""
    return session.tasks.status(task, by)


@router.delete("/api/tasks/{task}", dependencies=CONTROL, status_code=204)
async def cancel_task(task: str, session: Here, by: By) -> None:
    """Stop a task; one that has ended stays as it is."""
    session.tasks.cancel(task, by)


@router.get("/api/tasks/{task}/result", dependencies=CONTROL, response_class=FileResponse)
async def task_result(task: str, session: Here, by: By) -> FileResponse:
    """The result of a task."""
    result = session.tasks.result(task, by)
    return FileResponse(result.path, media_type=result.media_type, filename=result.path.name)


@router.get("/api/state", dependencies=OWN)
async def state(session: Here) -> http_bodies.SavedState:
    """The saved state of the viewer: everything that is needed to show the same image again."""
    return loading.save(session)


@router.put("/api/state", dependencies=[needs("own", MAX_STATE_BYTES)])
async def restore(saved: http_bodies.SavedState, session: Here) -> http_bodies.Revision:
    """Show a saved state."""
    return http_bodies.Revision(await loading.restore(session, saved))


@router.post("/api/shutdown", dependencies=OWN, status_code=204)
async def shutdown(session: Here) -> None:
    """Stop the viewer."""
    session.shut_down("The owner stopped the viewer.", remedy="Start it again.")
