"""Denoising a scan over HTTP.

Here: starting it, watching its training, ending that.
Not here: what is done (instance.reconstruction.denoising), stopping it and its log, as of every reconstruction.
"""

import asyncio

from fastapi import APIRouter
from fastapi.responses import Response

from pellucid.instance.access.route_rules import needs
from pellucid.instance.protocol.denoising_bodies import DenoisedSide, DenoisingRequest, DenoisingStatus
from pellucid.instance.protocol.http_bodies import TaskStarted
from pellucid.instance.routes.dependencies import REFUSALS, Here

router = APIRouter(prefix="/api/denoisings", tags=["denoising"], responses=REFUSALS, dependencies=[needs("own")])


@router.post("")
async def denoise(request: DenoisingRequest, session: Here) -> TaskStarted:
    """Reconstruct a scan, train a network on it, and write the volume without noise."""
    return TaskStarted(session.denoisings.start(request))


@router.get("")
async def status(scan: str, session: Here) -> DenoisingStatus | None:
    """How far the last denoising of a scan is; null where there is none."""
    return await asyncio.to_thread(session.denoisings.status, scan)


@router.post("/{task}/keep", status_code=204)
async def keep(task: str, session: Here) -> None:
    """End the training now, and apply the network as it is."""
    session.denoisings.keep(task)


@router.get("/{task}/images/{side}", response_class=Response, responses={200: {"content": {"image/png": {}}}})
async def image(task: str, side: DenoisedSide, session: Here) -> Response:
    """A held-out slice, before or after the network as it is now."""
    return Response(await asyncio.to_thread(session.denoisings.image, task, side), media_type="image/png")
