"""The scene over HTTP: reading it, changing it, images of it.

Here: about, scene, camera, screenshot, statistics, presets, probe, profile.
Not here: saved states and links (sharing), files and arrays (sources).
"""

import asyncio
import os
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Query, Response

from pellucid.errors import InvalidInput
from pellucid.instance.access.capabilities import allows
from pellucid.instance.access.guest_limits import check_screenshot
from pellucid.instance.access.route_rules import needs
from pellucid.instance.access.scene_checks import check_change
from pellucid.instance.frames.encoders import encode_png
from pellucid.instance.protocol import http_bodies, view_bodies
from pellucid.instance.protocol.client_messages import SetCamera
from pellucid.instance.protocol.server_messages import CameraMoved
from pellucid.instance.protocol.shared_types import MAX_EDGE, VERSION, Hit
from pellucid.instance.routes.dependencies import REFUSALS, By, Granted, Has, Here
from pellucid.instance.scene import loading
from pellucid.instance.scene.catalogue import choices
from pellucid.instance.scene.history import ScenePair
from pellucid.instance.version import PRODUCT
from pellucid.rendering.first_view.preset_look import preset_look
from pellucid.rendering.presets.files import read_preset, to_paraview
from pellucid.rendering.scene import VolumeLayer
from pellucid.workers.protocol import replies, requests

router = APIRouter(prefix="/api", tags=["scene"], responses=REFUSALS)
MAX_PRESET_BYTES = 2 * 2**20
"""Its text has up to 1 MiB, and more as a JSON string."""
VIEW, CONTROL, HEAVY = [needs("view")], [needs("control")], [needs("control", is_heavy=True)]


@router.get("/about", dependencies=VIEW)
async def about(session: Here, has: Has, grant: Granted) -> http_bodies.About:
    """Versions, the capability of this token, and where arrays can be sent."""
    token = session.access.transfer_token(grant)
    places = (session.socket, session.transfer, token) if allows(has, "own") else ("", "", "")
    return http_bodies.About(VERSION, PRODUCT, has, session.relay.device, os.getpid(), *places)


@router.get("/scene", dependencies=VIEW)
async def scene(session: Here, has: Has) -> http_bodies.SceneSnapshot:
    """The scene as it is shown now, its layers, and the available choices."""
    state, layers = session.state_for(has), session.catalogue.messages(session.history)[0]
    return http_bodies.SceneSnapshot(
        VERSION, state.revision, state.scene, state.other, layers.layers, layers.points, layers.meshes,
        session.relay.device, choices(),
    )  # fmt: skip


@router.patch("/scene", dependencies=CONTROL)
async def change_scene(change: http_bodies.SceneChange, session: Here, has: Has) -> http_bodies.Revision:
    """Change properties of the scene, all of them or none."""
    session.controls.require_free(has)
    if change.revision is not None:
        session.history.require(change.revision)
    pair = check_change(session, session.history.patched(change.changes, change.view), has)
    if loading.has_new(session, pair):
        await loading.describe_new(session, pair)
        if change.revision is not None:  # It may be another meanwhile.
            session.history.require(change.revision)
        pair = check_change(session, session.history.patched(change.changes, change.view), has)
    loading.check_known(session, pair)
    session.idle.touch()
    session.change(pair)
    await session.painting_turns.followed()
    return http_bodies.Revision(session.history.revision)


@router.put("/camera", dependencies=CONTROL)
async def look(change: view_bodies.CameraChange, session: Here, has: Has) -> http_bodies.Revision:
    """Set the camera."""
    session.controls.require_free(has)
    camera = SetCamera(change.camera).camera  # Refuses what is beyond all bounds.
    session.idle.touch()
    session.history.set_camera(camera)
    session.picturing.request_frame(is_moving=False)
    session.broadcast(CameraMoved(camera, ""))
    return http_bodies.Revision(session.history.revision)


@router.post("/camera/fit", dependencies=HEAVY)
async def fit_camera(requested: view_bodies.FitRequest, session: Here) -> view_bodies.FittedCamera:
    """A camera that sees all that transfer functions and clipping leave visible. It is not set."""
    camera = await session.fitter.fit(session.history.scene, requested.aspect, is_from_here=requested.is_from_here)
    session.fitter.camera = camera
    return view_bodies.FittedCamera(camera)


@router.post("/auto", dependencies=HEAVY)
async def restore_first_view(session: Here, has: Has, by: By) -> http_bodies.Revision:
    """Colours, opacities, light and camera as they were at first."""
    session.require_controls(has, by.link)
    session.idle.touch()
    return http_bodies.Revision(await session.fitter.restore())


@router.get(
    "/screenshot",
    dependencies=HEAVY,
    response_class=Response,
    responses={200: {"content": {"image/png": {}, "application/octet-stream": {}}}},
)
async def screenshot(
    session: Here,
    has: Has,
    width: Annotated[int, Query(ge=1, le=MAX_EDGE)] = 1280,
    height: Annotated[int, Query(ge=1, le=MAX_EDGE)] = 720,
    format: Literal["png", "raw"] = "png",
) -> Response:
    """The exact image at any size: a PNG, or its RGBA bytes row by row."""
    check_screenshot(width, height, has)
    shown = session.shadings.drawable(session.history.scene)
    with session.idle.held_off():
        view, is_for_guest = requests.ViewSpec(shown, width, height), not allows(has, "own")
        pixels = await asyncio.wrap_future(session.worker.screenshot(view, is_for_guest=is_for_guest))
    session.shadings.were_drawn([shown])
    if format == "raw":
        return Response(pixels.tobytes(), media_type="application/octet-stream")
    encoded = await asyncio.to_thread(encode_png, pixels, has_opacity=True)
    return Response(encoded, media_type="image/png")


@router.get("/statistics", dependencies=VIEW)
async def statistics(session: Here) -> http_bodies.StatisticsNow:
    """The number of frames, and the time of each stage."""
    timing = session.timing
    return http_bodies.StatisticsNow(
        timing.frames, timing.frames_per_second, timing.dropped, len(session.members), session.worker.restarts,
        session.idle.idle_s, timing.summary(),
    )  # fmt: skip


@router.put("/presets", dependencies=CONTROL)
async def use_preset(requested: view_bodies.PresetRequest, session: Here, has: Has, by: By) -> http_bodies.Revision:
    """Draw a volume in the colours, opacities and shading of a preset, or in the colours of a colour map."""
    session.require_controls(has, by.link)
    layer, scene = layer_of(session, requested.layer), session.history.scene
    look = preset_look(layer, session.catalogue.first_layer(layer.source) or layer, requested.name)
    volumes = (*scene.volumes[: requested.layer], look, *scene.volumes[requested.layer + 1 :])
    session.idle.touch()
    session.change(ScenePair(replace(scene, volumes=volumes), session.history.other))
    return http_bodies.Revision(session.history.revision)


@router.post("/presets/parse", dependencies=[needs("control", MAX_PRESET_BYTES, is_heavy=True)])
async def read_a_preset(preset: http_bodies.PresetText) -> http_bodies.PresetTransfer:
    """Read a preset of ParaView, VTK or 3D Slicer as a transfer function."""
    return http_bodies.PresetTransfer(await asyncio.to_thread(read_preset, preset.text))


@router.get("/presets/paraview", dependencies=CONTROL, response_class=Response)
async def write_preset(session: Here, layer: Annotated[int, Query(ge=0)] = 0) -> Response:
    """The transfer function of a layer as ParaView's JSON."""
    chosen = layer_of(session, layer)
    name = session.catalogue.name(chosen.source)
    return Response(to_paraview(chosen.transfer, name), media_type="application/json")


@router.post("/probe", dependencies=HEAVY)
async def probe(requested: view_bodies.PositionRequest, session: Here) -> Hit:
    """What is at a position of the world."""
    scene = session.history.scene
    question = lambda request: requests.ProbePosition(request, scene, requested.position)  # noqa: E731
    found: replies.PixelProbed = await asyncio.wrap_future(session.worker.send_request("probing the scene", question))
    return Hit(requested.position, found.layer, found.voxel, found.value, found.label, found.label_layer)


@router.post("/profile", dependencies=HEAVY)
async def profile(requested: http_bodies.ProfileRequest, session: Here) -> http_bodies.ProfileValues:
    """Values along a line."""
    layer = layer_of(session, requested.layer)
    length = float(np.linalg.norm(np.subtract(requested.stop, requested.start)))
    time = session.history.scene.time
    line = requested.start, requested.stop, requested.count
    question = lambda request: requests.SampleLine(request, layer, *line, time)  # noqa: E731
    reply: replies.LineSampled = await asyncio.wrap_future(session.worker.send_request("measuring", question))
    return http_bodies.ProfileValues(reply.values, length)


def layer_of(session: Here, number: int) -> VolumeLayer:
    volumes = session.history.scene.volumes
    if number >= len(volumes):
        raise InvalidInput(f"The scene has no layer {number}.", remedy=f"Use a number below {len(volumes)}.")
    return volumes[number]
