"""Handlers for the messages of a page.

Here: handle_message: which client may send what, and what it does.
Not here: the WebSocket (connection), the parts that do it (session and its parts).
"""

import asyncio
from collections.abc import Callable
from contextlib import nullcontext

from pellucid.errors import InvalidInput, PellucidError
from pellucid.instance.access.capabilities import require
from pellucid.instance.access.redaction import refuse
from pellucid.instance.access.scene_checks import check_change, check_step_back
from pellucid.instance.protocol import client_messages
from pellucid.instance.protocol.server_messages import CameraMoved, ProbeResult
from pellucid.instance.protocol.shared_types import Hit
from pellucid.instance.scene import loading
from pellucid.instance.scene.history import ScenePair
from pellucid.instance.scene.slice_plans import CrossHairPlace
from pellucid.instance.session import Session
from pellucid.instance.websocket.client import ConnectedClient
from pellucid.workers.protocol import replies, requests

INPUT = (
    client_messages.SetCamera,
    client_messages.Patch,
    client_messages.Undo,
    client_messages.Redo,
    client_messages.Compare,
    client_messages.Arrange,
    client_messages.Slices,
    client_messages.KeepAlive,
    client_messages.SaveDraft,
)
"""Messages that count as use. Acknowledging frames does not, nor does a resting pointer."""


def handle_message(session: Session, member: ConnectedClient, message: client_messages.Incoming) -> None:
    """Do what a page says; a refusal is raised."""
    require(member.client.capability, client_messages.NEEDED[type(message)])
    if isinstance(message, client_messages.NEEDS_CONTROLS) and session.controls.require(member.id):
        session.controls_changed()
    if isinstance(message, INPUT) and session.idle.touch():
        session.broadcast(session.idle.message())
    match message:
        case client_messages.SetCamera():
            _look(session, member, message)
        case client_messages.Patch():
            _patch(session, member, message)
        case client_messages.Acknowledge():
            _acknowledge(session, member, message)
        case client_messages.Probe():
            probe(session, member, message)
        case client_messages.ProbeSlice():
            probe(session, member, message)
        case client_messages.Slices(voxel, layer):
            session.slicing.set(None if voxel is None else _cut(session, CrossHairPlace(voxel, layer)), member.id)
            session.broadcast(session.slicing.message(), but=member.id)
        case client_messages.ShowSlices(views):
            session.slicing.show(member, views)
        case client_messages.AcknowledgeSlice(axis, number, view):
            session.slicing.painted(member.id, (view, axis), number)
        case _:
            _rest(session, member, message)


def _rest(session: Session, member: ConnectedClient, message: client_messages.Incoming) -> None:
    match message:
        case client_messages.Resize(width, height):
            session.resize(member, (width, height))
        case client_messages.RequestKeyFrame():
            member.frames.needs_key = True
        case client_messages.Undo(request) | client_messages.Redo(request):
            is_undo, history = isinstance(message, client_messages.Undo), session.history
            check_step_back(history.previous if is_undo else history.next, member)
            history.undo() if is_undo else history.redo()
            session.scene_changed(member.id, request)
        case client_messages.Compare(is_on, request):
            scene = session.history.scene
            session.delivery.forget()
            session.change(ScenePair(scene, scene if is_on else None), member.id, request)
            session.fitter.adapt()  # Each of the two images has half the width.
        case client_messages.Arrange(arrangement):
            session.arrange(arrangement, member.id)
        case client_messages.RequestControls():
            session.controls.request(member.id)
            session.controls_changed()
        case client_messages.HandOverControls(client):
            session.controls.hand_over(member.id, client)
            session.controls_changed()
        case client_messages.KeepAlive():
            session.broadcast(session.idle.message())
        case client_messages.CancelTask(task):
            session.tasks.cancel(task, member.requester)
        case client_messages.SaveDraft(scan, options, is_open):
            session.drafts.set(scan, options, is_open=is_open)
            if not is_open:
                session.previews.cancel_client(member.id)
        case client_messages.Hello() | client_messages.Prove():
            raise InvalidInput("hello was already sent on this connection.", remedy="Reload the page.")


def _look(session: Session, member: ConnectedClient, message: client_messages.SetCamera) -> None:
    session.history.set_camera(message.camera)
    session.picturing.request_frame(message.is_moving, message.sent_at_ms)
    session.broadcast(CameraMoved(message.camera, member.id), but=member.id)


def _patch(session: Session, member: ConnectedClient, message: client_messages.Patch) -> None:
    session.history.require(message.revision)
    pair = session.history.patched(message.changes, message.view)
    check_change(session, pair, member.client.capability)
    if loading.has_new(session, pair):
        member.opening = asyncio.get_running_loop().create_task(_patch_later(session, member, message, pair))
        return
    loading.check_known(session, pair)
    names = ".".join(str(step) for change in message.changes for step in change.path)
    session.change(pair, member.id, message.request, f"{member.id}/{names}", message.is_moving)


async def _patch_later(
    session: Session, member: ConnectedClient, message: client_messages.Patch, pair: ScenePair
) -> None:
    """A patch that names something new, once it is described: the scene stays as it is where that fails."""
    try:
        await loading.describe_new(session, pair)
        _patch(session, member, message)
    except PellucidError as error:
        refuse(session, member, error, message.request)


def _acknowledge(session: Session, member: ConnectedClient, message: client_messages.Acknowledge) -> None:
    wire_ms = member.frames.acknowledge(message)
    if wire_ms is not None:
        session.timing.add("wire", wire_ms)
        session.timing.add("decode", message.decode_ms)
        session.timing.add("paint", message.paint_ms)
    session.picturing.start_next()


def _cut(session: Session, cut: CrossHairPlace) -> CrossHairPlace:
    volumes = session.history.scene.volumes
    if cut.layer >= len(volumes):
        raise InvalidInput(f"The scene has no layer {cut.layer}.", remedy=f"Use a number below {len(volumes)}.")
    facts = session.catalogue.facts(volumes[cut.layer].source)
    if facts is not None and not all(0 <= a < b for a, b in zip(cut.voxel, facts.shape, strict=True)):
        raise InvalidInput(
            f"Voxel {cut.voxel} (z, y, x) is outside the volume.", remedy=f"Use a voxel within the shape {facts.shape}."
        )
    return cut


Probed = client_messages.Probe | client_messages.ProbeSlice


def probe(session: Session, member: ConnectedClient, message: Probed) -> None:
    """Ask the Worker; while it has not answered, only the latest question waits."""
    if member.probe is not None:
        member.next_probe = message
        return
    member.probe = asyncio.get_running_loop().create_task(_answer(session, member, message))


def _question(session: Session, message: Probed) -> Callable[[int], requests.Request] | None:
    """What the Worker is asked; None where no such slice is shown."""
    if isinstance(message, client_messages.Probe):
        view = 0 if message.view == "main" else 1
        return lambda request: requests.ProbePixel(request, view, message.x, message.y)
    place, scene = session.slicing.place(message.axis), session.history.scene
    if place is None:
        return None
    return lambda request: requests.ProbePosition(request, scene, place.at(message.x, message.y))


async def _answer(session: Session, member: ConnectedClient, message: Probed) -> None:
    try:
        if (command := _question(session, message)) is None:
            member.outbox.put(ProbeResult(message.request, None))
            return
        async with nullcontext() if member.requester.is_owner else session.guest_turn:
            found: replies.PixelProbed = await asyncio.wrap_future(
                session.worker.send_request("probing the image", command)
            )
        hit = None
        if found.position is not None:
            hit = Hit(found.position, found.layer, found.voxel, found.value, found.label, found.label_layer)
        member.outbox.put(ProbeResult(message.request, hit))
    except PellucidError as error:
        refuse(session, member, error, message.request)
    finally:
        member.probe = None
        if (waiting := member.next_probe) is not None:
            member.next_probe = None
            probe(session, member, waiting)
