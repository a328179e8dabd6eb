"""Labels over HTTP.

Here: the table of the labels of a layer, as JSON and CSV; painting, undo, saving.
Not here: counting (scene.label_tables, workers); colours, names and visibility, which are changes of the scene.
"""

import asyncio
import json
from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from pellucid.errors import InvalidInput
from pellucid.instance.access.route_rules import needs
from pellucid.instance.protocol import http_bodies
from pellucid.instance.protocol.measuring import PaintRequest, SavedLabels, SaveLabelsRequest
from pellucid.instance.routes.dependencies import REFUSALS, By, Has, Here, while_connected
from pellucid.instance.routes.scene import layer_of
from pellucid.instance.scene import painting
from pellucid.rendering.label_list import label_list, to_csv

router = APIRouter(prefix="/api", tags=["labels"], responses=REFUSALS)


@router.get("/labels", dependencies=[needs("control", is_heavy=True)], response_class=Response)
async def labels(
    session: Here, layer: Annotated[int, Query(ge=0)] = 0, format: Literal["json", "csv"] = "json"
) -> Response:
    """Voxels, volume, centre and box of every label of a layer: a LabelList, or a CSV file."""
    chosen = layer_of(session, layer)
    if chosen.labels is None:
        raise InvalidInput(f"Layer {layer} has no labels.", remedy="Choose a layer that was opened as labels.")
    facts = session.catalogue.facts(chosen.source)
    if facts is None:
        raise InvalidInput(f"Layer {layer} is being loaded.", remedy="Try again in a moment.")
    with session.idle.held_off():
        table = await session.label_tables.table(chosen.source, session.history.scene.time)
    unit = session.catalogue.unit(chosen) or session.catalogue.world_unit(session.history.scene)
    text = await asyncio.to_thread(_text, format, layer, chosen, table, facts.spacing, unit)
    return Response(text, media_type="text/csv" if format == "csv" else "application/json")


@router.post("/paint", dependencies=[needs("control", is_heavy=True)])
async def paint(request: PaintRequest, session: Here, has: Has, by: By, connection: Request) -> http_bodies.Revision:
    """Give a label to the voxels that a brush touches. The file that they were opened from stays as it is."""
    session.require_controls(has, by.link)
    session.idle.touch()
    return http_bodies.Revision(await while_connected(connection, painting.paint(session, request, by.link)))


@router.post("/labels/save", dependencies=[needs("own")])
async def save_labels(request: SaveLabelsRequest, session: Here) -> SavedLabels:
    """Write the labels of a layer to a new Zarr or HDF5 file."""
    return SavedLabels(await painting.save(session, request.layer, request.path))


@router.post("/undo", dependencies=[needs("own")])
async def undo(session: Here) -> http_bodies.Revision:
    """Back to the scene before the last change."""
    session.history.undo()
    session.scene_changed()
    await session.painting_turns.followed()
    return http_bodies.Revision(session.history.revision)


@router.post("/redo", dependencies=[needs("own")])
async def redo(session: Here) -> http_bodies.Revision:
    """Forward again, to what was undone."""
    session.history.redo()
    session.scene_changed()
    await session.painting_turns.followed()
    return http_bodies.Revision(session.history.revision)


def _text(format: str, *described: object) -> str:
    found = label_list(*described)  # type: ignore[arg-type]
    return to_csv(found) if format == "csv" else json.dumps(asdict(found))
