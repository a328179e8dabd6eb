"""The connections of a Device Worker: chains from tasks, pulls from other Workers.

Here: DeviceWorker, with everything that belongs to one; the conversation about chains.
Not here: starting the process (main), running a chain (chain_runner), the other end (links).
"""

import json
import logging
import os
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass

import numpy as np

from pellucid.cluster.handles import WorkerId, checked_host
from pellucid.cluster.operations import Operation, UploadBlock, unpack_chain
from pellucid.cluster.worker.block_child import BlockChild
from pellucid.cluster.worker.block_exchange import BlockExchange
from pellucid.cluster.worker.block_provider import PeerBlocks
from pellucid.cluster.worker.block_store import BlockStore
from pellucid.cluster.worker.chain_runner import ChainResult, ChainRunner, described
from pellucid.cluster.worker.device_buffers import DeviceMemory, array_bytes
from pellucid.cluster.worker.lease import WorkerLease
from pellucid.errors import Cancelled, InvalidInput, PellucidError, TokenRejected, TransferInterrupted
from pellucid.formats.shared_memory import SharedArray
from pellucid.transport.acceptor import Acceptor
from pellucid.transport.address import Address
from pellucid.transport.peers.client import PeerClient
from pellucid.transport.peers.server import serve_pulls
from pellucid.transport.wire.messages import Channel, Message, Timeout, error_message

log = logging.getLogger(__name__)
CHAIN, RESULT, USAGE, END = "chain", "result", "usage", "end"
TIMEOUT_S = 60.0


@dataclass(frozen=True)
class WorkerSetup:
    """host: the IPv4 address at which others reach it. slot: the number of its device on the node. prefers_local:
    whether memory is shared with other processes of this machine."""

    token: str
    host: str = "127.0.0.1"
    slot: int = 0
    host_bytes: int = 0
    idle_timeout_s: float = 30.0
    prefers_local: bool = True


class DeviceWorker:
    """Listens until it is closed. on_end: called when no process holds its lease any more, or when a client ends it."""

    def __init__(self, setup: WorkerSetup, memory: DeviceMemory, on_end: Callable[[], None]) -> None:
        self._setup = setup
        self._is_closing = threading.Event()
        self._ready = threading.Event()
        tokens = lambda: (setup.token,)  # noqa: E731
        self._acceptor = Acceptor(Address(checked_host(setup.host), 0), tokens, self._enter, None)
        port = self._acceptor.address.port
        # So that clients do not take it for one that listened here before.
        self.id = WorkerId(setup.host, port, setup.slot, secrets.randbits(32))
        self.store = BlockStore(self.id, memory, setup.host_bytes)
        self.child = BlockChild(memory)
        self.peers = PeerClient(setup.token, prefers_local=setup.prefers_local)
        self._runner = ChainRunner(self.store, self.child, BlockExchange(self.store, self.peers))
        self.lease = WorkerLease(setup.idle_timeout_s, on_end)
        self._ready.set()

    def close(self) -> None:
        self._is_closing.set()
        self._acceptor.close()
        self.peers.close()
        self.child.close()

    def _enter(self, opening: Message, channel: Channel, _: Callable[[], bool]) -> None:
        self._ready.wait()
        channel.timeout = Timeout(TIMEOUT_S, self._is_closing)
        role = opening.get("role")
        if role == "peer":
            serve_pulls(channel, PeerBlocks(self.store))
            return
        with suppress(TransferInterrupted, Cancelled):
            if channel.is_local and opening.fields.get("holder", "").isdecimal():
                self.lease.hold(opening.number("holder"))
            _Conversation(self, channel).run()
        channel.close()

    def run(self, chain: list[Operation], upload: SharedArray | None, finish: Callable[[ChainResult], None]) -> None:
        self._runner.run(chain, upload, finish)


class _Conversation:
    """With one client: a message and its reply, one after the other."""

    def __init__(self, worker: DeviceWorker, channel: Channel) -> None:
        self._worker, self._channel = worker, channel

    def run(self) -> None:
        channel = self._channel
        channel.write(Message("worker", {"id": json.dumps(asdict(self._worker.id)), "pid": str(os.getpid())}))
        while True:
            message = channel.expect(CHAIN, USAGE, END, is_patient=True)
            try:
                self._answer(message)
            except (TransferInterrupted, TokenRejected):
                raise
            except PellucidError as error:
                channel.write(error_message(error))
            except MemoryError:
                full = InvalidInput("The host has no memory for a block.", remedy="Use smaller blocks.")
                channel.write(error_message(full))
            except Exception as error:  # The edge of a thread: the client is informed, and the Worker continues.
                log.exception("a chain failed")
                what = f"Internal error of a Device Worker: {type(error).__name__}: {error}."
                channel.write(error_message(InvalidInput(what, remedy="See the log of the Worker.")))

    def _answer(self, message: Message) -> None:
        if message.kind == END:
            self._channel.write(Message(RESULT))
            self._worker.lease.end()
        elif message.kind == USAGE:
            self._channel.write(Message(RESULT, {}, json.dumps(asdict(self._worker.store.usage)).encode()))
        else:
            self._run_chain(unpack_chain(message.body))

    def _run_chain(self, chain: list[Operation]) -> None:
        upload = self._received(chain[0]) if chain and isinstance(chain[0], UploadBlock) else None
        self._worker.run(chain, upload, self._reply)

    def _received(self, upload: UploadBlock) -> SharedArray:
        """The voxels that come along, in shared memory."""
        nbytes = array_bytes(upload.shape, np.dtype(upload.dtype))
        if self._channel.is_local:
            descriptor = self._channel.take_descriptor()
            return SharedArray(descriptor, (os.fstat(descriptor).st_size,), np.uint8)
        shared = SharedArray.create((nbytes,), np.uint8)
        try:
            self._channel.read_into(shared.array.data)
        except BaseException:
            shared.close()
            raise
        return shared

    def _reply(self, result: ChainResult) -> None:
        facts = described(result)
        voxels, shared = result.voxels, result.shared
        if voxels is None:
            self._channel.write(Message(RESULT, {}, json.dumps(facts).encode()))
        elif shared is not None and self._channel.is_local:
            offset = voxels.ctypes.data - shared.array.ctypes.data
            facts |= {"array": voxels.shape, "dtype": voxels.dtype.str, "strides": voxels.strides, "offset": offset}
            self._channel.write(
                Message(RESULT, {"bytes": str(shared.nbytes)}, json.dumps(facts).encode()), [shared.descriptor]
            )
        else:
            content = np.ascontiguousarray(voxels)
            facts |= {"array": content.shape, "dtype": content.dtype.str}
            encoded = Message(RESULT, {"follows": str(content.nbytes)}, json.dumps(facts).encode()).encoded()
            self._channel.write_bytes(encoded, content.reshape(-1).view(np.uint8).data)
