"""The Lane protocol: a way to move bytes; and the table of lanes.

Here: Lane, Link, the choice of a lane, threads that stop together.
Not here: any lane (one module each), what is agreed before (wire.transfer).
"""

import importlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from pellucid.errors import InvalidInput, PellucidError, TransferInterrupted
from pellucid.transport.wire.messages import REFUSED, Channel, Message, Timeout, error_from_message
from pellucid.transport.wire.pieces import PieceSource, PieceTarget

LANES = {
    "shm": "pellucid.transport.lanes.shm:ShmLane",
    "tcp": "pellucid.transport.lanes.tcp:TcpLane",
    "ucx": "pellucid.transport.lanes.ucx:UcxLane",
    "proxy": "pellucid.transport.lanes.tcp:TcpLane",
}
PROXY = "proxy"
"""The same pieces as over TCP, through connections that a web server hands through."""
AUTO = "auto"
REASON_S = 2.0
INFINIBAND = Path("/sys/class/infiniband")
BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Link:
    """The connections of one transfer. join: one more, opened by the connecting end and awaited by the other."""

    control: Channel
    join: Callable[[], Channel]
    streams: int

    @property
    def timeout(self) -> Timeout:
        return self.control.timeout

    def check(self) -> None:
        """Raise if the transfer was cancelled, or the peer sent an error or disconnected."""
        self.timeout.check()
        if self.control.has_data():
            raise self.reason(TransferInterrupted("the peer sent an unexpected message"))

    def reason(self, broken: PellucidError) -> PellucidError:
        """Why bytes stopped: what the other end said before it closed, else what was seen."""
        self.control.timeout = Timeout(REASON_S)
        try:
            message = self.control.read_any()
        except PellucidError:
            return broken
        return error_from_message(message) if message.kind == REFUSED else broken


class Lane(Protocol):
    """One way for the bytes of one transfer. Rounds of it may follow each other, until no piece is missing."""

    def __init__(self, link: Link) -> None: ...

    def invite(self, target: PieceTarget) -> tuple[Message, Sequence[int]]:
        """At the receiving end: get ready, and say what the sender has to know. Kind and pieces are filled in later."""

    def receive(self, target: PieceTarget, missing: Sequence[int]) -> None:
        """Take these pieces, and keep those that are right."""

    def send(self, source: PieceSource, missing: Sequence[int], invitation: Message) -> None:
        """Send these pieces."""

    def close(self) -> None: ...


def make_lane(name: str, link: Link) -> Lane:
    module, _, attribute = LANES[checked_lane(name)].partition(":")
    lane: Lane = getattr(importlib.import_module(module), attribute)(link)
    return lane


def checked_lane(name: str) -> str:
    if name not in LANES:
        raise InvalidInput(f"Unknown lane {name[:40]!r}.", remedy=f"Choose one of: {', '.join(LANES)}.")
    return name


def lanes_here() -> list[str]:
    """The lanes that this machine supports."""
    return ["shm", "tcp", *(["ucx"] if find_spec("ucxx") else [])]


@cache
def machine() -> str:
    """The same text in every process of one running machine, and nowhere else."""
    return BOOT.read_text().strip() if BOOT.exists() else ""


def has_rdma() -> bool:
    """Whether there is a network card that UCX would be faster on than sockets."""
    return INFINIBAND.is_dir() and any(INFINIBAND.iterdir())


def together(jobs: Sequence[Callable[[], None]], abort: Callable[[], None]) -> None:
    """Run all of them in threads. When one fails, abort makes the others fail, and the first failure is raised."""
    failures: list[BaseException] = []
    lock = threading.Lock()

    def run(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:  # noqa: BLE001 - raised again below, in the thread that waits
            with lock:
                failures.append(error)
            abort()

    threads = [threading.Thread(target=run, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
