"""Blocks as programs see them: a handle or an array, and operations that have not run yet.

Here: DeviceBlock.
Not here: functions that append operations (functions), running them (worker.chain_runner).
"""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from pellucid.box import Shape, triple
from pellucid.cluster.context import current_context
from pellucid.cluster.handles import Handle, WorkerId
from pellucid.cluster.links import ChainReply
from pellucid.cluster.operations import NO_HALO, KeepBlock, Operation, ReleaseBlock, UploadBlock, UseBlock
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels

MAX_AXES = 3


class DeviceBlock:
    """A block on a device, or one that will be there. Operations run when the handle or a result is needed, all of them
    in one round trip. Pickled, it is its handle of 24 bytes.

    shape and dtype: of the array, as far as they are known without asking the Worker.
    """

    def __init__(self, before: "DeviceBlock | Handle | Voxels", operation: Operation | None = None) -> None:
        self._before = before
        self._operation = operation
        self._handle: Handle | None = before if isinstance(before, Handle) else None
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
    def unpack(cls, packed: bytes) -> "DeviceBlock":
        return cls(Handle.unpack(packed))

    def then(self, operation: Operation) -> "DeviceBlock":
        """The block after one more operation, which does not run yet."""
        return DeviceBlock(self, operation)

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

    def result(self, operation: Operation) -> ChainReply:
        """What comes back from one more operation, the last one of a chain."""
        return self._run((operation,))

    def release(self) -> None:
        """Give its memory back."""
        current_context().links.run(self.handle.worker, (UseBlock(str(self.handle)), ReleaseBlock()))

    def _run(self, last: Sequence[Operation]) -> ChainReply:
        worker, operations, voxels = self._chain()
        return current_context().links.run(worker, (*operations, *last), voxels)

    def _chain(self) -> tuple[WorkerId, list[Operation], Voxels | None]:
        """From the nearest block that is on a device, or from the array."""
        operations: list[Operation] = []
        block = self
        while block._handle is None:
            if block._operation is not None:
                operations.append(block._operation)
            if not isinstance(block._before, DeviceBlock):
                voxels = block._before
                return current_context().local(), operations[::-1], voxels  # type: ignore[return-value]
            block = block._before
        return block._handle.worker, [UseBlock(str(block._handle)), *operations[::-1]], None

    def __reduce__(self) -> tuple[Any, ...]:
        return DeviceBlock.unpack, (self.handle.pack(),)

    def __repr__(self) -> str:
        return f"DeviceBlock({self._handle})" if self._handle else "DeviceBlock(not on a device yet)"
