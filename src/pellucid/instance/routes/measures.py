"""Measures over HTTP.

Here: the list of all measures with the values in their regions, as JSON and CSV; the values in one region.
Not here: adding, naming and removing measures, which are changes of the scene; values along a line (scene).
"""

import asyncio
import json
from dataclasses import asdict
from typing import Literal

from fastapi import APIRouter
from fastapi.responses import Response

from pellucid.errors import InvalidInput
from pellucid.instance.access.capabilities import allows
from pellucid.instance.access.guest_limits import MAX_GUEST_REGION_VOXELS
from pellucid.instance.access.route_rules import needs
from pellucid.instance.protocol.measuring import RegionRequest
from pellucid.instance.protocol.shared_types import Capability
from pellucid.instance.routes.dependencies import REFUSALS, Has, Here
from pellucid.instance.routes.scene import layer_of
from pellucid.rendering.measures import Measure, MeasureList, MeasureRow, RegionValues, size_of, to_csv
from pellucid.workers.protocol import replies, requests

router = APIRouter(prefix="/api", tags=["measures"], responses=REFUSALS)
HEAVY = [needs("control", is_heavy=True)]


@router.post("/regions", dependencies=HEAVY)
async def region(requested: RegionRequest, session: Here, has: Has) -> RegionValues:
    """Mean, standard deviation, ends and histogram of the voxels in a box or a sphere, at full resolution."""
    measure = Measure(requested.kind, requested.points, layer=requested.layer)
    layer_of(session, requested.layer)
    return await _region_values(session, measure, has)


@router.get("/measures", dependencies=HEAVY, response_class=Response)
async def measures(session: Here, has: Has, format: Literal["json", "csv"] = "json") -> Response:
    """Every measure of the scene: a MeasureList, or a CSV file."""
    rows = [await _row(session, measure, has) for measure in session.history.scene.measures]
    found = MeasureList(session.catalogue.world_unit(session.history.scene), tuple(rows))
    text = to_csv(found) if format == "csv" else json.dumps(asdict(found))
    return Response(text, media_type="text/csv" if format == "csv" else "application/json")


async def _row(session: Here, measure: Measure, has: Capability) -> MeasureRow:
    is_region = measure.kind in ("box", "sphere") and measure.layer < len(session.history.scene.volumes)
    try:
        values = await _region_values(session, measure, has) if is_region else None
    except InvalidInput:  # Too large for a guest: its size is known all the same.
        values = None
    return MeasureRow(measure, size_of(measure), values)


async def _region_values(session: Here, measure: Measure, has: Capability) -> RegionValues:
    layer, time = layer_of(session, measure.layer), session.history.scene.time
    max_voxels = None if allows(has, "own") else MAX_GUEST_REGION_VOXELS
    kind: Literal["box", "sphere"] = "box" if measure.kind == "box" else "sphere"
    first, second = measure.points
    future = session.worker.send_request(
        "measuring a region",
        lambda request: requests.MeasureRegion(request, layer, kind, (first, second), time, max_voxels),
    )
    try:
        with session.idle.held_off():
            reply: replies.RegionMeasured = await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        session.worker.cancel(future)
        raise
    return reply.values
