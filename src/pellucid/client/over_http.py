"""Arrays and files in HTTP requests: the last resort, where nothing but the page's own connection leads to a viewer.

Here: OverHttp.
Not here: the requests (connection), better ways (lanes).
"""

import io
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import numpy as np

from pellucid.client.arrays import Given
from pellucid.client.connection import Connection
from pellucid.formats.protocol import Voxels
from pellucid.rendering.geometry.mesh_files import save_mesh
from pellucid.rendering.geometry.shapes import Mesh, Points
from pellucid.transport.announcement import Label
from pellucid.transport.session import Report

PIECE_BYTES = 32 * 2**20


class OverHttp:
    """In pieces, each a request of its own."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def show(self, given: Given, label: Label, how: str) -> Report:
        started, voxels = time.perf_counter(), np.ascontiguousarray(given.in_memory())
        announced = {"shape": given.shape, "dtype": given.dtype.str, "how": how}
        announced |= {"spacing": label.spacing, "unit": label.unit, "name": label.name}
        place = f"/api/arrays/{self._connection.ask('POST', '/api/arrays', announced)['id']}"
        flat = voxels.reshape(-1).view(np.uint8).data
        for offset in range(0, len(flat), PIECE_BYTES):
            self._connection.exchange("PUT", place, flat[offset : offset + PIECE_BYTES], offset=offset)
        self._connection.ask("POST", f"{place}/show")
        return Report("http", 1, "none", len(flat), time.perf_counter() - started)

    def show_points(self, points: Points, how: str) -> None:
        columns = np.column_stack([points.positions, points.values])
        self.load(self._put(".npy", lambda path: np.save(path, columns)), how)

    def show_mesh(self, mesh: Mesh, how: str) -> None:
        self.load(self._put(".ply", lambda path: save_mesh(mesh, path)), how)

    def load(self, path: str, how: str) -> None:
        self._connection.ask("POST", "/api/load", {"path": path, "how": how})

    def retrieve(self, layer: int, box: str) -> Voxels:
        content = self._connection.exchange("GET", "/api/volume", layer=layer, box=box)
        voxels: Voxels = np.load(io.BytesIO(content))
        return voxels

    def _put(self, ending: str, write: Callable[[Path], object]) -> str:
        """A file that ``write`` makes, where the instance can open it; its path there."""
        name = uuid4().hex + ending  # What is drawn is known by its name: another file must have another.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, name)
            write(path)
            answer = self._connection.exchange("PUT", "/api/upload", path.read_bytes(), name=name)
        return str(json.loads(answer)["path"])
