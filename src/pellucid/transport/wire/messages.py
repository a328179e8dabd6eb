"""Messages between the two ends, and bulk bytes between them, over one connection.

Here: Message and its bytes, Channel, which reads and writes them, errors that cross the wire, timeouts.
Not here: what messages mean (handshake, transfer), where connections come from (address).

A message is ``PLT1``, two lengths (4 bytes each, little endian), a head and a body. The head is UTF-8 text: a word,
then lines of ``key: value``. Unknown keys are skipped, so that a later version may say more.
"""

import os
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from pellucid import errors
from pellucid.errors import Cancelled, PellucidError, TransferInterrupted, TransferProtocolError

MAGIC = b"PLT1"
MAX_HEAD_BYTES = 64 * 1024
MAX_BODY = 128 * 1024
SHUTDOWN_TIMEOUT_S = 0.5
POLL_S = 0.2
_CREDENTIALS = struct.Struct("=3i")
_PREFIX = struct.Struct("<4sII")
REFUSED = "refused"
NOTHING_YET = (BlockingIOError, TimeoutError)


@dataclass(frozen=True)
class Message:
    """kind: one word. fields: text without line breaks. body: bytes that mean nothing to the transport."""

    kind: str
    fields: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def encoded(self) -> bytes:
        lines = [self.kind, *(f"{key}: {value}" for key, value in self.fields.items())]
        head = "\n".join(" ".join(line.splitlines()) for line in lines).encode()
        return _PREFIX.pack(MAGIC, len(head), len(self.body)) + head + self.body

    @classmethod
    def decoded(cls, head: bytes, body: bytes) -> "Message":
        """Raise TransferProtocolError where the head is no text."""
        try:
            kind, *lines = head.decode().split("\n")
        except UnicodeDecodeError as error:
            raise TransferProtocolError("a message is not text") from error
        pairs = (line.partition(": ") for line in lines)
        return cls(kind, {key: value for key, _, value in pairs}, body)

    def get(self, key: str) -> str:
        """The value of a field that has to be there."""
        if key not in self.fields:
            raise TransferProtocolError(f"the message {self.kind!r} has no field {key!r}")
        return self.fields[key]

    def number(self, key: str) -> int:
        text = self.get(key)
        if not (text.isdecimal() and len(text) < 20):
            raise TransferProtocolError(f"{key!r} is {text[:40]!r}, which is not a whole number")
        return int(text)


def error_message(error: PellucidError) -> Message:
    """The message that makes the other end raise the same error."""
    return Message(REFUSED, {"error": type(error).__name__, "what": error.what, "do": error.remedy})


def error_from_message(message: Message) -> PellucidError:
    """The error that a refusal stands for; of a kind unknown here, its words are kept."""
    kind = getattr(errors, message.fields.get("error", ""), None)
    known = kind if isinstance(kind, type) and issubclass(kind, PellucidError) else PellucidError
    error = known.__new__(known)
    PellucidError.__init__(error, message.fields.get("what", "Refused."), message.fields.get("do", ""))
    return error


@dataclass(frozen=True)
class Timeout:
    """How long to wait for a message of the peer, and the event that cancels the transfer."""

    timeout_s: float = 60.0
    cancel: threading.Event | None = None

    def check(self) -> None:
        """Raise Cancelled if the transfer was cancelled."""
        if self.cancel is not None and self.cancel.is_set():
            raise Cancelled("The transfer")

    def wait(self, since: float) -> None:
        """To be called when nothing came for a while: raise where that is too long."""
        self.check()
        if time.monotonic() - since > self.timeout_s:
            raise TransferInterrupted(f"no message from the peer for {self.timeout_s:g} s")


def _peer_of(connection: socket.socket) -> int:
    """The number of the process at the other end; 0 where it is not known here, as in another container."""
    content = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(content)[0])


def _is_readable(descriptor: int, timeout_s: float) -> bool:
    """Whether something can be read, or nothing ever will. By poll: select knows no descriptor above 1023."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(timeout_s * 1000))


def _wait_in_turns(connection: socket.socket) -> None:
    if isinstance(connection, ssl.SSLSocket):
        connection.settimeout(POLL_S)
        return
    # The kernel's own timeouts: with Python's, every call would be two. Python's TLS takes no notice of them.
    connection.setblocking(True)
    for direction in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        connection.setsockopt(socket.SOL_SOCKET, direction, struct.pack("@ll", 0, round(POLL_S * 1e6)))


class Channel:
    """One connection. Reading and writing wait in short turns, so that a cancel is noticed.

    is_local: it leads to a process of this machine, and memory can be handed through it.
    """

    def __init__(self, connection: socket.socket, timeout: Timeout, is_local: bool = False) -> None:
        self.connection = connection
        self._is_tls = isinstance(connection, ssl.SSLSocket)
        _wait_in_turns(connection)
        self.timeout = timeout
        self.is_local = is_local
        self._peer = _peer_of(connection) if is_local else 0
        self._descriptors: list[int] = []

    @property
    def is_peer_dead(self) -> bool:
        """Whether the process at the other end of a local socket has ended; False where that cannot be known."""
        try:
            process = os.pidfd_open(self._peer) if self._peer else -1
        except ProcessLookupError:
            return True
        except OSError:
            return False
        if process < 0:
            return False
        try:  # The kernel closes the files of a process a moment before the process is gone.
            return _is_readable(process, SHUTDOWN_TIMEOUT_S)
        finally:
            os.close(process)

    def write(self, message: Message, descriptors: Sequence[int] = ()) -> None:
        encoded = message.encoded()
        if not descriptors:
            self.write_bytes(encoded)
            return
        sent = socket.send_fds(self.connection, [encoded], list(descriptors))
        self.write_bytes(memoryview(encoded)[sent:])

    def read(self, *, is_patient: bool = False) -> Message:
        """The next message; a refusal is raised. is_patient: the other end may take as long as it likes, alive."""
        message = self.read_any(is_patient=is_patient)
        if message.kind == REFUSED:
            raise error_from_message(message)
        return message

    def read_any(self, *, is_patient: bool = False) -> Message:
        prefix = bytearray(_PREFIX.size)
        self.read_into(memoryview(prefix), is_patient=is_patient)
        magic, head_length, body_length = _PREFIX.unpack(prefix)
        if magic != MAGIC or head_length > MAX_HEAD_BYTES or body_length > MAX_BODY:
            raise TransferProtocolError("it sent an invalid message")
        content = bytearray(head_length + body_length)
        self.read_into(memoryview(content))
        return Message.decoded(bytes(content[:head_length]), bytes(content[head_length:]))

    def expect(self, *kinds: str, is_patient: bool = False) -> Message:
        """The next message, which has to be one of these."""
        message = self.read(is_patient=is_patient)
        if message.kind not in kinds:
            raise TransferProtocolError(f"it sent {message.kind[:40]!r}, expected {' or '.join(kinds)}")
        return message

    def write_bytes(self, *parts: bytes | memoryview) -> None:
        """Write one after the other, as one where the kernel can."""
        left = [memoryview(part) for part in parts if len(part)]
        since = time.monotonic()
        while left:
            try:
                left = _beyond(left, self._send(left))
                since = time.monotonic()
            except NOTHING_YET:
                self.timeout.wait(since)
            except OSError as error:
                raise TransferInterrupted(error.strerror or str(error)) from error

    def _send(self, parts: list[memoryview]) -> int:
        return self.connection.send(parts[0]) if len(parts) == 1 or self._is_tls else self.connection.sendmsg(parts)

    def read_into(self, *targets: memoryview, is_patient: bool = False) -> None:
        """Fill the targets one after the other, or raise TransferInterrupted."""
        left = [target for target in targets if len(target)]
        since = time.monotonic()
        while left:
            try:
                count = self._receive(left)
            except NOTHING_YET:
                self.timeout.wait(time.monotonic() if is_patient else since)
                continue
            except OSError as error:
                raise TransferInterrupted(error.strerror or str(error)) from error
            if count == 0:
                raise TransferInterrupted("the peer closed the connection")
            left = _beyond(left, count)
            since = time.monotonic()

    def _receive(self, targets: list[memoryview]) -> int:
        if self.is_local:
            return self._receive_descriptors(targets[0])
        if self._is_tls:
            return self.connection.recv_into(targets[0])
        if len(targets) == 1:
            return self.connection.recv_into(targets[0], 0, socket.MSG_WAITALL)
        return self.connection.recvmsg_into(targets, 0, socket.MSG_WAITALL)[0]

    def _receive_descriptors(self, target: memoryview) -> int:
        content, descriptors, _, _ = socket.recv_fds(self.connection, min(len(target), MAX_HEAD_BYTES), 1)
        self._descriptors += descriptors
        target[: len(content)] = content
        return len(content)

    def take_descriptor(self) -> int:
        """The descriptor that came with the last message."""
        if not self._descriptors:
            raise TransferProtocolError("the message came without shared memory")
        return self._descriptors.pop()

    def has_data(self) -> bool:
        """Whether something can be read, or the other end is gone."""
        return _is_readable(self.connection.fileno(), 0)

    def close(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors = []
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)  # Wakes a thread that waits in it; close alone would not.
        self.connection.close()


def _beyond(parts: list[memoryview], count: int) -> list[memoryview]:
    """What is left of some parts behind so many bytes."""
    for index, part in enumerate(parts):
        if count < len(part):
            return [part[count:], *parts[index + 1 :]]
        count -= len(part)
    return []
