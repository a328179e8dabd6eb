"""What an instance does with a page's messages.

Here: obey: who may say what, and what happens.
Not here: the WebSocket (connection), the parts that do it (session and its parts).
"""

import asyncio
from contextlib import nullcontext

from pellucid.errors import InvalidInput, PellucidError
from pellucid.instance import loading
from pellucid.instance.capabilities import require
from pellucid.instance.history import Pair
from pellucid.instance.members import Member
from pellucid.instance.naming import check_change
from pellucid.instance.protocol import incoming
from pellucid.instance.protocol.outgoing import Moved, Probed
from pellucid.instance.protocol.parts import Hit
from pellucid.instance.redaction import refuse
from pellucid.instance.session import Session
from pellucid.instance.slicing import Cut
from pellucid.workers import commands

INPUT = (
    incoming.Look,
    incoming.Patch,
    incoming.Undo,
    incoming.Redo,
    incoming.Compare,
    incoming.Slices,
    incoming.Prolong,
    incoming.SetUp,
)
"""What shows that somebody is there. Acknowledging frames does not, nor does a pointer that lies on the picture."""


def obey(session: Session, member: Member, message: incoming.Incoming) -> None:
    """Do what a page says; a refusal is raised."""
    require(member.client.capability, incoming.NEEDED[type(message)])
    if isinstance(message, incoming.NEEDS_CONTROLS) and session.controls.require(member.id):
        session.controls_changed()
    if isinstance(message, INPUT) and session.idle.touch():
        session.tell(session.idle.message())
    match message:
        case incoming.Look():
            _look(session, member, message)
        case incoming.Patch():
            _patch(session, member, message)
        case incoming.Acknowledge():
            _acknowledge(session, member, message)
        case incoming.Probe():
            probe(session, member, message)
        case incoming.Slices(voxel, edge, layer):
            session.slicing.set(None if voxel is None else _cut(session, Cut(voxel, layer, edge)), member.id)
            session.tell(session.slicing.message(), but=member.id)
        case _:
            _rest(session, member, message)


def _rest(session: Session, member: Member, message: incoming.Incoming) -> None:
    match message:
        case incoming.Resize(width, height):
            session.resize(member, (width, height))
        case incoming.KeyFrame():
            member.needs_key = True
        case incoming.Undo(request) | incoming.Redo(request):
            session.history.undo() if isinstance(message, incoming.Undo) else session.history.redo()
            session.scene_changed(member.id, request)
        case incoming.Compare(is_on, request):
            scene = session.history.scene
            session.delivery.forget()
            session.change(Pair(scene, scene if is_on else None), member.id, request)
        case incoming.AskControls():
            session.controls.ask(member.id)
            session.controls_changed()
        case incoming.GiveControls(client):
            session.controls.give(member.id, client)
            session.controls_changed()
        case incoming.Prolong():
            session.tell(session.idle.message())
        case incoming.CancelTask(task):
            session.tasks.cancel(task, member.requester)
        case incoming.SetUp(scan, wish, is_open):
            session.benches.set(scan, wish, is_open=is_open)
            if not is_open:
                session.trials.abandon(member.id)
        case incoming.Hello() | incoming.Prove():
            raise InvalidInput("Hello was said already.", do="Reload the page.")


def _look(session: Session, member: Member, message: incoming.Look) -> None:
    session.history.look(message.camera)
    session.picturing.want(message.is_moving, message.sent_at_ms)
    session.tell(Moved(message.camera, member.id), but=member.id)


def _patch(session: Session, member: Member, message: incoming.Patch) -> None:
    session.history.require(message.revision)
    pair = session.history.patched(message.changes, message.view)
    check_change(session, pair, member.client.capability)
    if loading.has_new(session, pair):
        member.opening = asyncio.get_running_loop().create_task(_patch_later(session, member, message, pair))
        return
    loading.check_known(session, pair)
    names = ".".join(str(step) for change in message.changes for step in change.path)
    session.change(pair, member.id, message.request, f"{member.id}/{names}", message.is_moving)


async def _patch_later(session: Session, member: Member, message: incoming.Patch, pair: Pair) -> None:
    """A patch that names something new, once it is described: the scene stays as it is where that fails."""
    try:
        await loading.describe_new(session, pair)
        _patch(session, member, message)
    except PellucidError as error:
        refuse(session, member, error, message.request)


def _acknowledge(session: Session, member: Member, message: incoming.Acknowledge) -> None:
    wire_ms = member.acknowledge(message)
    if wire_ms is not None:
        session.timing.add("wire", wire_ms)
        session.timing.add("decode", message.decode_ms)
        session.timing.add("paint", message.paint_ms)
    session.picturing.go_on()


def _cut(session: Session, cut: Cut) -> Cut:
    volumes = session.history.scene.volumes
    if cut.layer >= len(volumes):
        raise InvalidInput(f"There is no layer {cut.layer}.", do=f"There are {len(volumes)}.")
    facts = session.catalogue.facts(volumes[cut.layer].source)
    if facts is not None and not all(0 <= a < b for a, b in zip(cut.voxel, facts.shape, strict=True)):
        raise InvalidInput(f"There is no voxel {cut.voxel}.", do=f"The volume has {facts.shape}.")
    return cut


def probe(session: Session, member: Member, message: incoming.Probe) -> None:
    """Ask the Worker; while it has not answered, only the latest question waits."""
    if member.probe is not None:
        member.next_probe = message
        return
    member.probe = asyncio.get_running_loop().create_task(_answer(session, member, message))


async def _answer(session: Session, member: Member, message: incoming.Probe) -> None:
    view = 0 if message.view == "main" else 1
    command = lambda request: commands.Probe(request, view, message.x, message.y)  # noqa: E731
    try:
        async with nullcontext() if member.requester.is_owner else session.guest_turn:
            found: commands.Probed = await asyncio.wrap_future(session.worker.ask("looking under the pointer", command))
        hit = None
        if found.position is not None:
            hit = Hit(found.position, found.layer, found.voxel, found.value, found.label)
        member.outbox.put(Probed(message.request, hit))
    except PellucidError as error:
        refuse(session, member, error, message.request)
    finally:
        member.probe = None
        if (waiting := member.next_probe) is not None:
            member.next_probe = None
            probe(session, member, waiting)
