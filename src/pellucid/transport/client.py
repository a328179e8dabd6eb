"""The connecting end: sends arrays to a listener, and retrieves them.

Here: send, retrieve, allocate, stream, TransferOptions, the choice of a lane.
Not here: the end that listens (server), one transfer (wire.transfer).
"""

import json
import logging
import secrets
import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from pellucid.errors import InvalidInput, PellucidError, TransferProtocolError, TransferTooLarge, Unreachable
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.transport.address import CONNECT_TIMEOUT_S, Address, connect
from pellucid.transport.dialing import local_channel
from pellucid.transport.host import ReceivedArray
from pellucid.transport.lanes.lane import AUTO, PROXY, Link, checked_lane, has_rdma, lanes_here, machine
from pellucid.transport.lanes.shm import SENT, attach
from pellucid.transport.streams import StreamWriter
from pellucid.transport.tunnel.tunnel import connect_through
from pellucid.transport.tunnel.upgrade import WebAddress, is_web
from pellucid.transport.wire.announcement import NO_LABEL, Announcement, ArrayInfo, announce
from pellucid.transport.wire.handshake import authenticate_client, checked_token
from pellucid.transport.wire.messages import POLL_S, Channel, Message, Timeout
from pellucid.transport.wire.pieces import PieceTarget
from pellucid.transport.wire.transfer import TransferReport, receive_array, send_array

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class TransferOptions:
    """How to send. lane: auto chooses the best that both ends support. attempts: how often an interrupted transfer is
    resumed.

    streams: TCP connections when retrieving; when sending, the receiver decides. limit_bytes: the largest array that is
    accepted when retrieving. window_bytes: how much of a stream may be in progress. bearer: the client's credential for
    a web server in between, if that is not the token. has_proof: without TLS, that server must first prove that it
    holds the secret; a JupyterHub cannot.
    """

    lane: str = AUTO
    checksum: str = "xxh3"
    attempts: int = 4
    streams: int = 4
    timeout_s: float = 60.0
    cancel: threading.Event | None = None
    limit_bytes: int = 2**40
    window_bytes: int = 2**26
    bearer: str = ""
    has_proof: bool = True


DEFAULT = TransferOptions()


@dataclass(frozen=True)
class TransferClient:
    """A client of one listener."""

    address: Address | WebAddress
    token: str
    options: TransferOptions

    @classmethod
    def to(cls, address: str, token: str, options: TransferOptions) -> "TransferClient":
        if options.lane != AUTO:
            checked_lane(options.lane)
        parsed = WebAddress.parse(address) if is_web(address) else Address.parse(address)
        return cls(parsed, checked_token(token), options)

    def call(self, transfer: str) -> tuple[Link, str]:
        """An authenticated link for a transfer, and the lane that is best on it."""
        control = self._channel()
        try:
            welcome = authenticate_client(control, self.token, {"role": "control"})
            lane = self._choose(welcome)
            if lane == "shm":
                control, lane = self._local(control, welcome)
        except BaseException:
            control.close()
            raise
        LOG.info("transfer %s to %s goes through %s", transfer, self.address, lane)
        return Link(control, lambda: self._join(transfer), self.options.streams), lane

    def _choose(self, welcome: Message) -> str:
        both = [lane for lane in (*lanes_here(), PROXY) if lane in welcome.get("lanes").split()]
        wanted = self.options.lane
        if wanted == AUTO and PROXY not in both:
            is_same_machine = machine() and welcome.fields.get("machine") == machine()
            is_rdma = "ucx" in both and has_rdma() and "rdma" in welcome.fields
            return "shm" if is_same_machine else "ucx" if is_rdma else "tcp"
        if wanted == AUTO:
            return PROXY
        if wanted not in both:
            remedy = f"Use one of: {', '.join(both)}."
            raise InvalidInput(f"The lane {wanted} is not available to {self.address}.", remedy=remedy)
        return wanted

    def _local(self, control: Channel, welcome: Message) -> tuple[Channel, str]:
        """The same conversation over a local socket, where there is one."""
        local = local_channel(control, welcome, self.token, {"role": "control"})
        if local is None:
            if self.options.lane == "shm":
                raise Unreachable(
                    f"the local socket {welcome.get('local')}", "it is not accessible from this machine or container"
                )
            return control, "tcp"
        return local, "shm"

    def _join(self, transfer: str) -> Channel:
        channel = self._channel()
        try:
            authenticate_client(channel, self.token, {"role": "stream", "transfer": transfer})
        except BaseException:
            channel.close()
            raise
        return channel

    def _channel(self) -> Channel:
        return Channel(self._connected(), Timeout(self.options.timeout_s, self.options.cancel))

    def _connected(self) -> socket.socket:
        timeout_s = min(self.options.timeout_s, CONNECT_TIMEOUT_S)
        if isinstance(self.address, WebAddress):
            bearer = self.options.bearer or self.token
            return connect_through(self.address, bearer, timeout_s, has_proof=self.options.has_proof)
        return connect(self.address, timeout_s)

    def repeated(self, attempt: "TransferAttempt") -> Any:
        """The result of an attempt; one that a broken connection ended is made again, and takes up where it stopped."""
        pause = self.options.cancel or threading.Event()
        has_begun = False
        for number in range(1, self.options.attempts + 1):
            try:
                link, lane = self.call(attempt.transfer)
                has_begun = True
                try:
                    found = attempt.run(link, lane)
                finally:
                    link.control.close()
                if lane == PROXY:
                    LOG.warning("Through the web proxy at %s: %s.", self.address, getattr(found, "report", found))
                return found
            except PellucidError as error:
                if not (error.is_transient and has_begun) or number == self.options.attempts:
                    raise
                LOG.warning("%s Trying again.", error)
                pause.wait(POLL_S * 2**number)
        raise InvalidInput("The number of attempts is 0.", remedy="Set attempts to 1 or more.")


class TransferAttempt:
    """One try of a transfer."""

    transfer: str

    def run(self, link: Link, lane: str) -> Any:
        raise NotImplementedError


class _Send(TransferAttempt):
    def __init__(self, announcement: Announcement, array: Voxels) -> None:
        self.transfer = announcement.transfer
        self._announcement = announcement
        self._array = array

    def run(self, link: Link, lane: str) -> TransferReport:
        return send_array(link, self._announcement, self._array, lane)


class _Retrieve(TransferAttempt):
    def __init__(self, request: Mapping[str, Any], options: TransferOptions) -> None:
        self.transfer = secrets.token_hex(16)
        self._request = json.dumps(dict(request)).encode()
        self._options = options
        self._target: PieceTarget | None = None

    def run(self, link: Link, lane: str) -> ReceivedArray:
        text = {"transfer": self.transfer, "lane": lane, "checksum": self._options.checksum}
        link.control.write(Message("request", text, self._request))
        announcement = Announcement.read(link.control.expect("announce", is_patient=True))
        if announcement.nbytes > self._options.limit_bytes:
            raise TransferTooLarge(announcement.nbytes, self._options.limit_bytes)
        if announcement.transfer != self.transfer:
            raise TransferProtocolError("it sent another array than the requested one")
        if self._target is None or self._target.announcement != announcement:
            self._target = PieceTarget.create(announcement)
        reports: list[TransferReport] = []
        receive_array(link, self._target, lane, reports.append)
        return ReceivedArray(self._target, reports[0])


def send(
    address: str,
    array: Voxels,
    metadata: Mapping[str, Any] | None = None,
    *,
    token: str,
    label: ArrayInfo = NO_LABEL,
    options: TransferOptions = DEFAULT,
) -> TransferReport:
    """Send an array to a listener, and return when all of it has arrived. Do not change it meanwhile.

    Any NumPy array of numbers is accepted, in any memory order. metadata: JSON values, up to 128 KiB.
    """
    caller = TransferClient.to(address, token, options)
    announcement = announce(array.shape, array.dtype, metadata, label, options.checksum)
    report: TransferReport = caller.repeated(_Send(announcement, np.asarray(array)))
    return report


def retrieve(
    address: str, request: Mapping[str, Any], *, token: str, options: TransferOptions = DEFAULT
) -> ReceivedArray:
    """Request an array from a listener, which defines what a request may contain."""
    received: ReceivedArray = TransferClient.to(address, token, options).repeated(_Retrieve(request, options))
    return received


class Allocation:
    """Memory to fill and send. On one machine it is the receiver's own memory, and sending copies nothing.

    array: to be filled. After ``send`` it belongs to the receiver; writing through views of it has no effect there.
    """

    def __init__(self, caller: TransferClient, announcement: Announcement) -> None:
        self._caller = caller
        self._announcement = announcement
        self._link, self.lane = caller.call(announcement.transfer)
        if self.lane == "shm":
            self._link.control.write(announcement.message(lane="shm"))
            answer = self._link.control.expect("ready", "stored", is_patient=True)
        if self.lane == "shm" and answer.kind == "ready":
            descriptor = self._link.control.take_descriptor()
            self._shared = attach(descriptor, announcement.shape, announcement.dtype)
        else:
            self._link.control.close()
            self._shared = SharedArray.create(announcement.shape, announcement.dtype)

    @property
    def array(self) -> Voxels:
        if self._shared.is_private:
            raise InvalidInput("This buffer was already sent.", remedy="Allocate a new one for the next array.")
        return self._shared.array

    def send(self) -> TransferReport:
        """Send it, and return when the receiver has it."""
        array = self.array
        if self.lane != "shm":
            report: TransferReport = self._caller.repeated(_Send(self._announcement, array))
            self._shared.make_private()
            return report
        self._shared.make_private()  # Before they have it: what they have then cannot change any more.
        if array.size:  # What has no voxel is complete as soon as it is announced.
            self._link.control.write(Message(SENT))
            self._link.control.expect("stored", is_patient=True)
        self.close()
        return TransferReport("shm", 0, "none", 0, 0.0)

    def close(self) -> None:
        """Release it; an array that was not sent is discarded by the receiver."""
        self._link.control.close()

    def __enter__(self) -> "Allocation":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def allocate(
    address: str,
    shape: Sequence[int],
    dtype: Any,
    *,
    token: str,
    label: ArrayInfo = NO_LABEL,
    options: TransferOptions = DEFAULT,
) -> Allocation:
    """Memory for an array to be sent: the receiver's own memory if it is on this machine."""
    caller = TransferClient.to(address, token, options)
    return Allocation(caller, announce(shape, dtype, None, label, options.checksum))


def stream(
    address: str,
    shape: Sequence[int],
    dtype: Any,
    *,
    token: str,
    label: ArrayInfo = NO_LABEL,
    options: TransferOptions = DEFAULT,
) -> StreamWriter:
    """A writer for the blocks or slices of a volume as they are produced."""
    announcement = announce(shape, dtype, None, label, options.checksum, mode="stream")
    return open_stream(TransferClient.to(address, token, options), announcement)


def open_stream(caller: TransferClient, announcement: Announcement) -> StreamWriter:
    """The writer of a stream that is announced like this."""

    def call() -> tuple[Link, str]:
        link, lane = caller.call(announcement.transfer)
        return link, "tcp" if lane == "ucx" else lane  # Blocks of a stream have no UCX lane.

    return StreamWriter(announcement, call, caller.options.window_bytes, caller.options.attempts)
