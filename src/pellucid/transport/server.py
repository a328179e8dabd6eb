"""The listening end: receives arrays, and sends those that are requested.

Here: Listener, receive.
Not here: who may come in (acceptor), what becomes of arrays (host), one transfer (wire.transfer), the other end
(client).
"""

import json
import logging
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

from pellucid.errors import (
    InvalidInput,
    PellucidError,
    ReceiverBusy,
    TokenRejected,
    TransferInterrupted,
    TransferProtocolError,
    TransferTooLarge,
)
from pellucid.transport.acceptor import Acceptor
from pellucid.transport.address import Address, Certificate
from pellucid.transport.host import DEFAULT_LIMITS, Host, Mailbox, ReceivedArray, ReceiveLimits
from pellucid.transport.lanes.lane import Link, checked_lane
from pellucid.transport.streams import receive_stream
from pellucid.transport.wire.announcement import Announcement, announce
from pellucid.transport.wire.handshake import Tokens, checked_token
from pellucid.transport.wire.messages import POLL_S, Channel, Message, Timeout, error_message
from pellucid.transport.wire.pieces import PieceTarget
from pellucid.transport.wire.resume import PartialTransfers
from pellucid.transport.wire.transfer import kept_bytes, receive_array, send_array

LOG = logging.getLogger(__name__)


@dataclass
class _Active:
    """A transfer under way. joined: its bulk connections, as they come in. cancel: ends it."""

    control: Channel
    cancel: threading.Event = field(default_factory=threading.Event)
    joined: "queue.Queue[Channel]" = field(default_factory=queue.Queue)
    is_over: threading.Event = field(default_factory=threading.Event)


class Listener:
    """Accepts connections in its own threads until it is closed. token: the token of both ends, or a function that
    returns the tokens that are accepted now.

    >>> with Listener(token="a long secret") as listener:
    ...     str(listener.address).startswith("127.0.0.1:")
    True
    """

    def __init__(
        self,
        address: str = "127.0.0.1:0",
        *,
        token: str | Tokens,
        host: Host | None = None,
        limits: ReceiveLimits = DEFAULT_LIMITS,
        certificate: Certificate | None = None,
    ) -> None:
        self._limits = limits
        self.host = host or Mailbox()
        self._active: dict[str, _Active] = {}
        self._turns = threading.BoundedSemaphore(limits.at_once)
        self._partials = PartialTransfers(limits.keep_s, limits.limit_bytes)
        self._lock = threading.Lock()
        self.is_closing = threading.Event()
        if isinstance(token, str):
            known = (checked_token(token),)
            token = lambda: known  # noqa: E731
        self._acceptor = Acceptor(Address.parse(address), token, self._enter, certificate)
        self.address = self._acceptor.address

    def serve(self, connection: socket.socket) -> None:
        """Serve a connection that a web server passes on (see tunnel.relay), in its own thread."""
        self._acceptor.serve(connection)

    def receive(self, timeout_s: float | None = None) -> ReceivedArray:
        """Wait for the next array. For a listener without its own host."""
        if not isinstance(self.host, Mailbox):
            raise InvalidInput("This listener passes its arrays to its host.", remedy="Override on_stored in the host.")
        return self.host.next(timeout_s)

    def close(self) -> None:
        """Stop listening; transfers in progress are cancelled, and their peers are notified."""
        with self._lock:
            under_way = list(self._active.values())
            for active in under_way:
                active.cancel.set()
            self.is_closing.set()
        self._acceptor.close()
        for active in under_way:
            active.is_over.wait(self._limits.timeout_s)
        self._partials.clear()

    def cancel(self, transfer: str) -> None:
        """Cancel a transfer in progress; its sender is notified."""
        with self._lock:
            if transfer in self._active:
                self._active[transfer].cancel.set()

    def __enter__(self) -> "Listener":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # Connections

    def _enter(self, opening: Message, channel: Channel, is_accepted: Callable[[], bool]) -> None:
        channel.timeout = Timeout(self._limits.timeout_s, self.is_closing)
        if opening.get("role") == "stream":
            self._join(opening.get("transfer"), channel)
            return
        try:
            self._converse(channel, is_accepted)
        finally:
            channel.close()

    def _join(self, transfer: str, channel: Channel) -> None:
        with self._lock:
            active = self._active.get(transfer)
            if active is not None:
                channel.timeout = Timeout(self._limits.timeout_s, active.cancel)
                active.joined.put(channel)
                return
        channel.write(error_message(TransferProtocolError("it joined a transfer that is not in progress")))
        channel.close()

    def _converse(self, channel: Channel, is_accepted: Callable[[], bool]) -> None:
        message = channel.expect("announce", "request")
        try:
            if not is_accepted():  # It was revoked while the connection waited.
                raise TokenRejected("The receiver")
            lane = checked_lane(message.get("lane"))
            with self._registered(message.get("transfer"), channel) as link:
                if message.kind == "announce":
                    self._take(Announcement.read(message), link, lane)
                else:
                    self._give(message, link, lane)
        except TransferInterrupted:
            raise
        except PellucidError as error:
            with suppress(PellucidError):  # Already sent, or the peer is gone.
                channel.write(error_message(error))
            raise

    @contextmanager
    def _registered(self, transfer: str, control: Channel) -> Iterator[Link]:
        """A transfer in progress. One with the same number was interrupted without notice: it ends first."""
        active = _Active(control)
        control.timeout = Timeout(self._limits.timeout_s, active.cancel)
        while True:
            with self._lock:
                before = self._active.get(transfer)
                if before is None:
                    self._active[transfer] = active
                    if self.is_closing.is_set():
                        active.cancel.set()
                    break
            before.control.close()
            before.is_over.wait(POLL_S)
        link = Link(control, lambda: self._awaited(active, link), self._limits.streams)
        try:
            yield link
        finally:
            with self._lock:
                del self._active[transfer]
            while not active.joined.empty():
                active.joined.get().close()
            active.is_over.set()

    def _awaited(self, active: _Active, link: Link) -> Channel:
        since = time.monotonic()
        while True:
            link.check()
            link.timeout.wait(since)
            with suppress(queue.Empty):
                return active.joined.get(timeout=POLL_S)

    # Transfers

    def _take(self, announcement: Announcement, link: Link, lane: str) -> None:
        if announcement.nbytes > self._limits.limit_bytes:
            raise TransferTooLarge(announcement.nbytes, self._limits.limit_bytes)
        with self._turn(announcement, link):
            target = self._partials.take(announcement) or self.host.allocate(announcement)
            self.host.on_started(target)
            try:
                self._fill(target, link, lane)
            except (TransferInterrupted, OSError) as error:
                broken = error if isinstance(error, TransferInterrupted) else TransferInterrupted(str(error))
                is_dead = link.control.is_peer_dead
                if not is_dead:  # Only the process that sent it can send the rest.
                    self._partials.keep(target)
                LOG.warning("%s of %s: %s", "A transfer", announcement.label.name or "an array", broken)
                self.host.on_interrupted(announcement, 0 if is_dead else kept_bytes(target), broken)
                raise broken from error
            except PellucidError as error:
                self.host.on_interrupted(announcement, 0, error)
                raise

    def _fill(self, target: PieceTarget, link: Link, lane: str) -> None:
        if target.announcement.mode == "stream":
            receive_stream(link, target, lane, lambda box: self.host.on_block(target, box))
            link.check()
            self.host.on_stored(ReceivedArray(target))
            link.control.write(Message("stored"))
            return
        receive_array(link, target, lane, lambda report: self.host.on_stored(ReceivedArray(target, report)))

    @contextmanager
    def _turn(self, announcement: Announcement, link: Link) -> Iterator[None]:
        if not self._turns.acquire(blocking=False):
            if not self._limits.is_waiting:
                raise ReceiverBusy(announcement.label.name or "an array")
            while not self._turns.acquire(timeout=POLL_S):
                link.check()
        try:
            yield
        finally:
            self._turns.release()

    def _give(self, message: Message, link: Link, lane: str) -> None:
        offer = self.host.find(_request(message))
        wanted = message.fields.get("checksum", "xxh3")
        announced = announce(offer.array.shape, offer.array.dtype, offer.metadata, offer.label, wanted)
        send_array(link, replace(announced, transfer=message.get("transfer")), offer.array, lane)


def _request(message: Message) -> dict[str, Any]:
    try:
        request = json.loads(message.body or b"{}")
    except (ValueError, RecursionError) as error:
        raise TransferProtocolError("its request is not valid JSON") from error
    if not isinstance(request, dict):
        raise TransferProtocolError("its request is not a JSON object")
    return request


def receive(
    address: str,
    *,
    token: str,
    limits: ReceiveLimits = DEFAULT_LIMITS,
    timeout_s: float | None = None,
) -> ReceivedArray:
    """Listen at an address until one array has arrived."""
    with Listener(address, token=token, limits=limits) as listener:
        return listener.receive(timeout_s)
