"""The Workers of one instance, one for each role.

Here: WorkerPool, which has the render Worker and starts the others when they are first used; RoleWorker; PoolListener.
Not here: the render Worker (supervisor), what each role does (main, compute, user_code).
"""

import fcntl
import os
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Protocol

from pellucid.errors import Corrupted, PellucidError
from pellucid.formats.shared_memory import SharedArray
from pellucid.workers.process import Deadlines, ExitReason, WorkerCommand, WorkerProcess
from pellucid.workers.protocol import replies
from pellucid.workers.protocol.announcements import Announcement, ArrayProduced, VoxelsChanged
from pellucid.workers.roles import DEADLINES, SERVICES, Role, RoleBesideRender
from pellucid.workers.supervised_process import SupervisedProcess, WaitingRequest, error_of
from pellucid.workers.supervisor import SupervisedWorker

STOP_TIMEOUT_S = 5.0
NOT_STOPPED = ExitReason("it did not stop when it was cancelled", is_fault=False)


class PoolListener(Protocol):
    """Receives what Workers report, on their threads; it must not wait. What the render Worker reports of its images
    goes to its WorkerListener."""

    def role_was_lost(self, role: Role, ending: ExitReason) -> None:
        """Requests that waited have WorkerLost. The next request starts another process, with all arrays."""

    def role_progress(self, role: Role, progress_made: replies.ProgressReported) -> None: ...

    def announced(self, role: Role, announcement: Announcement, array: SharedArray | None) -> None:
        """array: what came along, which belongs to the listener."""


class RoleWorker(SupervisedProcess):
    """A Worker of a role beside "render". One that is lost is replaced with the next request, not before: what it was
    doing may have ended it, and who asked decides whether it is done again."""

    def __init__(self, command: WorkerCommand, beside: SupervisedWorker, listener: PoolListener, **how: Any) -> None:
        super().__init__(command=command, arrays=beside.shared_arrays, folder_limit=beside.folder_limit, **how)
        self._listener = listener
        self._refusal: PellucidError | None = None

    def stop(self, future: "Future[Any]", timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Cancel what was asked, and end the process where it does not stop: a library may not return."""
        self.cancel(future)
        if future.done() or (process := self._process) is None:
            return

        def end() -> None:
            if not future.done():
                process.kill(NOT_STOPPED)

        timer = threading.Timer(timeout_s, end)
        timer.daemon = True
        future.add_done_callback(lambda _: timer.cancel())
        timer.start()

    def _on_reply(self, process: WorkerProcess, answer: Any, descriptor: int | None) -> None:
        match answer:
            case replies.Ready() | replies.Heartbeat():
                self._refusal = None
            case replies.ProgressReported():
                self._listener.role_progress(self.role, answer)
            case replies.Failed(_, request) if request < 0:  # It cannot start, and is about to end.
                self._refusal = error_of(answer)
            case _:
                super()._on_reply(process, answer, descriptor)

    def _process_lost(self, ending: ExitReason, waiting: "list[WaitingRequest]") -> ExitReason:
        refusal, self._refusal = self._refusal, None
        return ending if refusal is None else replace(ending, why=refusal.what.rstrip("."))

    def _report_loss(self, ending: ExitReason, is_given_up: bool) -> None:
        self._listener.role_was_lost(self.role, ending)


class WorkerPool:
    """services: of the roles beside "render", as "module:Class". devices: of those that do not compute on the first
    device of the render Worker. Methods may be called from any thread."""

    def __init__(
        self,
        render: SupervisedWorker,
        listener: PoolListener,
        *,
        services: Mapping[RoleBesideRender, str] = SERVICES,
        devices: Mapping[RoleBesideRender, str] | None = None,
        deadlines: Mapping[RoleBesideRender, Deadlines] = DEADLINES,
    ) -> None:
        first = None if render.device in (None, "all") or render.is_remote else render.device.partition(",")[0]
        self.render, self._listener = render, listener
        self._others: dict[RoleBesideRender, RoleWorker] = {}
        for role, service in services.items():
            command = WorkerCommand((devices or {}).get(role, first), service)
            self._others[role] = RoleWorker(command, render, listener, role=role, deadlines=deadlines[role])
        for worker in (render, *self._others.values()):
            self._relay_announcements(worker)

    def get(self, role: RoleBesideRender) -> RoleWorker:
        """The Worker of a role; its first request starts it."""
        return self._others[role]

    def close(self) -> None:
        """Stop all processes without an event."""
        for worker in (*self._others.values(), self.render):
            worker.close()

    def _relay_announcements(self, worker: SupervisedProcess) -> None:
        def relay(announcement: Announcement, descriptor: int | None) -> None:
            array = None
            if isinstance(announcement, ArrayProduced):
                array = _received_array(announcement, descriptor)
            elif descriptor is not None:
                os.close(descriptor)
            if isinstance(announcement, VoxelsChanged):  # Workers know before the listener requests an image.
                self.render.shared_arrays.changed(announcement.source, announcement.boxes, by=worker)
            self._listener.announced(worker.role, announcement, array)

        worker.on_announcement = relay


def _received_array(produced: ArrayProduced, descriptor: int | None) -> SharedArray:
    """The array of an announcement. A Worker runs users' code: memory that it could still make smaller is refused,
    since touching what is gone would end this process."""
    if descriptor is None:
        raise Corrupted("The announcement of an array", "its memory did not come along")
    try:
        is_fixed = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK
    except OSError:  # No shared memory at all.
        is_fixed = 0
    if not is_fixed:
        os.close(descriptor)
        raise Corrupted("The announcement of an array", "the size of its memory is not fixed")
    return SharedArray(descriptor, produced.shape, produced.dtype)
