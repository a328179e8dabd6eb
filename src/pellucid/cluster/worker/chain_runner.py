"""Running a chain: its operations one after the other, on one block.

Here: ChainRunner, ChainResult.
Not here: receiving chains (server), pulling from other Workers (block_exchange), what is computed (block_child).
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from pellucid.box import Box
from pellucid.cluster import operations
from pellucid.cluster.handles import Handle
from pellucid.cluster.operations import Operation
from pellucid.cluster.worker.block_child import BlockChild
from pellucid.cluster.worker.block_exchange import BlockExchange
from pellucid.cluster.worker.block_store import BlockStore
from pellucid.cluster.worker.device_buffers import BlockArray
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray


@dataclass
class ChainResult:
    """handle: of the block, where it is kept. value: of the last computation. voxels: what is downloaded; shared: the
    memory in which they are, where they can be handed over."""

    handle: Handle | None = None
    block: BlockArray | None = None
    value: Any = None
    voxels: Voxels | None = None
    shared: SharedArray | None = None


@dataclass
class _State:
    """What is known of the block in the middle of a chain. own: arrays that nothing else refers to yet. released:
    blocks that are forgotten when the chain does not use them any more."""

    stack: ExitStack
    upload: SharedArray | None
    result: ChainResult = field(default_factory=ChainResult)
    own: list[BlockArray] = field(default_factory=list)
    released: list[Handle] = field(default_factory=list)

    @property
    def block(self) -> BlockArray:
        if self.result.block is None:
            raise InvalidInput("The chain has no block here.", remedy="Begin it with a block or its handle.")
        return self.result.block

    def set(self, block: BlockArray | None, handle: Handle | None) -> None:
        self.result.block, self.result.handle = block, handle


class ChainRunner:
    """Of one Worker. Chains of several connections run at the same time."""

    def __init__(self, store: BlockStore, child: BlockChild, exchange: BlockExchange) -> None:
        self._store, self._child, self._exchange = store, child, exchange

    def run(self, chain: list[Operation], upload: SharedArray | None, finish: Callable[[ChainResult], None]) -> None:
        """finish: is given the result while its block stays where it is. upload: belongs to this from now on."""
        with ExitStack() as stack:
            state = _State(stack, upload)
            stack.callback(self._clean_up, state)
            for operation in chain:
                self.RUN[type(operation)](self, state, operation)
            finish(state.result)

    def _clean_up(self, state: _State) -> None:
        if state.upload is not None:
            state.upload.close()
        for array in state.own:
            self._store.discard(array)
        for handle in state.released:
            self._store.release(handle)

    # Operations

    def _upload(self, state: _State, operation: operations.UploadBlock) -> None:
        shared, state.upload = state.upload, None
        dtype = np.dtype(operation.dtype)
        if shared is None or shared.nbytes < Box.whole(operation.shape).size * dtype.itemsize:
            if shared is not None:
                shared.close()
            raise InvalidInput(
                "A block came without its voxels.", remedy="Use the same version of Pellucid on both sides."
            )
        array = self._store.adopt(shared, operation.shape, dtype)
        state.own.append(array)
        if any(operation.halo):
            array = self._grown(state, array, operation.halo)
        state.set(array, None)

    def _use(self, state: _State, operation: operations.UseBlock) -> None:
        handle = Handle.parse(operation.handle)
        if handle.worker == self._store.worker:
            state.set(self._borrowed(state, handle), handle)
        else:
            array = self._exchange.fetch(handle)
            state.own.append(array)
            state.set(array, None)

    def _compute(self, state: _State, operation: operations.ComputeBlock) -> None:
        others = [self._input(state, Handle.parse(text)) for text in operation.inputs]
        before = [state.block] if state.result.block is not None else []
        output = None if operation.is_value else self._output(state, operation)
        inputs = [*before, *others]
        doing = f"running {operation.label or operation.name} on a block"
        state.result.value = self._child.compute(doing, operation, inputs, output)
        if output is not None:
            state.set(output, None)

    def _output(self, state: _State, operation: operations.ComputeBlock) -> BlockArray:
        """Memory for a result."""
        shape, dtype = operation.shape, np.dtype(operation.dtype) if operation.dtype else None
        array = self._store.allocate(shape or state.block.shape, dtype or state.block.dtype, operation.halo)
        state.own.append(array)
        return array

    def _fill(self, state: _State, operation: operations.FillBlock) -> None:
        block, handle = state.block, state.result.handle
        if any(h < g for h, g in zip(block.halo, operation.grows, strict=True)) or block.buffer.is_shared:
            grown = self._grown(state, block, operation.grows)
        else:
            grown = block
        self._exchange.fill(grown, operation.parts)
        if handle is not None:
            if grown is not block:
                state.own.remove(grown)
            handle = self._store.halo_changed(handle, grown)
        state.set(grown, handle)

    def _keep(self, state: _State, operation: operations.KeepBlock) -> None:
        if state.result.handle is not None:
            if operation.mode is not None:
                self._store.set_mode(state.result.handle, operation.mode)
            return
        block = state.block
        state.own.remove(block)
        handle = self._store.put(block, operation.mode or "cache")
        self._borrowed(state, handle)  # What comes next in the chain needs it.
        state.set(block, handle)

    def _release(self, state: _State, operation: operations.ReleaseBlock) -> None:
        if state.result.handle is not None:
            state.released.append(state.result.handle)
        state.set(None, None)

    def _download(self, state: _State, operation: operations.DownloadBlock) -> None:
        memory, block = self._store.memory, state.block
        box = Box.whole(block.outer_shape) if operation.has_halo else block.core_in_outer
        found = memory.host_view(block)
        if found is None:
            state.result.voxels = np.ascontiguousarray(memory.read(block, box))
            return
        # The other end maps it for as long as it likes.
        block.buffer.is_shared = True
        state.result.shared, state.result.voxels = found[0], found[1][box.slices]

    RUN: ClassVar[dict[type[Any], Callable[["ChainRunner", _State, Any], None]]] = {
        operations.UploadBlock: _upload,
        operations.UseBlock: _use,
        operations.ComputeBlock: _compute,
        operations.FillBlock: _fill,
        operations.KeepBlock: _keep,
        operations.ReleaseBlock: _release,
        operations.DownloadBlock: _download,
    }

    # Arrays

    def _borrowed(self, state: _State, handle: Handle) -> BlockArray:
        return state.stack.enter_context(self._store.borrow(handle))

    def _input(self, state: _State, handle: Handle) -> BlockArray:
        if handle.worker == self._store.worker:
            return self._borrowed(state, handle)
        array = self._exchange.fetch(handle)
        state.own.append(array)
        return array

    def _grown(self, state: _State, array: BlockArray, halo: tuple[int, int, int]) -> BlockArray:
        """The same core with room for a halo around it."""
        grown = self._exchange.grow(array, halo)
        state.own.append(grown)
        return grown


def described(result: ChainResult) -> dict[str, Any]:
    """What a reply says of a result, as JSON."""
    block = result.block
    facts = {} if block is None else {"shape": block.shape, "dtype": block.dtype.str, "halo": block.halo}
    return {"handle": "" if result.handle is None else str(result.handle), "value": result.value, **facts}
