"""Blocks as programs see them: a handle or an array, and operations that have not run yet.

Here: DeviceBlock.
Not here: functions that append operations (functions), running them (worker.chain_runner).
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from pellucid.box import Shape, triple
from pellucid.cluster.context import current_context
from pellucid.cluster.handles import Handle, WorkerId
from pellucid.cluster.links import ChainReply
from pellucid.cluster.operations import (
    NO_HALO,
    ComputeBlock,
    DownloadBlock,
    KeepBlock,
    Operation,
    ReleaseBlock,
    UploadBlock,
    UseBlock,
)
from pellucid.errors import BlockLost, InvalidInput
from pellucid.formats.protocol import Voxels

MAX_AXES = 3
MAX_KNOWN = 4096
_KNOWN: dict[Handle, ChainReply] = {}
"""Shapes and types of blocks: the same handle always stands for the same, so that a loop asks for them once."""


class DeviceBlock:
    """A block on a device, or one that will be there. Operations run when the handle or a result is needed, all of them
    in one round trip. Pickled, it is its handle of 24 bytes, and its origin.

    worker: which Worker runs the operations, where that is not the one that has the block. origin: from where the block
    can be got again when it is lost; others: further blocks that the operation needs.
    """

    def __init__(
        self,
        before: "DeviceBlock | Handle | Voxels | None",
        operation: Operation | None = None,
        worker: WorkerId | None = None,
        others: Sequence["DeviceBlock"] = (),
    ) -> None:
        self._before, self._operation, self._worker, self._others = before, operation, worker, tuple(others)
        self.origin: object = None
        self._handle: Handle | None = before if isinstance(before, Handle) and operation is None else None
        self._reply: ChainReply | None = None
        self._lock = threading.Lock()

    @classmethod
    def of(cls, voxels: Voxels, halo: Shape = NO_HALO) -> "DeviceBlock":
        """An array of one to three axes, which is sent when it is needed. It is not copied: do not change it."""
        voxels = np.asarray(voxels)
        if not 1 <= voxels.ndim <= MAX_AXES or not voxels.size or voxels.dtype.kind not in "biuf":
            what = f"An array of shape {voxels.shape} and type {voxels.dtype} cannot become a block."
            raise InvalidInput(what, remedy="Use one to three axes, real numbers, and at least one voxel.")
        voxels = voxels.reshape((1,) * (MAX_AXES - voxels.ndim) + voxels.shape)
        return cls(voxels, UploadBlock(triple(voxels.shape), voxels.dtype.newbyteorder("<").str, halo))

    @classmethod
    def unpack(cls, packed: bytes, origin: object = None) -> "DeviceBlock":
        block = cls(Handle.unpack(packed))
        block.origin = origin
        return block

    @classmethod
    def moved(cls, handle: Handle, worker: WorkerId) -> "DeviceBlock":
        """The block on another Worker, which pulls it when it is needed there."""
        return cls(handle, UseBlock(str(handle)), worker)

    @classmethod
    def made(cls, operation: ComputeBlock, worker: WorkerId | None = None) -> "DeviceBlock":
        """A block that a computation makes out of nothing, or of what it reads."""
        return cls(None, operation, worker)

    def then(self, operation: Operation, others: Sequence["DeviceBlock"] = ()) -> "DeviceBlock":
        """The block after one more operation, which does not run yet."""
        return DeviceBlock(self, operation, others=others)

    @property
    def handle(self) -> Handle:
        """Of the block on its device. What has not run yet runs now."""
        with self._lock:
            if self._handle is None:
                keep = () if isinstance(self._operation, KeepBlock) else (KeepBlock(),)
                self._reply = self._run(keep)
                self._handle = self._reply.handle
            if self._handle is None:
                raise InvalidInput("This block was released.", remedy="Use the block before it.")
            return self._handle

    @property
    def known_handle(self) -> Handle | None:
        """None while it has not run."""
        return self._handle

    @property
    def shape(self) -> Shape:
        """Of the block without its halo."""
        if not isinstance(self._before, DeviceBlock) and isinstance(self._operation, UploadBlock):
            return self._operation.shape
        return self._described.shape or NO_HALO

    @property
    def dtype(self) -> "np.dtype[Any]":
        """Of its voxels."""
        return self._described.dtype or np.dtype(np.uint8)

    @property
    def _described(self) -> ChainReply:
        if self._reply is None and (known := _KNOWN.get(self.handle)) is not None:
            return known
        if self.handle and self._reply is None:
            self._reply = self._run(())
            _remember(self.handle, self._reply)
        if self._reply is None or self._reply.shape is None or self._reply.dtype is None:
            raise InvalidInput(
                "The Worker did not describe the block.", remedy="Use the same version of Pellucid on both sides."
            )
        return self._reply

    @property
    def value(self) -> Any:
        """What the last computation returned; None for a block of which only the handle is known."""
        return None if not self.handle or self._reply is None else self._reply.value

    def result(self, operation: Operation) -> ChainReply:
        """What comes back from one more operation, the last one of a chain.

        A persistent block that comes back has run: from then on it is the one that release() gives back.
        """
        if not (self._is_persistent and isinstance(operation, DownloadBlock)):
            return self._run((operation,))
        with self._lock:
            if self._handle is None:
                reply = self._run((operation,))
                self._handle, self._reply = reply.handle, replace(reply, voxels=None)
                return reply
        return self._run((operation,))

    def release(self) -> None:
        """Give its memory back."""
        current_context().links.run(self.handle.worker, (UseBlock(str(self.handle)), ReleaseBlock()))

    @property
    def _is_persistent(self) -> bool:
        return isinstance(self._operation, KeepBlock) and self._operation.mode == "persist"

    def _run(self, last: Sequence[Operation]) -> ChainReply:
        context = current_context()
        worker, operations, voxels = self._chain()
        try:
            return context.links.run(worker, (*operations, *last), voxels)
        except BlockLost:
            context.on_loss([block.origin for block in self._used() if block.origin and not block.is_there])
            raise

    @property
    def is_there(self) -> bool:
        """Whether the Worker still has what the handle stands for."""
        try:
            current_context().links.run(self.handle.worker, [UseBlock(str(self.handle))])
        except BlockLost:
            return False
        return True

    def _used(self) -> "Iterator[DeviceBlock]":
        """The block, those before it, and the others that its operations need."""
        block = self
        while True:
            yield block
            for other in block._others:
                yield from other._used()
            if block._handle is not None or not isinstance(block._before, DeviceBlock):
                return
            block = block._before

    def _chain(self) -> tuple[WorkerId, list[Operation], Voxels | None]:
        """From the nearest block that is on a device, or from the array."""
        operations: list[Operation] = []
        block = self
        while block._handle is None:
            if block._operation is not None:
                operations.append(block._operation)
            if isinstance(block._before, Handle):
                return block._worker or block._before.worker, operations[::-1], None
            if not isinstance(block._before, DeviceBlock):
                return block._worker or current_context().local(), operations[::-1], block._before
            block = block._before
        return block._handle.worker, [UseBlock(str(block._handle)), *operations[::-1]], None

    def __reduce__(self) -> tuple[Any, ...]:
        # Spark pickles where a stage ends, and in joins: what is lost later must still be found.
        origin = () if self.origin is None else (self.origin,)
        return DeviceBlock.unpack, (self.handle.pack(), *origin)

    def __repr__(self) -> str:
        return f"DeviceBlock({self._handle})" if self._handle else "DeviceBlock(not on a device yet)"


def release_known(blocks: Iterable[DeviceBlock]) -> None:
    """Give the memory of those back that have run and are not lost."""
    for block in blocks:
        if block.known_handle is not None:
            with suppress(BlockLost):
                block.release()


def _remember(handle: Handle, reply: ChainReply) -> None:
    """What a Worker said of a block."""
    while len(_KNOWN) >= MAX_KNOWN:
        _KNOWN.pop(next(iter(_KNOWN), handle), None)
    _KNOWN[handle] = reply
