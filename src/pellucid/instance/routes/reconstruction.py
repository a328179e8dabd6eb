"""Scans and their reconstruction over HTTP.

Here: describing a scan, trying settings, making the volume, saying how to repeat it.
Not here: what is done (previews, reconstruction), how far it is (work: tasks).
"""

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response

from pellucid.instance.access.route_rules import needs
from pellucid.instance.protocol import http_bodies
from pellucid.instance.protocol import reconstruction as protocol
from pellucid.instance.reconstruction import runs
from pellucid.instance.routes.dependencies import REFUSALS, Here
from pellucid.tomo.scan_files.dataset_guess import Suggestion

router = APIRouter(prefix="/api", tags=["reconstruction"], responses=REFUSALS, dependencies=[needs("own")])


@router.post("/scans/describe")
async def describe(request: protocol.ScanRequest, session: Here) -> protocol.ScanDescription:
    """Describe a scan; an error says what it lacks."""
    session.idle.touch()
    return await session.previews.describe(request)


@router.get("/scans/datasets")
async def suggest_parts(path: str, session: Here) -> Suggestion:
    """Suggest which datasets of an HDF5 file are projections, flats, darks and angles."""
    return await session.previews.parts(path)


@router.post("/scans/axis")
async def find_axis(request: protocol.AxisRequest, session: Here) -> protocol.AxisResult:
    """Find the rotation axis."""
    session.idle.touch()
    return await session.previews.axis(request)


@router.post("/scans/preview", response_class=Response, responses={200: {"content": {"application/octet-stream": {}}}})
async def try_settings(request: protocol.PreviewRequest, session: Here) -> Response:
    """Preview settings: an image, packed like those of the WebSocket, with a PreviewHeader."""
    session.idle.touch()
    made = await session.previews.image(request)
    return Response(made.to_bytes(), media_type="application/octet-stream")


@router.post("/reconstructions/command")
async def command(request: protocol.ReconstructionRequest, session: Here) -> protocol.ReconstructionCommand:
    """The command line that makes the same volume."""
    return protocol.ReconstructionCommand(runs.command_text(session, request))


@router.post("/reconstructions")
async def reconstruct(request: protocol.ReconstructionRequest, session: Here) -> http_bodies.TaskStarted:
    """Reconstruct the volume."""
    return http_bodies.TaskStarted(runs.start(session, request))


@router.get("/reconstructions/{task}/log", response_class=PlainTextResponse)
async def log(task: str, session: Here) -> str:
    """The log of a reconstruction."""
    return runs.log_of(session, task)
