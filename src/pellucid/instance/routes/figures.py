"""Figures and movies over HTTP: the view as a file.

Here: an image with its annotations, its size on paper and its scene; movies, and what is needed to edit key frames.
Not here: plain screenshots (scene), how far a movie is (tasks), the files (rendering.figures, rendering.movie).
"""

import asyncio
from dataclasses import replace

from fastapi import APIRouter
from fastapi.responses import Response

from pellucid.instance.access.capabilities import allows, require
from pellucid.instance.access.guest_limits import check_screenshot
from pellucid.instance.access.route_rules import needs
from pellucid.instance.protocol import movie_bodies
from pellucid.instance.protocol.http_bodies import TaskStarted
from pellucid.instance.protocol.view_bodies import FigureRequest
from pellucid.instance.routes.dependencies import REFUSALS, By, Has, Here
from pellucid.instance.tasks import movies
from pellucid.rendering.camera_path import CameraPath
from pellucid.rendering.figures.image_files import encode_figure
from pellucid.workers.protocol import requests

router = APIRouter(prefix="/api", tags=["figures"], responses=REFUSALS)
CONTROL, HEAVY = [needs("control")], [needs("control", is_heavy=True)]
CLEAR = (0.0, 0.0, 0.0, 0.0)
MEDIA = {"png": "image/png", "tiff": "image/tiff"}


@router.post(
    "/figures",
    dependencies=HEAVY,
    response_class=Response,
    responses={200: {"content": {"image/png": {}, "image/tiff": {}}}},
)
async def figure(requested: FigureRequest, session: Here, has: Has) -> Response:
    """The exact image as a PNG or TIFF, with annotations, its size on paper, and the scene to open it again."""
    check_screenshot(requested.width, requested.height, has)
    if requested.has_scene:
        require(has, "own")
    scene = session.history.scene
    if requested.key is not None:
        scene = movies.keyed_scene(session, requested.key, has)
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


@router.post("/movies", dependencies=CONTROL)
async def movie(request: movie_bodies.MovieRequest, session: Here, by: By) -> TaskStarted:
    """Record a movie as MP4: through key frames, or once around."""
    return TaskStarted(movies.start_movie(session, request, by))


@router.post("/movies/moments", dependencies=HEAVY)
async def movie_moments(request: movie_bodies.MomentsRequest, session: Here, has: Has) -> movie_bodies.MovieMoments:
    """What a movie shows, image by image, for a preview: at most 2000 images."""
    movies.check_path(session, request.path, has)
    every = await asyncio.to_thread(movies.moments, request.path, request.frames_per_second)
    return movie_bodies.MovieMoments(every)


@router.post("/movies/path", dependencies=CONTROL)
async def read_movie_path(file: movie_bodies.MoviePathText, session: Here, has: Has) -> movie_bodies.MoviePath:
    """Read a file of key frames, as pellucid render --path does."""
    path = CameraPath.from_json(file.text)
    movies.check_path(session, path, has)
    return movie_bodies.MoviePath(path.keys)
