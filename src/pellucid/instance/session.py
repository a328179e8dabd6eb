"""The session: everything that one running viewer knows, and what happens to it.

Here: Session: who is there, the scene and its revisions; telling everybody.
Not here: messages of a page (dialogue), HTTP (routes), what the Worker reports (worker_events), each part's own work
(its module).

Everything runs on one event loop; threads (of the Worker, of encoders) post to it.
"""

import asyncio
import shutil
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pellucid.instance import edits
from pellucid.instance.arrays import Arrays
from pellucid.instance.benches import Benches
from pellucid.instance.capabilities import RANKS, allows
from pellucid.instance.catalogue import Catalogue, choices
from pellucid.instance.controls import Controls
from pellucid.instance.delivery import Delivery
from pellucid.instance.files import Roots
from pellucid.instance.guest_limits import limited_size
from pellucid.instance.history import History, Pair
from pellucid.instance.idle import GRACE_S, Idleness
from pellucid.instance.members import Member
from pellucid.instance.picturing import Picturing
from pellucid.instance.product import PRODUCT
from pellucid.instance.protocol import outgoing
from pellucid.instance.protocol.parts import Capability, Limits
from pellucid.instance.relay import Ahead
from pellucid.instance.scratch import socket_folder
from pellucid.instance.sessions import Access
from pellucid.instance.shadings import Shadings
from pellucid.instance.slicing import Slicing
from pellucid.instance.tasks import Tasks
from pellucid.instance.timing import Timing
from pellucid.instance.trials import Trials
from pellucid.instance.worker_events import WorkerEvents
from pellucid.rendering.scene import Scene
from pellucid.transport.connections import ConnectionRegistry
from pellucid.workers.process import Deadlines

WITHDRAWN = 4003
"""Why a page's WebSocket is closed: its link was revoked."""


@dataclass(frozen=True)
class Setup:
    """How a viewer is started. roots: what it may open. clock: in seconds, for the grace period and for connections
    that wait. most_bytes: of an array; 0 where only memory decides. root: what keys of the owner's pages are made from,
    where a viewer was killed at this port. ahead: its Worker, where that was started before everything else."""

    device: str | None = None
    roots: tuple[str | Path, ...] = ()
    grace_s: float = GRACE_S
    clock: Callable[[], float] = time.monotonic
    deadlines: Deadlines = field(default_factory=Deadlines)
    root: str = field(default="", repr=False)
    most_bytes: int = 0
    ahead: Ahead | None = None


class Session:
    """Parts are public: the modules around this one work on them."""

    def __init__(self, setup: Setup) -> None:
        self.access, self.roots = Access(root=setup.root), Roots(list(setup.roots))
        ahead = setup.ahead or Ahead.of(setup.device, setup.deadlines)
        self.relay, self.worker = ahead.relay, ahead.worker
        self.history, self.controls, self.members = History(Scene()), Controls(), dict[str, Member]()
        self.shadings, self.catalogue, self.arrays = Shadings(), Catalogue(), Arrays(setup.most_bytes, setup.clock)
        self.idle, self.timing = Idleness(setup.grace_s, clock=setup.clock), Timing()
        self.delivery = Delivery(self.timing, lambda: list(self.members.values()))
        self.picturing = Picturing(self.history, self.worker, self.delivery)
        self.picturing.drawable = self.shadings.drawable
        self.picturing.holder = lambda: self.members.get(self.controls.holder or "")
        self.picturing.is_watched = lambda: bool(self.members)
        self.slicing = Slicing(self.history, self.worker, self.tell)
        self.tasks, self.socket_folder = Tasks(self.idle, self.members.values), socket_folder()
        self.roots.connect(self.worker.folder_limit, self.tasks.folder)
        self.trials, self.benches = Trials(self.worker, self.roots), Benches(self.tasks)
        self.connections, self.guest_turn = ConnectionRegistry(clock=setup.clock), asyncio.Lock()
        self.socket = self.transfer = ""
        self.owner_url: Callable[[], str] = lambda: ""
        self.on_end: Callable[[], None] = lambda: None
        self.take_connection: Callable[[socket.socket], None] | None = None
        self.worker_events = WorkerEvents(self)

    # Beginning and end

    def open(self) -> None:
        """On the event loop, from now on."""
        self.relay.connect(asyncio.get_running_loop(), self.worker_events)
        self.worker.start()
        if self.relay.device:
            self.worker_events.worker_is_ready(self.relay.device)

    def close(self) -> None:
        self.relay.disconnect()
        self.worker.close()
        self.delivery.close()
        self.tasks.close()
        shutil.rmtree(self.socket_folder, ignore_errors=True)

    def end(self, what: str, do: str) -> None:
        """Tell everybody, and end the viewer."""
        self.tell(outgoing.Ended(what, do))
        self.on_end()

    def tick(self) -> None:
        """Called every second: the grace period, and arrays whose senders are gone."""
        self.arrays.expire()
        if self.idle.is_over:
            self.end("The viewer was not used for a while, and has ended.", do="Start it again.")
        elif (warning := self.idle.news()) is not None:
            self.tell(warning)

    # Who is there

    def join(self, member: Member) -> None:
        """Tell a new client everything there is to know."""
        put = member.outbox.put
        capability = member.client.capability
        roots = self.roots.names if allows(capability, "own") else ()
        known = (PRODUCT, self.relay.device, choices(), Limits(), roots, time.time() * 1000)
        put(outgoing.Welcome(member.id, capability, *known, member.token))
        if allows(capability, "own"):
            put(self.benches.message())
        self.members[member.id] = member
        self.controls.join(member.client)
        put(self.state_for(capability))
        for layers in self.catalogue.messages(self.history.pair):
            put(layers)
        put(self.shadings.message(allows(capability, "own")))
        put(self.worker_events.status)
        put(self.idle.message())
        for message in self.slicing.messages():
            put(message)
        self.tell(self.controls.message())
        self.delivery.show_last(member)
        self._fit()

    def leave(self, member: Member) -> None:
        if self.members.pop(member.id, None) is not None:
            self.controls.leave(member.id)
            self.trials.abandon(member.id)
            self.tell(self.controls.message())
            self._fit()

    def revoke(self, link: str, by: str = "") -> None:
        """A share link and those made with it stop working, also for pages that are open. by: the holder's link."""
        gone = self.access.revoke(link, by)
        for member in self.members.values():
            if member.link in gone:
                member.outbox.end(WITHDRAWN)

    def resize(self, member: Member, size: tuple[int, int]) -> None:
        member.size = limited_size(size, member.client.capability)
        self._fit()

    def _fit(self) -> None:
        """Images have the size of who has the controls; without one, of the owner, or else of who came last."""
        holder = self.members.get(self.controls.holder or "")
        latest = max(reversed(self.members.values()), key=lambda one: RANKS[one.client.capability], default=None)
        member = holder or latest
        if member is not None and (member.size != self.picturing.size or not self.timing.frames):
            self.picturing.size = member.size
            self.picturing.want(is_moving=bool(self.timing.frames))
        self.picturing.go_on()  # Of what changed while nobody watched, nothing was drawn.

    def controls_changed(self) -> None:
        self.tell(self.controls.message())
        self._fit()

    # Telling

    def tell(self, told: Any, needs: Capability = "look", but: str = "") -> None:
        """To everybody who may know, but one."""
        for member in self.members.values():
            if member.id != but and allows(member.client.capability, needs):
                member.outbox.put(told)

    def state_for(self, capability: Capability, by: str = "", request: str = "") -> outgoing.State:
        history = self.history
        scene, other = history.scene, history.other
        if not allows(capability, "own"):
            scene, other = edits.shortened(scene), None if other is None else edits.shortened(other)
        return outgoing.State(history.revision, scene, other, by, request, history.can_undo, history.can_redo)

    # The scene

    def change(self, pair: Pair, by: str = "", request: str = "", run: str = "", is_moving: bool = False) -> None:
        """Take a new scene; run: the gesture that it is part of, and ends where it is not moving."""
        self.history.set(pair, run, is_last=not is_moving)
        self.scene_changed(by, request, is_moving)

    def scene_changed(self, by: str = "", request: str = "", is_moving: bool = False) -> None:
        for layers in self.catalogue.news(self.history.pair):
            self.tell(layers)
        self.slicing.fit(self.catalogue.shapes(self.history.scene))
        for member in self.members.values():
            member.outbox.put(self.state_for(member.client.capability, by, request if member.id == by else ""))
        self.picturing.want(is_moving)
        self.slicing.refresh()

    def shadings_changed(self) -> None:
        for member in self.members.values():
            member.outbox.put(self.shadings.message(allows(member.client.capability, "own")))
