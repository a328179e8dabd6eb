"""Worker processes that work through a list of pieces, and what happens when one of them dies.

Here: ProcessPool, which starts workers, hands out pieces, does lost ones again and leaves no process behind.
Not here: what the workers do (worker), what the pieces are (pieces, parallel).
"""

import pickle
import selectors
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from os import getpid
from pathlib import Path
from typing import Any

from pellucid.errors import Truncated, Unreadable, WorkerLost
from pellucid.formats.hdf5.parallel import worker as hdf5_worker

MAX_ATTEMPTS = 3
# One piece being worked on and one waiting, so that no worker waits for us.
DEPTH = 2


@dataclass(frozen=True)
class PoolJob:
    """What a crew is to do.

    setup: sent to every worker first. descriptors: open files the workers inherit under the same numbers.
    prepare: gives the message for a piece, which then lies in that slot; finished: takes its result.
    watch: called with a worker's process id just before it gets a piece.
    here: does a piece in this process, which has its imports behind it, while the workers are still starting.
    """

    doing: str
    path: str
    setup: dict[str, Any]
    descriptors: tuple[int, ...]
    pieces: int
    prepare: Callable[[int, int], Any]
    finished: Callable[[int, int, Any], None] = lambda piece, slot, result: None
    watch: Callable[[int], None] = lambda worker: None
    here: Callable[[Any], object] | None = None


@dataclass
class _Worker:
    number: int
    process: "subprocess.Popen[bytes]"
    control: socket.socket
    pending: "deque[tuple[int, int]]" = field(default_factory=deque)  # (piece, slot), oldest first
    has_answered: bool = False

    def free_slots(self) -> list[int]:
        taken = {slot for _, slot in self.pending}
        return [slot for slot in range(self.number * DEPTH, (self.number + 1) * DEPTH) if slot not in taken]

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.control.close()


class ProcessPool:
    """Workers for one job. All of them are gone when ``run`` returns or raises."""

    def __init__(self, job: PoolJob, count: int) -> None:
        self._job = job
        self._count = max(1, min(count, job.pieces))
        self._waiting: deque[int] = deque(range(job.pieces))
        self._attempts = [0] * job.pieces
        self._selector = selectors.DefaultSelector()
        self._workers: list[_Worker] = []
        self._silent = self._count  # workers that have not answered yet

    def run(self) -> None:
        """Work until every piece is done."""
        if not self._job.pieces:
            return
        try:
            for number in range(self._count):
                self._start(number)
            while any(worker.pending for worker in self._workers):
                may_help = self._job.here is not None and self._silent > 0 and len(self._waiting) > 0
                events = self._selector.select(0 if may_help else None)
                for key, _ in events:
                    self._hear(key.data)
                if may_help and not events:
                    self._help()
        finally:
            for worker in self._workers:
                worker.end()
            self._selector.close()

    def _start(self, number: int) -> None:
        ours, theirs = socket.socketpair()
        script = Path(hdf5_worker.__file__)
        # Isolated and without site-packages: the worker takes our search path when it needs more than the basics.
        command = [sys.executable, "-I", "-S", str(script), str(theirs.fileno()), str(getpid())]
        with theirs:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(), *self._job.descriptors)
            )
        worker = _Worker(number, process, ours)
        self._workers.append(worker)
        self._selector.register(ours, selectors.EVENT_READ, worker)
        with suppress(OSError):  # a worker that died at once is noticed when it is listened to
            hdf5_worker.send(ours.fileno(), {**self._job.setup, "path": sys.path})
        self._feed(worker)

    def _feed(self, worker: _Worker) -> None:
        for slot in worker.free_slots():
            if not self._waiting:
                return
            piece = self._waiting.popleft()
            worker.pending.append((piece, slot))
            self._job.watch(worker.process.pid)
            with suppress(OSError):
                hdf5_worker.send(worker.control.fileno(), self._job.prepare(piece, slot))

    def _help(self) -> None:
        """Do one piece ourselves, unless it has already cost a worker."""
        if self._job.here is not None and self._attempts[self._waiting[0]] == 0:
            piece = self._waiting.popleft()
            self._job.here(self._job.prepare(piece, -1))
        else:
            self._silent = 0

    def _hear(self, worker: _Worker) -> None:
        try:
            reply = hdf5_worker.receive(worker.control.fileno())
        except OSError:
            reply = None
        if reply is None:
            self._replace(worker)
            return
        if reply[0] != "done":
            raise _raised(reply, self._job.path)
        self._silent -= not worker.has_answered
        worker.has_answered = True
        piece, slot = worker.pending.popleft()
        self._job.finished(piece, slot, reply[1])
        self._feed(worker)

    def _replace(self, lost: _Worker) -> None:
        """Its pieces go back to the front of the line; one that has cost several workers is given up."""
        self._selector.unregister(lost.control)
        self._workers.remove(lost)
        lost.end()
        if not lost.pending:
            return
        first = lost.pending[0][0]
        self._attempts[first] += 1
        if self._attempts[first] >= MAX_ATTEMPTS:
            raise WorkerLost(self._job.doing, _cause(lost.process.returncode))
        self._waiting.extendleft(piece for piece, _ in reversed(lost.pending))
        self._start(lost.number)


def _cause(code: int) -> str:
    return f"it was stopped by signal {-code}" if code < 0 else f"it exited with status {code}"


def _raised(reply: tuple[Any, ...], path: str) -> BaseException:
    """The error that a worker met."""
    if reply[0] == "short":
        return Truncated(path, reply[1], reply[2])
    if reply[0] == "refused":
        return Unreadable(path, reply[1])
    error = pickle.loads(reply[1])
    return error if isinstance(error, BaseException) else WorkerLost(path, repr(error))
