"""Figures over HTTP: images as files for a paper.

Here: an image with its annotations, its size on paper and its scene.
Not here: plain screenshots (scene), movies (tasks), the files (rendering.figures).
"""

import asyncio
from dataclasses import replace

from fastapi import APIRouter
from fastapi.responses import Response

from pellucid.instance.access.capabilities import allows, require
from pellucid.instance.access.guest_limits import check_screenshot
from pellucid.instance.access.route_rules import needs
from pellucid.instance.protocol.view_bodies import FigureRequest
from pellucid.instance.routes.dependencies import REFUSALS, Has, Here
from pellucid.rendering.figures.image_files import encode_figure
from pellucid.workers.protocol import requests

router = APIRouter(prefix="/api", tags=["figures"], responses=REFUSALS)
CLEAR = (0.0, 0.0, 0.0, 0.0)
MEDIA = {"png": "image/png", "tiff": "image/tiff"}


@router.post(
    "/figures",
    dependencies=[needs("control", is_heavy=True)],
    response_class=Response,
    responses={200: {"content": {"image/png": {}, "image/tiff": {}}}},
)
async def figure(requested: FigureRequest, session: Here, has: Has) -> Response:
    """The exact image as a PNG or TIFF, with annotations, its size on paper, and the scene to open it again."""
    check_screenshot(requested.width, requested.height, has)
    if requested.has_scene:
        require(has, "own")
    scene = session.history.scene
    if requested.is_transparent:
        scene = replace(scene, background=CLEAR)
    if requested.annotations is not None:
        scene = replace(scene, annotations=requested.annotations)
    drawable = session.shadings.drawable(scene)
    with session.idle.held_off():
        view = requests.ViewSpec(drawable, requested.width, requested.height)
        pixels = await asyncio.wrap_future(session.worker.screenshot(view, is_for_guest=not allows(has, "own")))
    session.shadings.were_drawn([drawable])
    kept = scene if requested.has_scene else None
    encoded = await asyncio.to_thread(encode_figure, pixels, requested.format.upper(), requested.dpi, kept)
    return Response(encoded, media_type=MEDIA[requested.format])
