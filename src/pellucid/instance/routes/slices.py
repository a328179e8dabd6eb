"""Slices over HTTP.

Here: the grey window of a slice.
Not here: their images, which go to pages (scene.slice_views); their options, which are changes of the scene.
"""

import asyncio

from fastapi import APIRouter

from pellucid.instance.access.route_rules import needs
from pellucid.instance.protocol import slice_bodies
from pellucid.instance.routes.dependencies import REFUSALS, Here
from pellucid.instance.routes.scene import layer_of
from pellucid.instance.scene.slice_plans import AXES
from pellucid.workers.protocol import replies, requests

router = APIRouter(prefix="/api", tags=["slices"], responses=REFUSALS)


@router.post("/slices/window", dependencies=[needs("control", is_heavy=True)])
async def slice_window(requested: slice_bodies.SliceWindowRequest, session: Here) -> slice_bodies.SliceWindow:
    """The grey window that leaves so many per cent of a slice's voxels black and white."""
    source, time = layer_of(session, requested.layer).source, session.history.scene.time
    axis = AXES.index(requested.axis)
    question = lambda request: requests.MeasureSlice(  # noqa: E731
        request, source, axis, requested.index, requested.percents, time
    )
    found: replies.SliceMeasured = await asyncio.wrap_future(session.worker.send_request("measuring", question))
    return slice_bodies.SliceWindow(found.low, found.high)
