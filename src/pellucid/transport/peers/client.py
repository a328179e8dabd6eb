"""Pulling parts of arrays from other processes, over connections that stay open.

Here: PeerClient: the connections of one process to all its peers; PullPlan, what is pulled from where.
Not here: one connection (connection), what a key means.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import numpy as np

from pellucid.box import Shape
from pellucid.errors import TransferInterrupted, Unreachable
from pellucid.transport.address import Address
from pellucid.transport.lanes.lane import together
from pellucid.transport.peers.connection import MappedBlock, PeerConnection
from pellucid.transport.peers.requests import MAX_PULLS, PullRequest
from pellucid.transport.wire.messages import Timeout

STREAMS = 2
"""Connections over which one batch is pulled if it is large and goes over a network."""
SPLIT_BYTES = 4 * 2**20
IDLE_S = 2.0
"""After so long without a pull, memory of other processes is unmapped, so that they can give it back."""
TIMEOUT_S = 60.0

Result = TypeVar("Result")
PullPlan = Mapping[Address, Sequence[PullRequest]]
"""What is pulled from each peer."""


class PeerClient:
    """Methods may be called from any thread. prefers_local: whether shared memory is used on one machine."""

    def __init__(self, token: str, *, prefers_local: bool = True, timeout_s: float = TIMEOUT_S) -> None:
        self._token, self._prefers_local = token, prefers_local
        self._cancel = threading.Event()
        self._timeout = Timeout(timeout_s, self._cancel)
        self._idle: dict[Address, list[PeerConnection]] = {}
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._used_at = 0.0
        self.connections_made = 0

    def pull(self, plan: PullPlan) -> None:
        """Copy everything that the plan names; from several peers at once."""
        jobs = [
            partial(self._pull, address, part) for address, pulls in plan.items() for part in self._parts(pulls) if part
        ]
        if len(jobs) == 1:
            jobs[0]()
        elif jobs:
            together(jobs, abort=lambda: None)

    def describe(self, address: Address, keys: Sequence[bytes]) -> list[tuple[Shape, np.dtype[Any]]]:
        """Shapes (z, y, x) and types of blocks."""
        return self._on_connection(address, lambda it: it.describe(keys))

    def map(self, address: Address, keys: Sequence[bytes]) -> list[MappedBlock] | None:
        """Blocks in the memory of another process of this machine; None where it is on another one, or
        where they are not in shared memory."""
        return self._on_connection(address, lambda it: it.map(keys) if it.is_local else None)

    def close(self) -> None:
        self._cancel.set()
        with self._lock:
            idle, self._idle = self._idle, {}
            if self._timer is not None:
                self._timer.cancel()
        for connection in (one for some in idle.values() for one in some):
            connection.close()

    def _pull(self, address: Address, pulls: Sequence[PullRequest]) -> None:
        for first in range(0, len(pulls), MAX_PULLS):
            self._on_connection(address, partial(_pull_on, pulls[first : first + MAX_PULLS]))

    def _parts(self, pulls: Sequence[PullRequest]) -> list[Sequence[PullRequest]]:
        """What is pulled over each connection."""
        is_large = sum(pull.nbytes for pull in pulls) >= SPLIT_BYTES and len(pulls) > 1
        return [pulls[start::STREAMS] for start in range(STREAMS)] if is_large else [pulls]

    def _on_connection(self, address: Address, work: Callable[[PeerConnection], Result]) -> Result:
        """Work on an open connection; once more on a new one where the peer had closed it meanwhile."""
        while True:
            connection, is_used = self._take(address)
            try:
                result = work(connection)
            except TransferInterrupted:
                connection.close()
                if not is_used or self._cancel.is_set():
                    raise
            except BaseException:
                connection.close()
                raise
            else:
                self._put(address, connection)
                return result

    def _take(self, address: Address) -> tuple[PeerConnection, bool]:
        """A connection, and whether it was used before."""
        with self._lock:
            idle = self._idle.get(address)
            if idle:
                return idle.pop(), True
            self.connections_made += 1
        if self._cancel.is_set():
            raise Unreachable(str(address), "this process is ending")
        return PeerConnection(address, self._token, self._timeout, prefers_local=self._prefers_local), False

    def _put(self, address: Address, connection: PeerConnection) -> None:
        with self._lock:
            if self._cancel.is_set():
                connection.close()
                return
            self._idle.setdefault(address, []).append(connection)
            self._used_at = time.monotonic()
            if self._timer is None:
                self._start_timer()

    def _start_timer(self) -> None:
        self._timer = threading.Timer(IDLE_S, self._forget_buffers)
        self._timer.daemon = True
        self._timer.start()

    def _forget_buffers(self) -> None:
        with self._lock:
            self._timer = None
            if self._cancel.is_set():
                return
            if time.monotonic() - self._used_at < IDLE_S:
                self._start_timer()
                return
            for connection in (one for some in self._idle.values() for one in some):
                with suppress(TransferInterrupted):  # Noticed when it is used.
                    connection.forget_buffers()


def _pull_on(pulls: Sequence[PullRequest], connection: PeerConnection) -> None:
    connection.pull(pulls)
