"""The child of a Device Worker, seen from the Worker.

Here: BlockChild: computations on blocks, in a process that is replaced when it is lost.
Not here: what runs there (compute), requests and replacement in general (workers.supervised_process).
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast
from weakref import WeakSet

from pellucid.cluster.compute import protocol
from pellucid.cluster.operations import ComputeBlock
from pellucid.cluster.worker.device_buffers import BlockArray, DeviceBuffer, DeviceMemory
from pellucid.workers.array_store import ArrayStore
from pellucid.workers.folder_limit import FolderLimit
from pellucid.workers.process import Deadlines, ExitReason, WorkerCommand, WorkerProcess
from pellucid.workers.protocol import replies
from pellucid.workers.supervised_process import SupervisedProcess, WaitingRequest

SERVICE = "pellucid.cluster.compute.service:BlockService"
DEADLINES = Deadlines(silence=60.0, computing=300.0)


class BlockChild(SupervisedProcess):
    """Methods may be called from any thread. The next computation after a loss starts another process."""

    def __init__(self, memory: DeviceMemory, deadlines: Deadlines = DEADLINES) -> None:
        command = WorkerCommand(memory.device, SERVICE)
        super().__init__("blocks", command, deadlines, ArrayStore(), FolderLimit())
        self._memory = memory
        self._handed_over: WeakSet[Any] = WeakSet()
        self._leaving: set[Any] = set()
        memory.on_gone = self._forget
        self._refusal = ""

    def compute(
        self, doing: str, operation: ComputeBlock, inputs: Sequence[BlockArray], output: BlockArray | None
    ) -> Any:
        """The value of a computation, once it is done. WorkerLost where the process ended meanwhile."""
        with self._lock:  # Buffers, then what uses them, to the same process.
            self.start()
            for array in (*inputs, *([] if output is None else [output])):
                self._hand_over(array.buffer)
            specs = tuple(map(_spec, inputs)), None if output is None else _spec(output)
            future = self.send_request(
                doing,
                lambda number: cast(
                    Any, protocol.RunComputation(number, operation.name, operation.arguments, *specs)
                ),
            )  # fmt: skip
        done: protocol.ComputationDone = future.result()
        return json.loads(done.value)

    def _on_reply(self, process: WorkerProcess, answer: Any, descriptor: int | None) -> None:
        match answer:
            case replies.Failed(_, request) if request < 0:  # It cannot start, and is about to end.
                self._refusal = answer.what.rstrip(".")
            case replies.Ready():
                self._refusal = ""
            case replies.Heartbeat() | replies.ProgressReported():
                pass
            case _:
                super()._on_reply(process, answer, descriptor)

    def _process_lost(self, ending: ExitReason, waiting: list[WaitingRequest]) -> ExitReason:
        return replace(ending, why=self._refusal) if self._refusal else ending

    def _process_started(self) -> None:
        self._handed_over.clear()

    def _forget(self, buffer: DeviceBuffer) -> None:
        """Keep a buffer until the child has let go of it: CUDA may give memory that is freed before another process has
        closed it to the next buffer, and the child would then see the old memory under the new one's handle."""
        with self._lock:
            if self._process is None or buffer not in self._handed_over:
                return
            self._leaving.add(buffer)
            future = self.send_request(
                "releasing a buffer",
                lambda number: cast(Any, protocol.ForgetBuffers(number, (buffer.number,))),
            )  # fmt: skip
        future.add_done_callback(lambda _: self._leaving.discard(buffer))

    def _hand_over(self, buffer: DeviceBuffer) -> None:
        """The caller keeps the buffer until the computation is done: its descriptor is sent later."""
        if buffer in self._handed_over or self._process is None:
            return
        descriptor, link = self._memory.handover(buffer)
        request = protocol.ShareBuffer(buffer.number, buffer.nbytes, link)
        self._process.send(cast(Any, request), descriptor)
        self._handed_over.add(buffer)


def _spec(array: BlockArray) -> protocol.ArraySpec:
    return protocol.ArraySpec(array.buffer.number, array.dtype.str, array.shape, array.halo)
