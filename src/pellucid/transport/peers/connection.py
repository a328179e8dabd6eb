"""The end of a peer connection that pulls.

Here: PeerConnection: one connection, used by one thread at a time; MappedBlock.
Not here: several connections to several peers (client), the other end (server).
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from pellucid.box import Shape
from pellucid.errors import TransferInterrupted, TransferProtocolError
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.transport.address import Address
from pellucid.transport.dialing import dial
from pellucid.transport.lanes.shm import checked_size
from pellucid.transport.peers.requests import (
    BlockLayout,
    PullRequest,
    pack_keys,
    pack_pulls,
    parse_dtype,
    unpack_layouts,
)
from pellucid.transport.peers.server import BUFFER, CHECKSUM, CONTENT, DESCRIBE, DONE, FORGET, LAYOUTS, MAP, PULL
from pellucid.transport.wire.messages import Channel, Message, Timeout
from pellucid.transport.wire.pieces import checksum

PURPOSE = {"role": "peer"}


@dataclass(frozen=True)
class MappedBlock:
    """A block of another process in the memory of that process. shared: all of its buffer, which outlives it."""

    shared: SharedArray
    array: Voxels


class PeerConnection:
    """timeout: its event ends a pull from another thread."""

    def __init__(self, address: Address, token: str, timeout: Timeout, *, prefers_local: bool = True) -> None:
        self._channel: Channel = dial(address, token, PURPOSE, timeout, prefers_local=prefers_local)
        self._buffers: dict[int, SharedArray] = {}
        self._batches = count()
        self._scratch = np.empty(0, np.uint8)

    @property
    def is_local(self) -> bool:
        """Whether memory is shared with the other end."""
        return self._channel.is_local

    def pull(self, pulls: Sequence[PullRequest]) -> None:
        """Copy boxes of blocks into arrays. Either all are complete, or an error is raised."""
        batch = str(next(self._batches))
        self._channel.write(Message(PULL, {"batch": batch}, pack_pulls(pulls)))
        first = self._next()
        if first.kind == LAYOUTS:
            for pull, layout in zip(pulls, unpack_layouts(first.body), strict=True):
                np.copyto(pull.into, self._view(layout)[pull.box.slices], casting="equiv")
            self._channel.write(Message(DONE, {"batch": batch}))
        else:
            self._receive(first, pulls[0])
            for pull in pulls[1:]:
                self._receive(self._next(), pull)

    def describe(self, keys: Sequence[bytes]) -> list[tuple[Shape, np.dtype[Any]]]:
        """Shapes (z, y, x) and types of blocks."""
        self._channel.write(Message(DESCRIBE, {}, pack_keys(keys)))
        return [(layout.shape, layout.dtype) for layout in unpack_layouts(self._next().body)]

    def map(self, keys: Sequence[bytes]) -> list[MappedBlock] | None:
        """Whole blocks in the memory of the other process, which does not write to them any more; nothing is copied.
        None where one is not in memory that can be shared, such as that of a GPU."""
        batch = str(next(self._batches))
        self._channel.write(Message(MAP, {"batch": batch}, pack_keys(keys)))
        layouts = unpack_layouts(self._next().body)
        if len(layouts) < len(keys):
            return None
        found = [self._mapped(layout) for layout in layouts]
        self._channel.write(Message(DONE, {"batch": batch}))
        self.forget_buffers()  # Each now belongs to the owner of its block.
        return found

    def forget_buffers(self) -> None:
        """Unmap the memory of the other process."""
        if self._buffers:
            self._buffers.clear()
            self._channel.write(Message(FORGET))

    def close(self) -> None:
        self._buffers.clear()
        self._channel.close()

    def _next(self) -> Message:
        """The next message that is not a buffer. What the other end has given back is unmapped."""
        while (message := self._channel.expect(BUFFER, LAYOUTS, CONTENT, is_patient=True)).kind == BUFFER:
            nbytes = message.number("bytes")
            descriptor = checked_size(self._channel.take_descriptor(), nbytes)
            self._buffers[message.number("number")] = SharedArray(descriptor, (nbytes,), np.uint8)
        gone = set(message.fields.get("gone", "").split())
        for number in [number for number in self._buffers if str(number) in gone]:
            del self._buffers[number]
        return message

    def _view(self, layout: BlockLayout) -> Voxels:
        if layout.buffer not in self._buffers:
            raise TransferProtocolError(f"it named the unknown buffer {layout.buffer}")
        return layout.view(self._buffers[layout.buffer].array)

    def _mapped(self, layout: BlockLayout) -> MappedBlock:
        self._view(layout)
        buffer = self._buffers[layout.buffer]
        own = SharedArray(os.dup(buffer.descriptor), buffer.shape, buffer.dtype)
        return MappedBlock(own, layout.view(own.array))

    def _receive(self, message: Message, pull: PullRequest) -> None:
        """The bytes of a box, which follow a message."""
        nbytes, dtype = message.number("bytes"), parse_dtype(message.get("dtype"))
        if nbytes != pull.nbytes or dtype != pull.into.dtype:
            raise TransferProtocolError(
                f"it sent {nbytes:,} bytes of {dtype}, not {pull.nbytes:,} of {pull.into.dtype}"
            )
        is_direct = pull.into.flags.c_contiguous
        flat = pull.into.reshape(-1).view(np.uint8) if is_direct else self._room(nbytes)
        self._channel.read_into(flat.data)
        if f"{checksum(CHECKSUM, flat.data):x}" != message.get("checksum"):
            self._channel.close()
            raise TransferInterrupted("the checksum of a block was wrong")
        if not is_direct:
            pull.into[...] = flat.view(dtype).reshape(pull.box.shape)

    def _room(self, nbytes: int) -> Voxels:
        """Memory that is used again for every box that does not lie in one piece."""
        if self._scratch.size < nbytes:
            self._scratch = np.empty(nbytes, np.uint8)
        return self._scratch[:nbytes]
