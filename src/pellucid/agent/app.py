"""The HTTP routes of the agent.

Here: the application: starting, listing, ending, logs, estimates, metrics.
Not here: who may ask (instance.access.auth, instance.access.sessions), ways to viewers (proxy), what happens
(supervisor).
"""

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.responses import PlainTextResponse, Response

from pellucid.agent import metrics, static_page
from pellucid.agent.change_events import ChangeNotifier
from pellucid.agent.files import routes
from pellucid.agent.jobs.batches import BatchRequest, cancel_batch, start_batch
from pellucid.agent.jobs.estimate import estimate, gpus_per_node, refuse_impossible, volume_bytes
from pellucid.agent.jobs.records import JobRecord, record_json
from pellucid.agent.jobs.requests import TaskRequest, ViewerRequest
from pellucid.agent.jobs.supervisor import JobSupervisor
from pellucid.agent.jobs.trainings import TaskTraining
from pellucid.errors import (
    DiskFull,
    InvalidInput,
    NotAllowed,
    NotFound,
    PellucidError,
    SchedulerUnreachable,
)
from pellucid.instance.access.auth import TokenMiddleware
from pellucid.instance.access.route_rules import RouteMiddleware, RouteTable, needs
from pellucid.instance.access.sessions import Access, make_code
from pellucid.instance.http_server import ConnectionMiddleware
from pellucid.instance.routes import sessions
from pellucid.instance.routes.error_handlers import add_error_handlers
from pellucid.instance.version import PRODUCT
from pellucid.transport.connections import ConnectionRegistry
from pellucid.transport.pinning import certificate_pin

VERSION = 1
"""Of these routes."""
MAX_WAIT_S = 60.0
SAME_VERSION = "Use the same version of Pellucid for the agent and the program."
STATUSES: dict[type[PellucidError], int] = {NotAllowed: 403, NotFound: 404, DiskFull: 507, SchedulerUnreachable: 503}


def create_app(
    supervisor: JobSupervisor,
    access: Access,
    changes: ChangeNotifier,
    run: str = "",
    connections: ConnectionRegistry | None = None,
) -> FastAPI:
    """Behind the guard: who may come in is the user whom the agent serves. run: of the agent, for codes of viewers."""
    app = FastAPI(
        title="Pellucid agent", version=PRODUCT, docs_url=None, redoc_url=None, openapi_url=None,
        dependencies=[needs("own")],
    )  # fmt: skip
    add_error_handlers(app, STATUSES, SAME_VERSION)
    sessions.add(app, access)
    _add_starting(app, supervisor)
    _add_opening(app, supervisor, run)
    _add_watching(app, supervisor, changes)
    routes.add(app, supervisor.site)
    static_page.add(app)
    app.add_middleware(RouteMiddleware, table=RouteTable(app.routes))
    app.add_middleware(ConnectionMiddleware, connections=connections or ConnectionRegistry())
    app.add_middleware(TokenMiddleware, access=access)
    return app


def _add_starting(app: FastAPI, supervisor: JobSupervisor) -> None:
    @app.post("/api/instances")
    async def start_viewer(request: ViewerRequest) -> dict[str, Any]:
        return entry(supervisor, await asyncio.to_thread(supervisor.start, request))

    @app.post("/api/tasks")
    async def start_task(request: TaskRequest) -> dict[str, Any]:
        return entry(supervisor, await asyncio.to_thread(supervisor.start, request))

    @app.post("/api/batches")
    async def start_many(request: BatchRequest) -> list[dict[str, Any]]:
        return [entry(supervisor, record) for record in await asyncio.to_thread(start_batch, supervisor, request)]

    @app.delete("/api/batches/{batch}")
    async def cancel_many(batch: str) -> list[dict[str, Any]]:
        return [entry(supervisor, record) for record in await asyncio.to_thread(cancel_batch, supervisor, batch)]

    @app.delete("/api/jobs/{id}")
    async def cancel(id: str) -> dict[str, Any]:
        await asyncio.to_thread(supervisor.cancel, id)
        return entry(supervisor, supervisor.get(id))

    @app.get("/api/estimate")
    async def estimated(shape: Annotated[list[int], Query()], dtype: str = "float32") -> dict[str, int]:
        wanted = estimate(volume_bytes(shape, dtype), supervisor.site)
        refuse_impossible(wanted, supervisor.site)
        return {"gpus": wanted.gpus, "memory_bytes": wanted.memory_bytes}


def _add_watching(app: FastAPI, supervisor: JobSupervisor, changes: ChangeNotifier) -> None:
    @app.get("/api/about")
    async def about(request: Request) -> dict[str, Any]:
        """hub: the address of the Hub that the request came through, if it did."""
        site = supervisor.site
        chosen = {
            name: getattr(site, name) for name in ("scheduler", "partition", "time_limit_minutes", "may_override")
        }
        return chosen | {
            "version": VERSION,
            "product": PRODUCT,
            "can_share": bool(site.share),
            "node": asdict(site.node) | {"gpus": gpus_per_node(site) or 0},
            "hub": request.scope.get("hub", ""),
        }

    @app.get("/api/jobs")
    async def jobs() -> list[dict[str, Any]]:
        # On a thread: it reads files, on whatever disk they are, and the proxy must not wait for that.
        return await asyncio.to_thread(lambda: [entry(supervisor, record) for record in supervisor.records])

    @app.get("/api/jobs/{id}")
    async def job(id: str, not_phase: str = "", wait_s: float = 0.0) -> dict[str, Any]:
        """With ``not_phase``, the answer waits until it is in another phase than that, or until wait_s are over."""
        await changes.wait_until_changed(lambda: supervisor.get(id).state.phase != not_phase, min(wait_s, MAX_WAIT_S))
        return await asyncio.to_thread(entry, supervisor, supervisor.get(id))

    @app.get("/api/jobs/{id}/log", response_class=PlainTextResponse)
    async def log(id: str) -> str:
        return "\n".join(await asyncio.to_thread(supervisor.outputs.log_lines, supervisor.get(id))) + "\n"

    @app.get("/api/jobs/{id}/training")
    async def training(id: str) -> dict[str, Any]:
        return await asyncio.to_thread(_training(supervisor, id).progress)

    @app.get("/api/jobs/{id}/training/{name}", response_class=Response)
    async def training_image(id: str, name: str) -> Response:
        return Response(await asyncio.to_thread(_training(supervisor, id).image, name), media_type="image/png")

    @app.post("/api/jobs/{id}/training/stop")
    async def stop_training(id: str) -> dict[str, Any]:
        """The network is kept as it is then."""
        await asyncio.to_thread(_training(supervisor, id).stop)
        return entry(supervisor, supervisor.get(id))

    @app.get("/metrics", response_class=PlainTextResponse)
    async def measured() -> str:
        return metrics.text(supervisor)


def _training(supervisor: JobSupervisor, id: str) -> TaskTraining:
    record = supervisor.get(id)
    found = supervisor.outputs.training(record)
    if found is None:
        raise NotFound(f"A training of {record.name}")
    return found


def _add_opening(app: FastAPI, supervisor: JobSupervisor, run: str) -> None:
    @app.post("/api/jobs/{id}/open")
    async def open_viewer(id: str) -> dict[str, str]:
        """Links to a viewer that work once. path: below the agent's address. direct: of a viewer on another machine,
        its own address, with the hash of the only certificate to be trusted; else ""."""
        address = await asyncio.to_thread(supervisor.address, id)
        if address is None:
            record = supervisor.get(id)
            raise InvalidInput(f"{record.name} is {record.state.phase}.", remedy="Open a running viewer.")
        direct = ""
        if address.certificate:
            pin = certificate_pin(address.certificate)
            direct = f"https://{address.host}:{address.port}/#code={make_code(address.token)}&pin={pin}"
        return {"path": f"i/{id}/#code={make_code(address.token, run)}", "direct": direct}


def entry(supervisor: JobSupervisor, record: JobRecord) -> dict[str, Any]:
    """A record as JSON, with its addresses.

    path: below the agent's own address; "" where there is no way yet. port: of a viewer on this machine, else 0.
    saved: of a viewer whose time ran out, its last scene. is_training: of a task that trains a network.
    """
    reported_to = record_json(record)
    del reported_to["handle"]
    address = supervisor.address(record.id) if record.kind == "viewer" else None
    progress = supervisor.outputs.progress(record) if record.kind == "task" else None
    path = f"i/{record.id}/" if address is not None else ""
    port = address.port if address is not None and address.socket else 0
    saved = supervisor.outputs.saved_state(record) if record.kind == "viewer" else ""
    known = {"path": path, "port": port, "progress": None if progress is None else asdict(progress), "saved": saved}
    known["is_training"] = supervisor.outputs.training(record) is not None
    return reported_to | known
