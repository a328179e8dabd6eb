"""The child of a Device Worker, as the service of a Worker process.

Here: BlockService: requests of the Worker, one computation after the other.
Not here: the computations (registry), replacing a child that was lost (worker.block_child).
"""

import json
import logging
import os
from collections.abc import Mapping
from typing import Any, ClassVar

from pellucid.cluster.compute import protocol
from pellucid.cluster.compute.buffers import SharedBuffers
from pellucid.cluster.compute.registry import ComputeContext, computation_named
from pellucid.device import choose, runtime, synchronize
from pellucid.workers.channel import MessageChannel
from pellucid.workers.service import ReceivedRequest, RequestHandler, WorkerService

log = logging.getLogger(__name__)
EXIT_CODE = 70


class BlockService(WorkerService):
    """Requests arrive in order: a buffer is there before a computation uses it."""

    threads: ClassVar[Mapping[str, int]] = {"compute": 1}
    handlers: ClassVar[Mapping[type[Any], RequestHandler]] = {
        protocol.ShareBuffer: RequestHandler("compute", lambda it, r: it.buffers.add(r.content, r.descriptor)),
        protocol.ForgetBuffers: RequestHandler("compute", lambda it, r: it.forget(r.content)),
        protocol.RunComputation: RequestHandler("compute", lambda it, r: it.compute(r)),
    }

    def __init__(self, channel: MessageChannel, device: str | None) -> None:
        super().__init__(channel)
        self.device = choose(device)
        self.buffers = SharedBuffers(self.device)
        self._context = ComputeContext(self.device, self.touch, {})

    @property
    def device_name(self) -> str:
        return self.device.name

    def start(self) -> None:
        runtime.on_compiling(self.touch)

    def compute(self, received: ReceivedRequest) -> None:
        request = received.content
        run = computation_named(request.name)
        inputs = [self.buffers.view(spec) for spec in request.inputs]
        output = None if request.output is None else self.buffers.view(request.output)
        value = run(self._context, json.loads(request.arguments), inputs, output)
        self._finish()
        self.send_reply(protocol.ComputationDone(request.request, json.dumps(value)))

    def forget(self, request: protocol.ForgetBuffers) -> None:
        self.buffers.forget(request.numbers)
        self.send_reply(protocol.ComputationDone(request.request))

    def _finish(self) -> None:
        """Wait for the device: the Worker copies from it on another stream. After an illegal address nothing works any
        more in a CUDA context, so that another process has to take over."""
        if not self.device.is_cuda:
            return
        try:
            synchronize(self.device)
            with runtime.LOCK:
                runtime.start().zeros(1, dtype=int, device=self.device.name).numpy()
        except RuntimeError as error:
            log.error("the CUDA context is lost: %s", error)
            os._exit(EXIT_CODE)
