"""The other end as a program of its own: it can be put into another network namespace, and killed.

    python -m tests.transport.peer serve ADDRESS TOKEN [stall[=N]] [web]
    python -m tests.transport.peer send ADDRESS TOKEN LANE [stall]

It prints what happened, a line each. With ``stall`` it says ``stalled`` in the middle of a transfer, and waits. With
``web`` it is reached through a web server.
"""

import sys
import threading
from typing import Any

import numpy as np

from pellucid import progress
from pellucid.errors import PellucidError
from pellucid.formats.protocol import Voxels
from pellucid.transport.client import TransferOptions, send
from pellucid.transport.host import Host, OfferedArray, ReceivedArray
from pellucid.transport.server import Listener
from pellucid.transport.wire.announcement import Announcement, ArrayInfo
from pellucid.transport.wire.pieces import PieceSource, PieceTarget

SHAPE = (5, 1024, 1024)


def voxels() -> Voxels:
    """Forty pieces and a bit, each different."""
    return np.arange(5 * 2**20 + 77, dtype=np.uint32)


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


class Teller(Host):
    """Says what arrives."""

    def on_stored(self, received: ReceivedArray) -> None:
        is_right = received.array.shape == voxels().shape and bool((received.array == voxels()).all())
        report = received.report
        lane, resumed = (report.lane, report.resumed_bytes) if report else ("stream", 0)
        say("stored", received.label.name, lane, resumed, "right" if is_right else "wrong")
        received.target.shared.close()

    def on_interrupted(self, announcement: Announcement, kept: int, error: PellucidError) -> None:
        say("broken", kept)

    def find(self, request: Any) -> OfferedArray:
        return OfferedArray(voxels(), ArrayInfo("found"))


def stall(kind: type, method: str, calls: int) -> None:
    """Make the method of a class wait for ever when it was called so often."""
    original, count = getattr(kind, method), iter(range(calls))

    def counted(*arguments: object) -> object:
        if next(count, None) is None:
            say("stalled")
            threading.Event().wait()
        return original(*arguments)

    setattr(kind, method, counted)


def serve(address: str, token: str, is_web: bool) -> None:
    """Until the standard input ends."""
    with Listener(address, token=token, host=Teller()) as listener:
        if not is_web:
            say("listening", listener.address)
            sys.stdin.read()
            return
        from tests.transport.web import web_front

        with web_front(token) as front:
            front.listener = listener
            say("listening", front.address)
            sys.stdin.read()


def main(role: str, address: str, token: str, *rest: str) -> None:
    with progress.use(progress.Silent()):
        if role == "serve":
            for wanted in rest:
                if wanted.startswith("stall"):
                    stall(PieceTarget, "keep", int(wanted.removeprefix("stall").lstrip("=") or 2))
            serve(address, token, is_web="web" in rest)
            return
        if "stall" in rest:
            stall(PieceSource, "gather" if rest[0] == "shm" else "piece", 2)
        try:
            report = send(
                address,
                voxels(),
                {"from": "peer"},
                token=token,
                label=ArrayInfo("scan"),
                options=TransferOptions(rest[0]),
            )
        except PellucidError as error:
            say("failed", type(error).__name__, error)
        else:
            say("sent", report.lane, report.nbytes, report.resumed_bytes)


if __name__ == "__main__":
    main(*sys.argv[1:])
