"""Users' PyTorch modules: their values are written to an array of the instance, what is seen first.

Here: ModuleRuns, the requests OpenModule, DraftModule, FillModule, SetBatch and SetFocus.
Not here: loading and calling modules (neural.modules), the layer that shows the array (instance.scene.model_layers).
"""

import time
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid import progress
from pellucid.box import Box
from pellucid.engines.stopping import raise_if_stopped, stopping_when
from pellucid.errors import InvalidInput, MissingPackage
from pellucid.infer.priority.focus import BlockQueue, Focus
from pellucid.workers.protocol import module_requests, replies, requests
from pellucid.workers.protocol.announcements import BatchHalved, VoxelsChanged
from pellucid.workers.queries.sources import MappedArray
from pellucid.workers.service import ReceivedRequest

if TYPE_CHECKING:
    from pellucid.neural.modules.evaluation import ModuleValues
    from pellucid.neural.modules.loading import LoadedModule
    from pellucid.workers.role_service import RoleService

ANNOUNCE_S = 0.1
"""Between two announcements of what is finished: each is an image."""


class ModuleRuns:
    """Of one Worker: modules are called one after the other. The last one that was opened stays loaded."""

    def __init__(self, service: "RoleService") -> None:
        self._service = service
        self._loaded: tuple[tuple[str, str], LoadedModule] | None = None
        self._focus: dict[str, Focus] = {}
        self._batches: dict[str, int] = {}
        self._queues: dict[str, BlockQueue] = {}
        self._values: dict[str, ModuleValues] = {}

    def open(self, received: ReceivedRequest) -> None:
        """Run the user's file; also if it was run before, because they may have changed it."""
        requested, self._loaded = received.content, None
        module = self._load(requested.path, requested.name)
        from pellucid.neural.modules.evaluation import choose_device, default_batch

        device = choose_device(self._service.device)
        facts = module.name, module.shape, default_batch(device), str(device)
        self._service.send_reply(replies.ModuleOpened(requested.request, *facts))

    def draft(self, received: ReceivedRequest) -> None:
        requested: module_requests.DraftModule = received.content
        with stopping_when(received.cancel.is_set):
            values, target = self._prepared(requested)
            values.draft(target.array)
            self._batches[requested.target] = values.batch
        self._service.send_reply(replies.ModuleDrafted(requested.request, values.batch))

    def fill(self, received: ReceivedRequest) -> None:
        from pellucid.neural.modules.evaluation import blocks_of, choose_device

        requested: module_requests.FillModule = received.content
        name, service = requested.target, self._service
        with stopping_when(received.cancel.is_set):
            values, target = self._prepared(requested)
            blocks = list(blocks_of(target.array.shape, choose_device(service.device)))
            self._queues[name] = queue = BlockQueue(blocks, self._focus.get(name))
            self._values[name] = values
            try:
                self._run(name, queue, target)
            finally:
                for known in (self._queues, self._values, self._focus, self._batches):
                    known.pop(name, None)
        service.send_reply(replies.Done(requested.request))

    def set_focus(self, requested: requests.SetFocus) -> None:
        self._focus[requested.target] = focus = Focus(requested.cross_hair, requested.eye, requested.box)
        if (queue := self._queues.get(requested.target)) is not None:
            queue.set_focus(focus)

    def set_batch(self, requested: module_requests.SetBatch) -> None:
        self._batches[requested.target] = requested.batch
        if (values := self._values.get(requested.target)) is not None:
            values.batch = requested.batch

    def _run(self, name: str, queue: BlockQueue, target: MappedArray) -> None:
        service, values = self._service, self._values[name]
        finished: list[Box] = []
        announced_at = time.monotonic()
        with progress.task("Evaluating the model", total=prod(target.array.shape), unit="voxels") as bar:
            while (box := queue.take()) is not None:
                raise_if_stopped()
                target.array[box.slices] = values.read(box)
                finished.append(box)
                bar.advance(box.size)
                if time.monotonic() - announced_at > ANNOUNCE_S:
                    service.announce(VoxelsChanged(name, tuple(finished)))
                    finished, announced_at = [], time.monotonic()
            if finished:
                service.announce(VoxelsChanged(name, tuple(finished)))

    def _load(self, path: str, name: str) -> "LoadedModule":
        """The module, from the file where this process has not loaded it."""
        key = path, name
        if self._loaded is None or self._loaded[0] != key:
            try:
                from pellucid.neural.modules.evaluation import choose_device, leave_threads
                from pellucid.neural.modules.loading import load_module
            except ImportError as error:
                raise MissingPackage("torch", "neural") from error
            leave_threads()
            self._loaded = key, load_module(Path(path), name, choose_device(self._service.device))
        return self._loaded[1]

    def _prepared(
        self, requested: module_requests.DraftModule | module_requests.FillModule
    ) -> "tuple[ModuleValues, MappedArray]":
        module = self._load(requested.path, requested.name)
        from pellucid.neural.modules.evaluation import ModuleValues, choose_device, default_batch

        name, service = requested.target, self._service
        target = service.sources.handed(name)
        if target is None:
            raise InvalidInput("The field was closed.", remedy="Open the model again.")
        device = choose_device(service.device)
        batch = self._batches.get(name) or requested.batch or default_batch(device)
        z, y, x = target.array.shape
        values = ModuleValues(
            module, (z, y, x), device, batch,
            on_halved=lambda left: self._halved(name, left), on_batch=service.touch,
        )  # fmt: skip
        return values, target

    def _halved(self, name: str, batch: int) -> None:
        self._batches[name] = batch
        self._service.announce(BatchHalved(name, batch))
