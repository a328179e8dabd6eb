"""The end of a peer connection that has the arrays.

Here: BlockProvider and OpenBlock, which an application implements; serve_pulls, the loop of one connection.
Not here: who may connect (acceptor), the other end (client).

The connection stays open, and each buffer of shared memory is handed over once. A pull is a message and its reply;
blocks are pinned until the other end has copied them.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import count
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from pellucid.box import Box, triple
from pellucid.errors import InvalidInput, PellucidError, TransferInterrupted, TransferProtocolError
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.transport.peers.requests import BlockLayout, pack_layouts, unpack_keys, unpack_pulls
from pellucid.transport.wire.messages import Channel, Message, error_message
from pellucid.transport.wire.pieces import checksum

PULL, MAP, DESCRIBE, DONE, FORGET = "pull", "map", "describe", "done", "forget"
BUFFER, LAYOUTS, CONTENT = "buffer", "layouts", "content"
CHECKSUM = "xxh3"
MAX_GONE = 1024
"""Of one message; the next one names more."""


class OpenBlock(Protocol):
    """A block that stays where it is until it is closed."""

    @property
    def shape(self) -> tuple[int, int, int]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def memory(self) -> tuple[SharedArray, Voxels] | None:
        """Shared memory, and the view of it that is the block; None where it is not in the host's memory."""

    def read(self, box: Box) -> Voxels:
        """A box of it on the host, a view where that is possible."""

    def share(self) -> None:
        """Another process is about to hold this memory for good: it must not be written to any more."""

    def close(self) -> None: ...


class BlockProvider(Protocol):
    """The blocks that others may pull."""

    def open_block(self, key: bytes) -> OpenBlock:
        """Raises a PellucidError where there is none."""


class _Connection:
    """buffers: the numbers of those that the other end has; mapped: of these, and of those that are gone here and that
    it is still to unmap. pins: what it is copying, by batch."""

    def __init__(self, channel: Channel, provider: BlockProvider) -> None:
        self._channel, self._provider = channel, provider
        self._buffers: WeakKeyDictionary[SharedArray, int] = WeakKeyDictionary()
        self._mapped: set[int] = set()
        self._numbers = count()
        self._pins: dict[str, ExitStack] = {}

    def handle(self, message: Message) -> None:
        if message.kind == DONE:
            self._pins.pop(message.get("batch"), ExitStack()).close()
            return
        if message.kind == FORGET:
            self._buffers.clear()
            self._mapped.clear()
            return
        answers = {PULL: self._pull, MAP: self._map, DESCRIBE: self._describe}
        if message.kind not in answers:
            raise TransferProtocolError(f"it sent {message.kind[:40]!r} to a peer")
        with ExitStack() as stack:
            try:
                answers[message.kind](message, stack)
            except TransferInterrupted:
                raise
            except PellucidError as error:  # Raised before anything was sent.
                self._channel.write(error_message(error))

    def close(self) -> None:
        for stack in self._pins.values():
            stack.close()

    def _pull(self, message: Message, stack: ExitStack) -> None:
        opened = []
        for key, box in unpack_pulls(message.body):
            block = self._opened(key, stack)
            if not Box.whole(block.shape).contains(box) or box.is_empty:
                what = f"The box {box} is outside a block of {block.shape} (z, y, x)."
                raise InvalidInput(what, remedy=f"Choose a box within {Box.whole(block.shape)}.")
            opened.append((block, box))
        memories = [block.memory for block, _ in opened if block.memory]
        if self._channel.is_local and len(memories) == len(opened):
            self._send_layouts(memories)
            self._pins[message.get("batch")] = stack.pop_all()
        else:
            self._send_content(opened)

    def _map(self, message: Message, stack: ExitStack) -> None:
        """Without layouts where a block is not in shared memory: it has to be pulled."""
        blocks = [self._opened(key, stack) for key in unpack_keys(message.body)]
        memories = [block.memory for block in blocks if block.memory is not None]
        if len(memories) < len(blocks) or not self._channel.is_local:
            self._send_layouts([])
            return
        for block in blocks:
            block.share()
        self._send_layouts(memories)
        self._pins[message.get("batch")] = stack.pop_all()

    def _describe(self, message: Message, stack: ExitStack) -> None:
        blocks = [self._opened(key, stack) for key in unpack_keys(message.body)]
        layouts = [BlockLayout(0, 0, block.dtype, block.shape, (0, 0, 0)) for block in blocks]
        self._channel.write(Message(LAYOUTS, {}, pack_layouts(layouts)))

    def _opened(self, key: bytes, stack: ExitStack) -> OpenBlock:
        block = self._provider.open_block(key)
        stack.callback(block.close)
        return block

    def _send_layouts(self, blocks: Sequence[tuple[SharedArray, Voxels]]) -> None:
        layouts = []
        for shared, view in blocks:
            offset = view.ctypes.data - shared.array.ctypes.data
            number = self._buffer_number(shared)
            layouts.append(BlockLayout(number, offset, view.dtype, triple(view.shape), triple(view.strides)))
        gone = sorted(self._mapped.difference(self._buffers.values()))[:MAX_GONE]
        self._mapped.difference_update(gone)
        self._channel.write(Message(LAYOUTS, {"gone": " ".join(map(str, gone))}, pack_layouts(layouts)))

    def _buffer_number(self, shared: SharedArray) -> int:
        if shared not in self._buffers:
            number = self._buffers[shared] = next(self._numbers)
            fields = {"number": str(number), "bytes": str(shared.nbytes)}
            self._channel.write(Message(BUFFER, fields), [shared.descriptor])
            self._mapped.add(number)
        return self._buffers[shared]

    def _send_content(self, opened: Sequence[tuple[OpenBlock, Box]]) -> None:
        for block, box in opened:
            content = np.ascontiguousarray(block.read(box))
            flat = content.reshape(-1).view(np.uint8)
            fields = {
                "dtype": content.dtype.str,
                "bytes": str(flat.size),
                "checksum": f"{checksum(CHECKSUM, flat.data):x}",
            }
            self._channel.write_bytes(Message(CONTENT, fields).encoded(), flat.data)


def serve_pulls(channel: Channel, provider: BlockProvider) -> None:
    """Serve a connection until the other end closes it, which raises TransferInterrupted."""
    connection = _Connection(channel, provider)
    try:
        while True:
            connection.handle(channel.read(is_patient=True))
    finally:
        connection.close()
        channel.close()
