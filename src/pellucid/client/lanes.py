"""How arrays and files get to an instance and back.

Here: Lane, the few things that every way can do; SameHost, over a Unix socket, where memory itself changes hands; and
OverHttp, piece by piece.
Not here: which objects are arrays (arrays), other requests (connection).
"""

import io
import json
import os
import socket
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import numpy as np

from pellucid.client.arrays import Given
from pellucid.client.connection import PATIENCE_S, Connection, raised
from pellucid.errors import ViewerUnreachable
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared import SharedArray
from pellucid.workers.line import Line

PIECE_BYTES = 32 * 2**20


class Lane(Protocol):
    """offer: what goes with an array, as the protocol's ArrayOffer, without its shape and type."""

    def show(self, given: Given, offer: dict[str, Any]) -> None: ...
    def load(self, path: str, how: str) -> None: ...
    def put(self, name: str, write: Callable[[Path], object]) -> str:
        """A file that ``write`` makes, where the instance can open it; its path there."""
        ...

    def retrieve(self, layer: int, box: str) -> Voxels: ...


def lane_to(connection: Connection, unix_socket: str) -> Lane:
    """The fastest way: the instance's Unix socket, where this process can reach it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        try:
            trial.connect(unix_socket)
        except OSError:  # Another machine, or another person's.
            return OverHttp(connection)
    return SameHost(connection, unix_socket)


class SameHost:
    """An array is copied once, or not at all where it is shared already; what comes back is not copied."""

    def __init__(self, connection: Connection, unix_socket: str) -> None:
        self._connection, self._socket = connection, unix_socket

    def show(self, given: Given, offer: dict[str, Any]) -> None:
        shared = given.in_shared_memory()
        try:
            self._ask({"offer": {"shape": given.shape, "dtype": given.dtype.str, **offer}}, shared.descriptor)
        finally:
            if shared is not given.shared:
                shared.close()

    def load(self, path: str, how: str) -> None:
        self._ask({"load": {"path": path, "how": how}})

    def put(self, name: str, write: Callable[[Path], object]) -> str:
        folder = Path(self._socket).parent / "uploads"
        folder.mkdir(exist_ok=True)
        path = folder / _unique(name)
        write(path)
        return str(path)

    def retrieve(self, layer: int, box: str) -> Voxels:
        answer, descriptor = self._ask({"retrieve": {"layer": layer, "box": box}})
        if descriptor is None:
            raise ViewerUnreachable(self._connection.address, "no memory came with its answer")
        shared = SharedArray(descriptor, answer["shape"], np.dtype(answer["dtype"]))
        with shared:
            return shared.array  # The view keeps the memory; the descriptor is not needed any more.

    def _ask(self, message: dict[str, Any], descriptor: int | None = None) -> tuple[dict[str, Any], int | None]:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with closing(Line(connection)) as line:
            try:
                connection.connect(self._socket)
                line.send({"token": self._connection.token, **message}, descriptor)
                answer, received = line.receive(PATIENCE_S)
            except (OSError, EOFError) as error:
                raise ViewerUnreachable(self._connection.address, str(error) or "it has ended") from error
        if "what" in answer:
            raise raised(answer)
        return answer, received


class OverHttp:
    """In pieces, each a request of its own."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def show(self, given: Given, offer: dict[str, Any]) -> None:
        voxels = np.empty(given.shape, given.dtype)
        given.copy_to(voxels)
        announced = {"shape": given.shape, "dtype": given.dtype.str, **offer}
        place = f"/api/arrays/{self._connection.ask('POST', '/api/arrays', announced)['id']}"
        flat = voxels.reshape(-1).view(np.uint8).data
        for offset in range(0, len(flat), PIECE_BYTES):
            self._connection.exchange("PUT", place, flat[offset : offset + PIECE_BYTES], offset=offset)
        self._connection.ask("POST", f"{place}/show")

    def load(self, path: str, how: str) -> None:
        self._connection.ask("POST", "/api/load", {"path": path, "how": how})

    def put(self, name: str, write: Callable[[Path], object]) -> str:
        unique = _unique(name)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, unique)
            write(path)
            answer = self._connection.exchange("PUT", "/api/upload", path.read_bytes(), name=unique)
        return str(json.loads(answer)["path"])

    def retrieve(self, layer: int, box: str) -> Voxels:
        content = self._connection.exchange("GET", "/api/volume", layer=layer, box=box)
        voxels: Voxels = np.load(io.BytesIO(content))
        return voxels


def _unique(name: str) -> str:
    """What is drawn is known by its name: another file must have another."""
    stem, ending = os.path.splitext(name)  # noqa: PTH122
    return f"{stem}-{uuid4().hex[:6]}{ending}"
