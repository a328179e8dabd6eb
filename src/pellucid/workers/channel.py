"""The connection between a supervisor and a Worker: JSON messages over a Unix socket, with descriptors.

Here: MessageChannel, which sends and receives whole messages.
Not here: what they say (protocol), arrays behind the descriptors (formats.shared_memory).

Nothing is unpickled: a Worker runs users' code, and what it sends must not be able to run anything here.
"""

import json
import os
import socket
import struct
import threading
from contextlib import suppress
from typing import Any

HEAD = struct.Struct("<I")
MAX_MESSAGE_BYTES = 64 * 2**20


class MessageChannel:
    """One end. send may be called from any thread, receive from one."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sending = threading.Lock()

    def send(self, message: dict[str, Any], descriptor: int | None = None) -> None:
        """Raises OSError when the other end is gone."""
        text = json.dumps(message).encode()
        whole = memoryview(HEAD.pack(len(text)) + text)
        with self._sending:
            # The descriptor travels with the first byte; whatever did not fit follows without it.
            sent = socket.send_fds(self._connection, [whole], [] if descriptor is None else [descriptor])
            if sent < len(whole):  # Sending nothing would fail where the other end has read all and gone.
                self._connection.sendall(whole[sent:])

    def receive(self, timeout_s: float | None = None) -> tuple[dict[str, Any], int | None]:
        """The next message, and its descriptor, which belongs to the caller from then on.

        Raises EOFError when the other end is gone, TimeoutError when nothing came.
        """
        self._connection.settimeout(timeout_s)
        head, descriptors, _, _ = socket.recv_fds(self._connection, HEAD.size, 1)
        try:
            (length,) = HEAD.unpack(head + self._exactly(HEAD.size - len(head)) if head else self._exactly(HEAD.size))
            if length > MAX_MESSAGE_BYTES:
                raise EOFError
            message: dict[str, Any] = json.loads(self._exactly(length))
        except BaseException:
            for descriptor in descriptors:
                os.close(descriptor)
            raise
        return message, descriptors[0] if descriptors else None

    def close(self) -> None:
        """Wake up both ends."""
        with suppress(OSError):  # The other end was faster.
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def _exactly(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            part = self._connection.recv(count - len(parts))
            if not part:
                raise EOFError
            parts += part
        return bytes(parts)
