"""Scans and their reconstruction over HTTP.

Here: describing a scan, trying settings, making the volume, saying how to repeat it.
Not here: what is done (trials, reconstruction), how far it is (work: tasks).
"""

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response

from pellucid.instance import reconstruction
from pellucid.instance.protocol import http
from pellucid.instance.protocol import reconstruction as protocol
from pellucid.instance.route_rules import needs
from pellucid.instance.routes.access import REFUSALS, Here
from pellucid.tomo.reading.suggestion import Suggestion

router = APIRouter(prefix="/api", tags=["reconstruction"], responses=REFUSALS, dependencies=[needs("own")])


@router.post("/scans/describe")
async def describe(asked: protocol.ScanChoice, session: Here) -> protocol.ScanDescription:
    """What a scan is; a refusal says what is missing in it."""
    session.idle.touch()
    return await session.trials.describe(asked)


@router.get("/scans/parts")
async def suggest_parts(path: str, session: Here) -> Suggestion:
    """Which datasets of an HDF5 file might be projections, flats, darks and angles."""
    return await session.trials.parts(path)


@router.post("/scans/axis")
async def find_axis(asked: protocol.AxisRequest, session: Here) -> protocol.FoundAxis:
    """Look for the axis."""
    session.idle.touch()
    return await session.trials.axis(asked)


@router.post("/scans/try", response_class=Response, responses={200: {"content": {"application/octet-stream": {}}}})
async def try_settings(asked: protocol.TrialRequest, session: Here) -> Response:
    """A picture, packed as those of the WebSocket are, with TrialHeader before it."""
    session.idle.touch()
    made = await session.trials.picture(asked)
    return Response(made.to_bytes(), media_type="application/octet-stream")


@router.post("/reconstructions/command")
async def command(asked: protocol.ReconstructionRequest, session: Here) -> protocol.ReconstructionCommand:
    """The line that makes the same volume in a terminal."""
    return protocol.ReconstructionCommand(reconstruction.command_text(session, asked))


@router.post("/reconstructions")
async def reconstruct(asked: protocol.ReconstructionRequest, session: Here) -> http.TaskStarted:
    """Make the volume."""
    return http.TaskStarted(reconstruction.start(session, asked))


@router.get("/reconstructions/{task}/log", response_class=PlainTextResponse)
async def log(task: str, session: Here) -> str:
    """What the process that makes the volume has written."""
    return reconstruction.log_of(session, task)
