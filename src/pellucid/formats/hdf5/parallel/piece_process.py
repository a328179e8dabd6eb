"""The processes that fill or compress pieces of a shared array, as their owner sees them.

Here: PieceProcess; run_pieces, which has several of them work through a list.
Not here: what they do (worker), what the pieces are (division, shared_io), who gets which (formats.process_pool).
"""

import pickle
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from os import getpid
from pathlib import Path
from typing import Any

from pellucid.errors import Truncated, Unreadable, WorkerLost
from pellucid.formats.hdf5.parallel import worker as hdf5_worker
from pellucid.formats.process_pool import PoolJob, ProcessPool

# One piece being worked on and one waiting, so that no process waits for us.
DEPTH = 2


@dataclass(frozen=True)
class PieceJob:
    """What is done with the pieces.

    setup: sent to every process first. descriptors: open files that the processes inherit under the same numbers.
    prepare, here: as of a PoolJob. finished: takes the result of a piece.
    watch: called with the id of a process just before it gets a piece.
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


def run_pieces(job: PieceJob, count: int) -> None:
    """Work until every piece is done, with so many processes."""
    pool = ProcessPool(
        PoolJob(job.doing, partial(PieceProcess, job), job.pieces, job.prepare, DEPTH, here=job.here), count
    )
    with closing(pool.run()) as answers:
        for answer in answers:
            if answer.content[0] != "done":
                raise _raised(answer.content, job.path)
            job.finished(answer.piece, answer.slot, answer.content[1])


class PieceProcess:
    """A PoolProcess that runs the script of the worker."""

    def __init__(self, job: PieceJob) -> None:
        self._watch = job.watch
        self._control, theirs = socket.socketpair()
        script = Path(hdf5_worker.__file__)
        # Isolated and without site-packages: the worker takes our search path when it needs more than the basics.
        command = [sys.executable, "-I", "-S", str(script), str(theirs.fileno()), str(getpid())]
        with theirs:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(), *job.descriptors)
            )
        with suppress(OSError):  # One that died at once is noticed when its answer is read.
            hdf5_worker.send(self.fileno(), {**job.setup, "path": sys.path})

    def fileno(self) -> int:
        return self._control.fileno()

    def send(self, message: Any) -> None:
        self._watch(self._process.pid)
        hdf5_worker.send(self.fileno(), message)

    def receive(self) -> Any:
        answer = hdf5_worker.receive(self.fileno())
        if answer is None:
            raise EOFError
        return answer

    def end(self, timeout_s: float = 0.0) -> int:
        if timeout_s:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)
        self._process.kill()
        self._process.wait()
        self._control.close()
        return self._process.returncode


def _raised(reply: tuple[Any, ...], path: str) -> BaseException:
    """The error that a process met."""
    if reply[0] == "short":
        return Truncated(path, reply[1], reply[2])
    if reply[0] == "refused":
        return Unreadable(path, reply[1])
    error = pickle.loads(reply[1])
    return error if isinstance(error, BaseException) else WorkerLost(path, repr(error))
