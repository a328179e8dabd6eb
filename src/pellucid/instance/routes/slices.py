"""Slices over HTTP.

Here: the grey window of a slice.
Not here: their images, which go to pages (scene.slice_views); their options, which are changes of the scene.
"""

import asyncio
from collections.abc import Callable

from fastapi import APIRouter

from pellucid.errors import InvalidInput
from pellucid.instance.access.route_rules import needs
from pellucid.instance.protocol import slice_bodies
from pellucid.instance.routes.dependencies import REFUSALS, Here
from pellucid.instance.routes.scene import layer_of
from pellucid.instance.scene.slice_plans import cut_oblique
from pellucid.instance.session import Session
from pellucid.workers.protocol import replies, requests

router = APIRouter(prefix="/api", tags=["slices"], responses=REFUSALS)


@router.post("/slices/window", dependencies=[needs("control", is_heavy=True)])
async def slice_window(requested: slice_bodies.SliceWindowRequest, session: Here) -> slice_bodies.SliceWindow:
    """The grey window that leaves so many per cent of a slice's voxels black and white; of an oblique slice, of the
    values where it is cut."""
    question = _of_oblique(requested, session) if requested.axis == "oblique" else _across_axis(requested, session)
    future = session.worker.send_request("measuring a slice", question)
    try:
        with session.idle.held_off():
            found: replies.SliceMeasured = await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        session.worker.cancel(future)
        raise
    return slice_bodies.SliceWindow(found.low, found.high)


def _across_axis(requested: slice_bodies.SliceWindowRequest, session: Session) -> Callable[[int], requests.Request]:
    source, time = layer_of(session, requested.layer).source, session.history.scene.time
    axis, index = "zyx".index(requested.axis), requested.index
    if index is None:
        what = f"The request does not say which slice across {requested.axis}."
        raise InvalidInput(what, remedy="Add its index.")
    return lambda request: requests.MeasureSlice(request, source, axis, index, requested.percents, time)


def _of_oblique(requested: slice_bodies.SliceWindowRequest, session: Session) -> Callable[[int], requests.Request]:
    scene = session.history.scene
    if not scene.slices:
        raise InvalidInput("The scene has no oblique slice.", remedy="Add one to the scene's slices.")
    cut = cut_oblique(scene.slices[0], session.catalogue)
    if cut is None:
        raise InvalidInput("The volume of the oblique slice is not open yet.", remedy="Wait until it is shown.")
    layer, _, place, _ = cut
    return lambda request: requests.MeasureOblique(request, layer, place, requested.percents, scene.time)
