"""The session: the state of one running viewer, and the events that change it.

Here: Session: who is there, the scene and its revisions; telling everyone.
Not here: messages of a page (handlers), HTTP (routes), what the Worker reports (worker_events), each part's own work
(its module).

Everything runs on one event loop; threads (of the Worker, of encoders) post to it.
"""

import asyncio
import shutil
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pellucid.box import Box
from pellucid.instance.access.capabilities import RANKS, allows
from pellucid.instance.access.guest_limits import limited_size
from pellucid.instance.access.roots import Roots
from pellucid.instance.access.sessions import Access
from pellucid.instance.arrays.uploads import ArrayUploads
from pellucid.instance.frames.scheduler import FrameScheduler
from pellucid.instance.frames.sender import FrameSender
from pellucid.instance.frames.timing import FrameTiming
from pellucid.instance.lifecycle.idle import IDLE_TIMEOUT_S, IdleTimer
from pellucid.instance.lifecycle.recent_files import RecentFileStore
from pellucid.instance.lifecycle.scratch_folders import socket_folder
from pellucid.instance.pool_events import PoolEvents
from pellucid.instance.protocol import server_messages
from pellucid.instance.protocol.model_bodies import ModelRequest
from pellucid.instance.protocol.shared_types import Arrangement, Capability, ClientLimits
from pellucid.instance.reconstruction.denoising import DenoisingStore
from pellucid.instance.reconstruction.drafts import DraftStore
from pellucid.instance.reconstruction.previews import PreviewRequests
from pellucid.instance.scene import edits
from pellucid.instance.scene.camera_fitting import CameraFitter
from pellucid.instance.scene.catalogue import Catalogue, choices
from pellucid.instance.scene.history import History, ScenePair
from pellucid.instance.scene.label_tables import LabelTables
from pellucid.instance.scene.painting_history import PaintedVolumes
from pellucid.instance.scene.painting_turns import PaintingTurns
from pellucid.instance.scene.running_models import RunningModels
from pellucid.instance.scene.shadings import Shadings
from pellucid.instance.scene.slice_views import SliceViews
from pellucid.instance.tasks.runner import CommandRunner
from pellucid.instance.tasks.tasks import TaskRegistry
from pellucid.instance.version import PRODUCT
from pellucid.instance.websocket.client import ConnectedClient
from pellucid.instance.websocket.controls import Controls
from pellucid.instance.worker_events import WorkerEvents
from pellucid.instance.worker_relay import PrestartedWorker
from pellucid.rendering.scene import Scene
from pellucid.transport.connections import ConnectionRegistry
from pellucid.workers.pool import WorkerPool
from pellucid.workers.process import Deadlines

WITHDRAWN = 4003
"""Why a page's WebSocket is closed: its link was revoked."""


@dataclass(frozen=True)
class SessionOptions:
    """How a viewer is started. roots: what it may open. clock: in seconds, for the idle timeout and for connections
    that wait. max_bytes: of an array; 0 where only memory decides. root: what keys of the owner's pages are made from,
    where a viewer was killed at this port. ahead: its Worker, where that was started before everything else. runner: of
    reconstructions, where an agent started the viewer. opens_recent: recent files outside the roots may be opened.
    scan: whose reconstruction the page opens at first. model: a PyTorch model that is shown at first."""

    device: str | None = None
    roots: tuple[str | Path, ...] = ()
    idle_timeout_s: float = IDLE_TIMEOUT_S
    clock: Callable[[], float] = time.monotonic
    deadlines: Deadlines = field(default_factory=Deadlines)
    root: str = field(default="", repr=False)
    max_bytes: int = 0
    ahead: PrestartedWorker | None = None
    runner: CommandRunner | None = None
    opens_recent: bool = False
    scan: str = ""
    model: ModelRequest | None = None


class Session:
    """Parts are public: the modules around this one work on them."""

    def __init__(self, setup: SessionOptions) -> None:
        self.access, self.roots = Access(root=setup.root), Roots(list(setup.roots))
        ahead = setup.ahead or PrestartedWorker.of(setup.device, setup.deadlines)
        self.relay, self.worker, self.pool_events = ahead.relay, ahead.worker, PoolEvents(self)
        self.pool = WorkerPool(self.worker, self.pool_events)
        self.history, self.controls, self.members = History(Scene()), Controls(), dict[str, ConnectedClient]()
        self.shadings, self.catalogue, self.arrays = Shadings(), Catalogue(), ArrayUploads(setup.max_bytes, setup.clock)
        self.idle, self.timing = IdleTimer(setup.idle_timeout_s, clock=setup.clock), FrameTiming()
        self.delivery = FrameSender(self.timing, lambda: list(self.members.values()))
        self.picturing = FrameScheduler(self.history, self.worker, self.delivery)
        self.picturing.drawable = self.shadings.drawable
        self.picturing.holder = lambda: self.members.get(self.controls.holder or "")
        self.picturing.is_watched = lambda: bool(self.members)
        self.label_tables, self.fitter = LabelTables(self.worker), CameraFitter(self)
        self.painted, self.models = PaintedVolumes(), RunningModels(self)
        self.painting_turns = PaintingTurns(self.painted, lambda: self.history.scene, self.painted_changed)
        self.slicing = SliceViews(self)
        self.tasks, self.socket_folder = TaskRegistry(self.idle, self.members.values), socket_folder()
        self.roots.connect(self.worker.folder_limit, self.tasks.folder)
        self.previews, self.drafts = PreviewRequests(self.worker, self.roots), DraftStore(self.tasks)
        self.denoisings = DenoisingStore(self)
        if setup.scan:
            self._open_scan(setup.scan)
        self.connections, self.guest_turn = ConnectionRegistry(clock=setup.clock), asyncio.Lock()
        self.link_opened_at = float("-inf")
        self.socket = self.transfer = ""
        self.runner = setup.runner
        self.recent, self.opens_recent = RecentFileStore(), setup.opens_recent
        self.owner_url: Callable[[], str] = lambda: ""
        self.on_open: Callable[[], object] = lambda: None
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
        self.on_open()

    def _open_scan(self, scan: str) -> None:
        """The user named it: it may be read wherever it is."""
        if not self.roots.has(scan):
            self.roots.add(Path(scan))
        self.drafts.set(scan, None, is_open=True)

    def close(self) -> None:
        self.relay.disconnect()
        self.pool.close()
        self.delivery.close()
        self.slicing.close()
        self.tasks.close()
        shutil.rmtree(self.socket_folder, ignore_errors=True)

    def shut_down(self, what: str, remedy: str) -> None:
        """Notify all clients, and end the viewer."""
        self.broadcast(server_messages.ShuttingDown(what, remedy))
        self.on_end()

    def tick(self) -> None:
        """Called every second: the idle timeout, and arrays whose senders are gone."""
        self.arrays.expire()
        if self.idle.is_expired:
            self.shut_down("The viewer stopped because it was idle.", remedy="Start it again.")
        elif (warning := self.idle.pending_warning()) is not None:
            self.broadcast(warning)

    # Who is there

    def join(self, member: ConnectedClient) -> None:
        """Send a new client the whole state."""
        put = member.outbox.put
        capability = member.client.capability
        roots = self.roots.names if allows(capability, "own") else ()
        known = (PRODUCT, self.relay.device, choices(), ClientLimits(), roots, time.time() * 1000)
        put(server_messages.Welcome(member.id, capability, *known, member.token))
        if allows(capability, "own"):
            put(self.drafts.message())
        self.members[member.id] = member
        self.controls.join(member.client)
        put(self.state_for(capability))
        member.seen_sources |= self.history.pair.sources
        for layers in self.catalogue.messages(self.history):
            put(layers)
        put(self.shadings.message(allows(capability, "own")))
        put(self.models.message())
        put(self.models.training)
        put(self.worker_events.status)
        put(self.idle.message())
        put(self.slicing.message())
        self.broadcast(self.controls.message())
        self.delivery.resend_last(member)
        self._fit()

    def leave(self, member: ConnectedClient) -> None:
        if self.members.pop(member.id, None) is not None:
            self.controls.leave(member.id)
            self.slicing.leave(member.id)
            self.previews.cancel_client(member.id)
            self.broadcast(self.controls.message())
            self._fit()

    def revoke(self, link: str, by: str = "") -> None:
        """A share link and those made with it stop working, also for pages that are open. by: the holder's link."""
        gone = self.access.revoke(link, by)
        for member in self.members.values():
            if member.link in gone:
                member.outbox.end(WITHDRAWN)

    def resize(self, member: ConnectedClient, size: tuple[int, int]) -> None:
        member.size = limited_size(size, member.client.capability)
        self._fit()

    def _fit(self) -> None:
        """Images have the size of who has the controls; without one, of the owner, or else of who came last."""
        holder = self.members.get(self.controls.holder or "")
        latest = max(reversed(self.members.values()), key=lambda one: RANKS[one.client.capability], default=None)
        member = holder or latest
        if member is not None and (member.size != self.picturing.size or not self.timing.frames):
            self.picturing.size = member.size
            self.picturing.request_frame(is_moving=bool(self.timing.frames))
            self.fitter.adapt()
        self.picturing.start_next()  # Changes without a client were not drawn.

    def require_controls(self, capability: Capability, link: str) -> None:
        """For requests over HTTP: of those who came with the holder's link, of the owner, of others while they are
        free."""
        holder = self.members.get(self.controls.holder or "")
        if holder is None or not link or holder.link != link:
            self.controls.require_free(capability)

    def controls_changed(self) -> None:
        self.broadcast(self.controls.message())
        self._fit()

    # Telling

    def broadcast(self, reply: Any, needs: Capability = "view", but: str = "") -> None:
        """To everyone who may know, but one."""
        for member in self.members.values():
            if member.id != but and allows(member.client.capability, needs):
                member.outbox.put(reply)

    def state_for(self, capability: Capability, by: str = "", request: str = "") -> server_messages.SceneState:
        history = self.history
        scene, other = history.scene, history.other
        if not allows(capability, "own"):
            scene, other = edits.without_paths(scene), None if other is None else edits.without_paths(other)
        return server_messages.SceneState(
            history.revision, scene, other, by, request, history.can_undo, history.can_redo, history.arrangement
        )

    # The scene

    def change(self, pair: ScenePair, by: str = "", request: str = "", run: str = "", is_moving: bool = False) -> None:
        """Take a new scene; run: the gesture that it is part of, and ends where it is not moving."""
        self.history.set(pair, run, is_last=not is_moving)
        self.scene_changed(by, request, is_moving)

    def arrange(self, arrangement: Arrangement, by: str = "") -> None:
        """Put the images of the two scenes that are compared side by side, or one over the other."""
        self.history.arrangement = arrangement
        self.delivery.forget()
        self.scene_changed(by)
        self.fitter.adapt()  # The images have another width.

    def scene_changed(self, by: str = "", request: str = "", is_moving: bool = False) -> None:
        for layers in self.catalogue.news(self.history):
            self.broadcast(layers)
        self.label_tables.keep(self.history.pair.sources)
        self.painting_turns.follow()
        self.models.follow()
        self.slicing.fit(self.catalogue.shapes(self.history.scene))
        for member in self.members.values():
            member.outbox.put(self.state_for(member.client.capability, by, request if member.id == by else ""))
            member.seen_sources |= self.history.pair.sources
        self.picturing.request_frame(is_moving)
        self.slicing.refresh()

    def painted_changed(self, source: str, boxes: Iterable[Box]) -> None:
        """Voxels of a painted volume are new."""
        self.worker.changed(source, boxes)
        self.show_changed(source)

    def show_changed(self, source: str) -> None:
        """Voxels of an array are new, and its Workers know."""
        self.label_tables.forget(source)
        self.picturing.request_frame(is_moving=True)
        self.slicing.refresh_all(source)

    def shadings_changed(self) -> None:
        for member in self.members.values():
            member.outbox.put(self.shadings.message(allows(member.client.capability, "own")))
