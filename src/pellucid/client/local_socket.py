"""Access from the viewer's own machine: shared memory is passed over a Unix socket, and any file can be opened.

Here: LocalSocketClient, the program's end of it.
Not here: the viewer's end (instance.arrays.local_socket), arrays that are copied (transport).
"""

import os
import socket
import struct
import time
from contextlib import closing
from typing import Any

import numpy as np

from pellucid.client.arrays import ArraySource
from pellucid.client.connection import TIMEOUT_S, error_from_body
from pellucid.errors import ViewerUnreachable
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.transport.wire.announcement import ArrayInfo
from pellucid.transport.wire.transfer import TransferReport
from pellucid.workers.channel import MessageChannel


class LocalSocketClient:
    """Nothing is copied, either way."""

    def __init__(self, address: str, unix_socket: str, token: str) -> None:
        self._address, self._socket, self._token = address, unix_socket, token

    @classmethod
    def reached(cls, address: str, unix_socket: str, token: str) -> "LocalSocketClient | None":
        """None from another machine, and for another user."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as preview:
            try:
                preview.connect(unix_socket)
            except OSError:
                return None
        return cls(address, unix_socket, token)

    def send_array(self, given: ArraySource, label: ArrayInfo, how: str) -> TransferReport:
        """Hand memory over, which is filled first where it is not shared already. What is written to it afterwards is
        not seen by the viewer."""
        started, shared = time.perf_counter(), given.in_shared_memory()
        text = {"spacing": label.spacing, "unit": label.unit, "name": label.name, "how": how}
        try:
            self._ask({"offer": {"shape": given.shape, "dtype": given.dtype.str, **text}}, shared.descriptor)
        finally:
            if shared is given.shared:
                shared.make_private()
            else:
                shared.close()
        moved = 0 if shared is given.shared else shared.nbytes
        return TransferReport("shm", 0, "none", moved, time.perf_counter() - started)

    def load(self, path: str, how: str) -> None:
        self._ask({"load": {"path": path, "how": how}})

    def allow(self, path: str) -> None:
        """The viewer may read files in the folder of this one."""
        self._ask({"allow": path})

    def retrieve(self, layer: int, box: str) -> Voxels:
        answer, descriptor = self._ask({"retrieve": {"layer": layer, "box": box}})
        if descriptor is None:
            raise ViewerUnreachable(self._address, "its reply contained no memory")
        shared = SharedArray(descriptor, answer["shape"], np.dtype(answer["dtype"]))
        with shared:
            return shared.array  # The view keeps the memory; the descriptor is not needed any more.

    def _ask(self, message: dict[str, Any], descriptor: int | None = None) -> tuple[dict[str, Any], int | None]:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with closing(MessageChannel(connection)) as line:
            try:
                connection.connect(self._socket)
                _check_peer(connection)
                line.send({"token": self._token, **message}, descriptor)
                answer, received = line.receive(TIMEOUT_S)
            except (OSError, EOFError) as error:
                raise ViewerUnreachable(self._address, str(error) or "it has ended") from error
        if "what" in answer:
            raise error_from_body(answer)
        return answer, received


def _check_peer(connection: socket.socket) -> None:
    """Only this user's process gets the token and the memory: another user may have made a socket of the same name."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, uid, _ = struct.unpack("3i", credentials)
    if uid != os.geteuid():
        raise OSError("a program of another user responds there")
