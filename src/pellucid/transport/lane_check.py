"""Which lanes work between two ends, and how fast.

Here: LaneTestHost, for the end that listens, and check_lanes, for the end that connects.
Not here: printing (cli).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid.errors import InvalidInput, PellucidError
from pellucid.transport.client import DEFAULT, TransferOptions, retrieve, send
from pellucid.transport.host import Host, OfferedArray, ReceivedArray
from pellucid.transport.lanes.lane import LANES, PROXY
from pellucid.transport.shared_pages import BufferPool
from pellucid.transport.tunnel.upgrade import is_web
from pellucid.transport.wire.announcement import Announcement
from pellucid.transport.wire.pieces import PieceTarget

ROUNDS = 2
"""The first one includes allocating the memory."""


@dataclass(frozen=True)
class LaneCheck:
    """What a lane does. rates: bytes per second, 0 where it does not work. fault: why it does not."""

    lane: str
    send_rate: float = 0.0
    retrieve_rate: float = 0.0
    fault: str = ""


class LaneTestHost(Host):
    """Forgets what it is sent, and hands out zeros. The next array goes into the memory of the last."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._store = BufferPool(limit_bytes)

    def allocate(self, announcement: Announcement) -> PieceTarget:
        return PieceTarget.create(announcement, self._store)

    def on_stored(self, received: ReceivedArray) -> None:
        self._store.put(received.target.shared)

    def find(self, request: Mapping[str, Any]) -> OfferedArray:
        nbytes = request.get("nbytes")
        if not isinstance(nbytes, int) or not 0 <= nbytes <= self._limit_bytes:
            raise InvalidInput(
                f"Invalid number of bytes: {nbytes!r}.", remedy=f"Request at most {self._limit_bytes:,}."
            )
        return OfferedArray(np.zeros(nbytes, np.uint8))


def check_lanes(address: str, token: str, nbytes: int, options: TransferOptions = DEFAULT) -> list[LaneCheck]:
    """Try every lane, both ways, against a listening LaneTestHost."""
    array = np.ones(nbytes, np.uint8)
    lanes = [lane for lane in LANES if (lane == PROXY) == is_web(address)]
    return [_check(address, token, array, replace(options, lane=lane, attempts=1)) for lane in lanes]


def _check(address: str, token: str, array: Any, options: TransferOptions) -> LaneCheck:
    request = {"nbytes": array.nbytes}
    try:
        sent = max(send(address, array, token=token, options=options).rate for _ in range(ROUNDS))
        reports = [retrieve(address, request, token=token, options=options).report for _ in range(ROUNDS)]
    except PellucidError as error:
        return LaneCheck(options.lane, fault=str(error))
    return LaneCheck(options.lane, sent, max(report.rate for report in reports if report is not None))
