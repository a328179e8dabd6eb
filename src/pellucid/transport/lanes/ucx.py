"""Pieces through UCX: RDMA where a site has it, else UCX's own sockets and shared memory.

Here: UcxLane.
Not here: when it is chosen (client).

Only worker addresses, exchanged over the authenticated connection, lead to an endpoint: nothing listens. UCX uses
shared memory only without its own error handling; so a peer that died is noticed on the control connection instead.
"""

import fcntl
import os
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from pellucid.errors import MissingPackage, TransferInterrupted, TransferProtocolError
from pellucid.transport.lanes.lane import Link, has_rdma
from pellucid.transport.lanes.shm import SENT
from pellucid.transport.wire.messages import Message
from pellucid.transport.wire.pieces import PieceSource, PieceTarget, checksum

UNDER_WAY = 8
"""Pieces at a time: enough to keep a fast card busy."""
TURNS = 256
"""Turns of progress between two looks at the control connection."""
TUNED = {"TCP_TX_SEG_SIZE": "256K", "TCP_RX_SEG_SIZE": "256K", "TLS": "^cma"}
"""UCX's defaults for sockets are made for small messages; and reading another process's memory (cma) ends this one when
that one is killed. The site's environment wins."""

PIECE = "piece"
ADDRESS_OF_INTERFACE = 0x8915

Request = Any


class UcxLane:
    def __init__(self, link: Link) -> None:
        self._link = link
        self._ucx = _library()
        wanted = TUNED if has_rdma() else {**TUNED, **_same_network(link.control.connection)}
        chosen = {name: value for name, value in wanted.items() if f"UCX_{name}" not in os.environ}
        try:
            self._context = self._ucx.UCXContext(chosen, (self._ucx.Feature.TAG,))
            self._worker = self._ucx.UCXWorker(
                self._context, enable_delayed_submission=False, enable_python_future=False
            )
        except self._ucx.UCXError as error:  # A network that is only just coming up, or is gone.
            raise TransferInterrupted(f"UCX could not use the network ({error})") from error
        self._endpoint: Any = None

    def invite(self, target: PieceTarget) -> tuple[Message, Sequence[int]]:
        return Message("ready", {}, self._ucx.UCXAddress.create_from_worker(self._worker).tobytes()), ()

    def receive(self, target: PieceTarget, missing: Sequence[int]) -> None:
        flat, kept = target.flat, _Agreement(target)

        def post(number: int) -> Request:
            start, stop = target.cut.span(number)
            return self._worker.tag_recv(_array(flat[start:stop]), self._ucx.UCXXTag(number))

        def done(number: int) -> None:
            start, stop = target.cut.span(number)
            kept.found(number, checksum(target.announcement.checksum, flat[start:stop]))

        def look() -> None:
            self._link.timeout.check()
            while not kept.is_complete and self._link.control.has_data():
                kept.reply(self._link.control.expect(PIECE, SENT))

        self._all(missing, post, done, look)
        since = time.monotonic()
        while not kept.is_complete:  # What the sender still waits for leaves only while the wheel is turned.
            self._worker.progress()
            look()
            self._link.timeout.wait(since)

    def send(self, source: PieceSource, missing: Sequence[int], invitation: Message) -> None:
        if self._endpoint is None:
            address = self._ucx.UCXAddress.create_from_buffer(invitation.body)
            self._endpoint = self._worker.create_endpoint_from_worker_address(address, endpoint_error_handling=False)
        flat = source.flat
        held: dict[int, memoryview] = {}  # UCX reads from gathered pieces until they are sent.

        def post(number: int) -> Request:
            piece = held[number] = source.piece(number, flat, source.scratch())
            text = {"number": str(number), "checksum": str(checksum(source.checksum, piece))}
            self._link.control.write(Message(PIECE, text))
            return self._endpoint.tag_send(_array(piece), self._ucx.UCXXTag(number))

        def done(number: int) -> None:
            start, stop = source.cut.span(number)
            del held[number]
            source.bar.advance(stop - start)

        self._all(missing, post, done, self._link.check)
        self._link.control.write(Message(SENT))

    def close(self) -> None:
        self._worker.cancel_inflight_requests()
        self._endpoint = None

    def _all(
        self,
        numbers: Sequence[int],
        post: Callable[[int], Request],
        done: Callable[[int], None],
        look: Callable[[], None],
    ) -> None:
        """Move all pieces in order, some at a time. look: called now and then, to raise where going on is no use."""
        waiting, under_way, turns, since = deque(numbers), deque[tuple[int, Request]](), 0, time.monotonic()
        while waiting or under_way:
            while waiting and len(under_way) < UNDER_WAY:
                under_way.append((waiting[0], post(waiting.popleft())))
            self._worker.progress()
            while under_way and under_way[0][1].completed:
                number, request = under_way.popleft()
                self._check(request)
                done(number)
                since = time.monotonic()
            turns += 1
            if turns % TURNS == 0:
                self._link.timeout.wait(since)
                look()

    def _check(self, request: Request) -> None:
        try:
            request.check_error()
        except self._ucx.UCXError as error:
            raise self._link.reason(TransferInterrupted(str(error))) from error


class _Agreement:
    """Pieces are kept when what was computed here and what was said there agree; either may come first."""

    def __init__(self, target: PieceTarget) -> None:
        self._target = target
        self._sums: dict[int, int] = {}
        self.is_complete = False

    def found(self, number: int, value: int) -> None:
        if number not in self._sums:
            self._sums[number] = value
        elif self._sums[number] == value:
            self._target.keep(number)

    def reply(self, message: Message) -> None:
        if message.kind == SENT:
            self.is_complete = True
        elif message.number("number") >= self._target.cut.count:
            raise TransferProtocolError("it sent a piece that does not exist")
        else:
            self.found(message.number("number"), int(message.get("checksum")[:20]))


def _same_network(connection: socket.socket) -> dict[str, str]:
    """Keep UCX to the network that the control connection goes over: others may lead nowhere, and it would wait."""
    here = connection.getsockname()[0]
    for _, name in socket.if_nameindex():
        request = struct.pack("256s", name.encode()[:15])
        with suppress(OSError):  # an interface without an address
            answer = fcntl.ioctl(connection.fileno(), ADDRESS_OF_INTERFACE, request)
            if socket.inet_ntoa(answer[20:24]) == here:
                return {"NET_DEVICES": name}
    return {}


def _library() -> Any:
    os.environ.setdefault("UCX_WARN_UNUSED_ENV_VARS", "n")  # ucxx itself sets one that its UCX does not know.
    try:
        from ucxx._lib import libucxx
    except ImportError as error:
        raise MissingPackage("ucxx", "ucx") from error
    return libucxx


def _array(content: memoryview) -> Any:
    from ucxx._lib.arr import Array

    return Array(content)
