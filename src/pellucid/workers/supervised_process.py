"""A Worker of any role, seen from its supervisor: requests with Futures, loss and replacement.

Here: SupervisedProcess, which sends requests and gives each its reply; WorkerLost for those that wait when it is lost.
Not here: one process (process), what the role "render" does beside that (supervisor), all roles together (pool).
"""

import itertools
import os
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.errors import PellucidError, WorkerLost, error_named
from pellucid.formats.shared_memory import SharedArray
from pellucid.volume.label_statistics import COLUMNS, LabelTable
from pellucid.workers.array_store import ArrayStore
from pellucid.workers.folder_limit import FolderLimit
from pellucid.workers.process import Deadlines, ExitReason, WorkerCommand, WorkerProcess
from pellucid.workers.protocol import replies, requests
from pellucid.workers.protocol.announcements import Announcement
from pellucid.workers.roles import Role

MAX_LOSSES = 4
"""One after the other, with nothing done in between."""


@dataclass(frozen=True)
class WaitingRequest:
    """A request whose answer has not come. doing: for the sentence that is said if the Worker is lost meanwhile."""

    doing: str
    future: "Future[Any]"
    command: requests.Request


class SupervisedProcess:
    """Methods may be called from any thread. Answers come as Futures; if the Worker is lost meanwhile, WorkerLost.

    The process starts with the first request. restarts: how often another one took over. arrays, folder_limit: those
    of the instance. on_announcement: is given what the Worker announces, with the descriptor that came along, on a
    thread of this object.
    """

    def __init__(
        self, role: Role, command: WorkerCommand, deadlines: Deadlines, arrays: ArrayStore, folder_limit: FolderLimit
    ) -> None:
        self.role: Role = role
        self.restarts, self.folder_limit, self._arrays = 0, folder_limit, arrays
        self.on_announcement: Callable[[Announcement, int | None], None] = _close_unused
        self._command, self._deadlines = command, deadlines
        self._process: WorkerProcess | None = None
        self._waiting: dict[int, WaitingRequest] = {}
        self._requests = itertools.count()
        self._losses, self._is_lost, self._is_closed = 0, False, False
        self._lock = arrays.lock
        arrays.connect(self)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        with self._lock:
            if self._process is not None or self._is_closed:
                return
            process: WorkerProcess
            process = WorkerProcess(
                self._command,
                lambda answer, descriptor: self._on_reply(process, answer, descriptor),
                lambda ending: self._on_exit(process, ending),
                self._deadlines,
            )
            self._process = process
            self.restarts += self._is_lost
            self._is_lost = False
            process.start()
            self.folder_limit.apply_to(process, self.role)
            self._arrays.send_all(self)
            self._process_started()

    def close(self) -> None:
        """Stop the process without an event."""
        with self._lock:
            self._is_closed = True
            process = self._process
        if process is not None:
            process.close()

    def send_request(
        self, doing: str, command: Callable[[int], requests.Request], descriptor: int | None = None
    ) -> "Future[Any]":
        """Ask anything. doing: for the sentence that is said if the Worker is lost meanwhile."""
        with self._lock:
            self.start()
            request = next(self._requests)
            future: Future[Any] = Future()
            if self._process is None:
                future.set_exception(WorkerLost(doing, "the viewer is stopping"))
                return future
            self._waiting[request] = WaitingRequest(doing, future, command(request))
            self._process.send(self._waiting[request].command, descriptor)
            return future

    def send(self, command: requests.Request) -> None:
        """Without a reply; nothing happens while the process does not run."""
        with self._lock:
            if self._process is not None:
                self._process.send(command)

    def cancel(self, future: "Future[Any]") -> None:
        """Stop working on what was asked; its Future then says Cancelled, or its result after all."""
        with self._lock:
            for request, waiting in self._waiting.items():
                if waiting.future is future and self._process:
                    self._process.send(requests.Cancel(request))

    # What roles differ in

    restarts_at_once = False
    """Whether another process is started as soon as one is lost, or with the next request."""

    def _process_started(self) -> None:
        """Send what every process needs to know, after the arrays."""

    def _process_lost(self, ending: ExitReason, waiting: "list[WaitingRequest]") -> ExitReason:
        """Forget what died with it. Returns what is to be said of its end."""
        return ending

    def _report_loss(self, ending: ExitReason, is_given_up: bool) -> None: ...

    # Inside

    def _on_reply(self, process: WorkerProcess, answer: Any, descriptor: int | None) -> None:
        if isinstance(answer, Announcement):
            return self.on_announcement(answer, descriptor)
        self._answer(answer, descriptor)
        return None

    def _answer(self, answer: Any, descriptor: int | None) -> None:
        with suppress(InvalidStateError):  # The caller has cancelled meanwhile.
            _settle(self._taken(answer.request), answer, descriptor)

    def _taken(self, request: int) -> "Future[Any]":
        """What waits for an answer, which has come."""
        return self._waiting.pop(request).future if request in self._waiting else Future()

    def _on_exit(self, process: WorkerProcess, ending: ExitReason) -> None:
        with self._lock:
            if self._process is not process:
                return
            self._process, self._is_lost = None, True
            waiting, self._waiting = self._waiting, {}
            ending = self._process_lost(ending, list(waiting.values()))
            self._losses += 1
            is_given_up = self._losses > MAX_LOSSES
            if self.restarts_at_once and not (self._is_closed or is_given_up):
                self.start()
        for one in waiting.values():
            with suppress(InvalidStateError):
                one.future.set_exception(WorkerLost(one.doing, ending.why))
        if not self._is_closed:
            self._report_loss(ending, is_given_up)


def _close_unused(_announcement: Announcement, descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)


def _settle(future: "Future[Any]", answer: Any, descriptor: int | None) -> None:
    """Give an answer to who waits for it; with its array, where one came along."""
    match answer:
        case replies.Failed():
            future.set_exception(error_of(answer))
        case replies.SliceDrawn(_, width, height) if descriptor is not None:
            future.set_result((answer, SharedArray(descriptor, (height, width, 4), np.uint8)))
        case replies.PreviewMade(_, width, height) if descriptor is not None:
            depth = np.dtype(np.uint16 if answer.is_deep else np.uint8)
            future.set_result((answer, SharedArray(descriptor, (height, width), depth)))
        case replies.LabelsMeasured(_, count, dtype) if descriptor is not None:
            with SharedArray(descriptor, (count, COLUMNS), np.int64) as shared:
                future.set_result(LabelTable.from_rows(shared.array.copy(), dtype))
        case replies.Retrieved(_, shape, dtype) if descriptor is not None:
            future.set_result((answer, SharedArray(descriptor, shape, np.dtype(dtype))))
        case _:
            future.set_result(answer)


def error_of(failed: replies.Failed) -> PellucidError:
    """The error that a Worker sent, as one of the same class."""
    return error_named(failed.kind, failed.what, failed.remedy, failed.line)
