"""Processes of this machine that work through a list of pieces, and what happens when one of them dies.

Here: ProcessPool, which hands out pieces, does lost ones again and leaves no process behind.
Not here: how a process starts, what it does and how messages travel (hdf5.parallel, engines), threads (thread_pool).
"""

import selectors
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from pellucid.errors import WorkerLost

POLL_S = 0.1
EXIT_TIMEOUT_S = 5.0
"""A process that closed its line is about to exit, with a status that says why."""
MAX_ATTEMPTS = 3


class PoolProcess(Protocol):
    """A process, and the line to it. Where the process is gone, send and receive raise an OSError or an EOFError."""

    def fileno(self) -> int:
        """Of the line."""
        ...

    def send(self, message: Any) -> None: ...
    def receive(self) -> Any:
        """The answer to the oldest message that has none."""
        ...

    def end(self, timeout_s: float = 0.0) -> int:
        """Wait so long for it to exit, then kill it; close the line. Its exit status, below 0 for a signal."""
        ...


@dataclass(frozen=True)
class PoolJob:
    """What the processes of a pool are to do.

    doing: for errors, such as "reading a file". prepare: gives the message for a piece, which then lies in that slot.
    depth: how many pieces a process has at a time; each has a slot of its own.
    here: does a piece in this process, which has its imports behind it, while the others are still starting.
    """

    doing: str
    start: Callable[[], PoolProcess]
    pieces: int
    prepare: Callable[[int, int], Any]
    depth: int = 1
    attempts: int = MAX_ATTEMPTS
    here: Callable[[Any], object] | None = None


@dataclass(frozen=True)
class PieceAnswer:
    """What a process sent for a piece; -1 where it had none."""

    piece: int
    slot: int
    content: Any


@dataclass
class _Member:
    number: int
    process: PoolProcess
    pending: "deque[tuple[int, int]]" = field(default_factory=deque)  # (piece, slot), oldest first
    has_answered: bool = False


class ProcessPool:
    """Processes for one job. All of them are gone when ``run`` is exhausted, closed, or raises."""

    def __init__(self, job: PoolJob, count: int) -> None:
        self._job = job
        self._count = max(1, min(count, job.pieces))
        self._waiting: deque[int] = deque(range(job.pieces))
        self._attempts = [0] * job.pieces
        self._selector = selectors.DefaultSelector()
        self._members: dict[int, _Member] = {}
        self._may_help = job.here is not None

    def run(self, is_cancelled: Callable[[], bool] = lambda: False) -> Generator[PieceAnswer, None, None]:
        """The answers as they come, until every piece has one that is not to be tried again."""
        try:
            while self._has_work() and not is_cancelled():
                self._hand_out()
                events = self._selector.select(0 if self._may_help and self._waiting else POLL_S)
                for key, _ in events:
                    yield from self._take_answer(key.data)
                if not events and self._may_help and self._waiting:
                    self._help()
        finally:
            for member in list(self._members.values()):
                self._end(member)
            self._selector.close()

    def retry(self, piece: int) -> bool:
        """Have a piece done again, after the others; False where it was tried often enough."""
        if piece < 0:
            return False
        self._attempts[piece] += 1
        if self._attempts[piece] >= self._job.attempts:
            return False
        self._waiting.append(piece)
        return True

    def _has_work(self) -> bool:
        return bool(self._waiting) or any(member.pending for member in self._members.values())

    def _hand_out(self) -> None:
        for number in range(self._count):
            if not self._waiting:
                return
            self._feed(self._members.get(number) or self._start(number))

    def _start(self, number: int) -> _Member:
        member = self._members[number] = _Member(number, self._job.start())
        self._selector.register(member.process, selectors.EVENT_READ, member)
        return member

    def _feed(self, member: _Member) -> None:
        depth, taken = self._job.depth, {slot for _, slot in member.pending}
        for slot in range(member.number * depth, (member.number + 1) * depth):
            if slot in taken or not self._waiting:
                continue
            piece = self._waiting.popleft()
            member.pending.append((piece, slot))
            with suppress(OSError):  # One that died is noticed when its answer is read.
                member.process.send(self._job.prepare(piece, slot))

    def _help(self) -> None:
        """Do one piece ourselves, unless it has already cost a process."""
        if self._job.here is not None and self._attempts[self._waiting[0]] == 0:
            self._job.here(self._job.prepare(self._waiting.popleft(), -1))
        else:
            self._may_help = False

    def _take_answer(self, member: _Member) -> Iterator[PieceAnswer]:
        try:
            content = member.process.receive()
        except (OSError, EOFError):
            self._lose(member)
            return
        member.has_answered = True
        if len(self._members) == self._count and all(one.has_answered for one in self._members.values()):
            self._may_help = False
        piece, slot = member.pending.popleft() if member.pending else (-1, -1)
        yield PieceAnswer(piece, slot, content)
        if member.number in self._members:
            self._feed(member)

    def _lose(self, lost: _Member) -> None:
        """Its pieces are done again; one that has cost several processes is given up."""
        code = self._end(lost, EXIT_TIMEOUT_S)
        if not lost.pending:
            return
        first, *others = [piece for piece, _ in lost.pending]
        self._waiting.extend(others)
        if not self.retry(first):
            raise WorkerLost(self._job.doing, _cause(code))

    def _end(self, member: _Member, timeout_s: float = 0.0) -> int:
        self._selector.unregister(member.process)
        del self._members[member.number]
        return member.process.end(timeout_s)


def _cause(code: int) -> str:
    return f"it was stopped by signal {-code}" if code < 0 else f"it exited with status {code}"
