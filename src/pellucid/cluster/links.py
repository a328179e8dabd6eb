"""Connections to Device Workers, from tasks and programs.

Here: WorkerLink, one connection; WorkerLinks, all that a process has; ChainReply.
Not here: what a chain is (operations), the other end (worker.server), starting Workers (nodes).
"""

import json
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.box import Shape, triple
from pellucid.cluster.handles import Handle, WorkerId
from pellucid.cluster.operations import NO_HALO, Operation, pack_chain
from pellucid.dataclass_json import from_json
from pellucid.errors import BlockLost, PellucidError, TransferInterrupted, TransferProtocolError, Unreachable
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.transport.address import Address
from pellucid.transport.dialing import dial
from pellucid.transport.lanes.shm import checked_size
from pellucid.transport.peers.requests import parse_dtype
from pellucid.transport.wire.messages import Channel, Message, Timeout

TIMEOUT_S = 60.0


@dataclass(frozen=True)
class ChainReply:
    """handle: of the block, where it is kept. shape, dtype, halo: of the block. value: of the last computation.
    voxels: of a Download."""

    handle: Handle | None
    shape: Shape | None = None
    dtype: np.dtype[Any] | None = None
    halo: Shape = NO_HALO
    value: Any = None
    voxels: Voxels | None = None


class WorkerLink:
    """Used by one thread at a time. holder: the process for which the Worker is there; 0 where that is on another
    machine. Interrupted, it is closed: a chain may or may not have run then."""

    def __init__(self, address: Address, token: str, holder: int = 0, *, prefers_local: bool = True) -> None:
        purpose = {"role": "chain", "holder": str(holder)}
        self._channel: Channel = dial(address, token, purpose, Timeout(TIMEOUT_S), prefers_local=prefers_local)
        hello = self._channel.expect("worker")
        self.worker: WorkerId = from_json(WorkerId, json.loads(hello.get("id")), "worker")
        self.pid = hello.number("pid")

    @property
    def is_local(self) -> bool:
        """Whether memory is shared with the Worker."""
        return self._channel.is_local

    def run(self, chain: Sequence[Operation], voxels: Voxels | None = None) -> ChainReply:
        """Run a chain. voxels: of its Upload."""
        message = Message("chain", {}, pack_chain(chain))
        if voxels is None:
            self._channel.write(message)
        elif self.is_local:
            with _shared(voxels) as shared:
                self._channel.write(message, [shared.descriptor])
        else:
            content = np.ascontiguousarray(voxels)
            self._channel.write_bytes(message.encoded(), content.reshape(-1).view(np.uint8).data)
        return self._reply()

    def usage(self) -> dict[str, int]:
        """Of the Worker's memory."""
        self._channel.write(Message("usage"))
        found: dict[str, int] = json.loads(self._channel.expect("result").body)
        return found

    def end(self) -> None:
        """The Worker ends, with everything that it has."""
        self._channel.write(Message("end"))
        self._channel.expect("result")

    def close(self) -> None:
        self._channel.close()

    def _reply(self) -> ChainReply:
        message = self._channel.expect("result", is_patient=True)
        facts = json.loads(message.body)
        voxels = None
        if "array" in facts:
            voxels = self._mapped(message, facts) if "bytes" in message.fields else self._received(message, facts)
        return ChainReply(
            Handle.parse(facts["handle"]) if facts["handle"] else None,
            triple(facts["shape"]) if "shape" in facts else None,
            parse_dtype(facts["dtype"]) if "dtype" in facts else None,
            triple(facts.get("halo", NO_HALO)),
            facts["value"],
            voxels,
        )

    def _mapped(self, message: Message, facts: dict[str, Any]) -> Voxels:
        """The array in the Worker's memory. What is written to it here stays here."""
        nbytes = message.number("bytes")
        shared = SharedArray(checked_size(self._channel.take_descriptor(), nbytes), (nbytes,), np.uint8)
        shared.make_private()
        content, dtype = shared.array, parse_dtype(facts["dtype"])
        shared.close()
        return np.ndarray(facts["array"], dtype, content.data, facts["offset"], facts["strides"])

    def _received(self, message: Message, facts: dict[str, Any]) -> Voxels:
        voxels: Voxels = np.empty(facts["array"], parse_dtype(facts["dtype"]))
        if voxels.nbytes != message.number("follows"):
            raise TransferProtocolError("it sent an array of another size")
        self._channel.read_into(voxels.reshape(-1).view(np.uint8).data)
        return voxels


def _shared(voxels: Voxels) -> SharedArray:
    """The array in shared memory: its own, where it is in such memory, else a copy."""
    shared = SharedArray.create((max(1, voxels.nbytes),), np.uint8)
    np.copyto(np.ndarray(voxels.shape, voxels.dtype, shared.array.data), voxels)
    return shared


class WorkerLinks:
    """Methods may be called from any thread."""

    def __init__(self, token: str, holder: int | None = None, *, prefers_local: bool = True) -> None:
        self._token, self._holder = token, os.getpid() if holder is None else holder
        self.prefers_local = prefers_local
        self._idle: dict[Address, list[WorkerLink]] = {}
        self._lock = threading.Lock()
        self.round_trips = 0

    def run(self, worker: WorkerId, chain: Sequence[Operation], voxels: Voxels | None = None) -> ChainReply:
        """Run a chain on a Worker. BlockLost where it is gone, or replaced by another one."""
        with self._lock:
            self.round_trips += 1
        link = self._take(worker)
        try:
            reply = link.run(chain, voxels)
        except TransferInterrupted as error:
            link.close()
            raise BlockLost(str(worker), f"the connection ended ({error.what.rstrip('.')})") from error
        except PellucidError:
            self._put(worker, link)
            raise
        except BaseException:
            link.close()  # Interrupted: the reply is still to come.
            raise
        self._put(worker, link)
        return reply

    def connect(self, address: Address) -> WorkerId:
        """Which Worker listens at an address."""
        link = WorkerLink(address, self._token, self._holder, prefers_local=self.prefers_local)
        self._put(link.worker, link)
        return link.worker

    def usage(self, worker: WorkerId) -> dict[str, int]:
        """BlockLost where the Worker is gone."""
        link = self._take(worker)
        try:
            found = link.usage()
        except TransferInterrupted as error:
            link.close()
            raise BlockLost(str(worker), "it does not respond") from error
        self._put(worker, link)
        return found

    def end(self, worker: WorkerId) -> None:
        """End a Worker; one that is gone already is no error."""
        try:
            link = self._take(worker)
            link.end()
        except (BlockLost, TransferInterrupted):
            return
        link.close()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, {}
        for link in (one for some in idle.values() for one in some):
            link.close()

    def _take(self, worker: WorkerId) -> WorkerLink:
        with self._lock:
            idle = self._idle.get(worker.address)
            link = idle.pop() if idle else None
        if link is None:
            try:
                link = WorkerLink(worker.address, self._token, self._holder, prefers_local=self.prefers_local)
            except (Unreachable, TransferInterrupted) as error:
                raise BlockLost(str(worker), "it does not respond") from error
        if link.worker != worker:
            link.close()
            raise BlockLost(str(worker), "it was replaced by another one")
        return link

    def _put(self, worker: WorkerId, link: WorkerLink) -> None:
        with self._lock:
            self._idle.setdefault(worker.address, []).append(link)
