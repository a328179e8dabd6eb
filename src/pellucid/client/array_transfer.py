"""How arrays and files are sent to a viewer and back.

Here: ArrayTransfers, which takes the fastest way: memory that changes hands on one machine (local_socket), or the
transport, directly or through the web server that the pages come from.
Not here: which objects are arrays (arrays), other requests (connection), bytes on the way (transport).
"""

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pellucid.client.arrays import ArraySource
from pellucid.client.connection import Connection
from pellucid.client.local_socket import LocalSocketClient
from pellucid.errors import NotAllowed, PellucidError
from pellucid.formats.protocol import Voxels
from pellucid.rendering.geometry.shapes import Mesh, Points
from pellucid.transport.address import Address
from pellucid.transport.client import TransferClient, TransferOptions, open_stream, retrieve, send
from pellucid.transport.lanes.lane import PROXY
from pellucid.transport.streams import StreamWriter
from pellucid.transport.wire.announcement import ArrayInfo, announce
from pellucid.transport.wire.transfer import TransferReport

LOG = logging.getLogger(__name__)
PROBE_S = 3.0


@dataclass(frozen=True)
class DisplayOptions:
    """What goes with an array. how: alone, beside what is there, or as labels over it. cancel: ends the transfer."""

    label: ArrayInfo
    how: str = "replace"
    cancel: threading.Event | None = None

    def metadata(self, **more: object) -> dict[str, Any]:
        return {"pellucid": {"how": self.how, **more}}


class ArrayTransfers:
    """The ways to one instance. token: that they ask for. last: how the latest array travelled."""

    def __init__(self, connection: Connection, unix_socket: str, transfer: str, token: str) -> None:
        self._connection, self._reply, self._token = connection, transfer, token
        self.same_host = LocalSocketClient.reached(connection.address, unix_socket, token)
        self.last: TransferReport | None = None

    @cached_property
    def address(self) -> str:
        """Of the transport, as it is reached from here."""
        return _reachable(self._reply, self._connection, self._token)

    def show(self, given: ArraySource, showing: DisplayOptions) -> None:
        if self.same_host is not None and given.array is None:  # Shared already, or to be written there once.
            self._note(self.same_host.send_array(given, showing.label, showing.how))
        else:
            self._send(given.in_memory(), showing, showing.metadata())

    def show_points(self, points: Points, showing: DisplayOptions) -> None:
        rows = np.column_stack([points.positions, points.values])
        self._send(rows, showing, showing.metadata(kind="points"))

    def show_mesh(self, mesh: Mesh, showing: DisplayOptions) -> None:
        rows = np.concatenate([mesh.vertices.view(np.uint32), mesh.triangles.astype(np.uint32)])
        self._send(rows, showing, showing.metadata(kind="mesh", vertices=len(mesh.vertices)))

    def stream(self, shape: Sequence[int], dtype: Any, showing: DisplayOptions) -> StreamWriter:
        options = self._options(showing.cancel)
        announced = announce(shape, dtype, showing.metadata(), showing.label, options.checksum, mode="stream")
        return open_stream(TransferClient.to(self.address, self._token, options), announced)

    def load(self, path: str, how: str) -> None:
        if self.same_host is not None:
            self.same_host.load(path, how)
        else:
            self._connection.ask("POST", "/api/load", {"path": path, "how": how})

    def retrieve(self, layer: int, box: str) -> Voxels:
        if self.same_host is not None:
            return self.same_host.retrieve(layer, box)
        request, token = {"layer": layer, "box": box}, self._token
        received = retrieve(self.address, request, token=token, options=self._options())
        self._note(received.report)
        return received.array

    def _send(self, array: Voxels, showing: DisplayOptions, metadata: Mapping[str, Any]) -> None:
        options, token = self._options(showing.cancel), self._token
        self._note(send(self.address, array, metadata, token=token, label=showing.label, options=options))

    def _options(self, cancel: threading.Event | None = None) -> TransferOptions:
        return TransferOptions(cancel=cancel, bearer=self._connection.bearer, has_proof=self._connection.has_proof)

    def _note(self, report: TransferReport | None) -> None:
        self.last = report
        if report is not None and report.lane == PROXY:
            LOG.warning("No direct connection to %s. %s.", self._connection.address, report)
        else:
            LOG.info("%s.", report)


def _reachable(reply: str, connection: Connection, token: str) -> str:
    """The address at which the instance's transport answers: directly, where pages come from or where it says that it
    is, else through the web server that the pages come from."""
    if not reply:
        what = "This link does not allow sending arrays."
        raise NotAllowed(what, remedy="Ask the person who started the viewer for the owner link.")
    address = Address.parse(reply)
    options = TransferOptions(timeout_s=PROBE_S, attempts=1, bearer=connection.bearer, has_proof=connection.has_proof)
    direct = [str(replace(address, host=host)) for host in dict.fromkeys((connection.host, address.host))]
    for found in (*direct, connection.web):
        try:
            link, _ = TransferClient.to(found, token, options).call("")
        except PellucidError as error:  # No program, or another one, answers.
            why = error
            continue
        link.control.close()
        return found
    raise why
