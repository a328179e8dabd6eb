"""The Device Workers of a program, without a scheduler.

Here: WorkerGroup: Workers on this machine, and blocks sent to them.
Not here: Workers that Spark's tasks start (spark), those on other nodes, one connection (links).
"""

import itertools
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any

from pellucid.box import Shape
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.context import ClusterContext, use_context
from pellucid.cluster.credentials import Credentials
from pellucid.cluster.handles import Handle, WorkerId
from pellucid.cluster.links import WorkerLinks
from pellucid.cluster.nodes.folders import WorkerSpec
from pellucid.cluster.nodes.launch import find_or_start
from pellucid.cluster.operations import NO_HALO, KeepBlock
from pellucid.formats.protocol import Voxels
from pellucid.settings import available_memory_bytes, current


class WorkerGroup:
    """As a context, it is where this process sends its blocks, to one Worker after the other. They end with it.

    >>> import numpy as np
    >>> with WorkerGroup.local(1) as group:
    ...     DeviceBlock.of(np.ones((2, 2, 2))).handle.worker == group.workers[0]
    True
    """

    def __init__(
        self,
        credentials: Credentials,
        workers: Sequence[WorkerId],
        *,
        prefers_local: bool = True,
        specs: Sequence[WorkerSpec] = (),
    ) -> None:
        self.credentials, self.workers, self._specs = credentials, tuple(workers), tuple(specs)
        self.links = WorkerLinks(credentials.token, prefers_local=prefers_local)
        self._turns = itertools.count()
        self._opened = ExitStack()

    @classmethod
    def local(cls, count: int = 1, device: str = "cpu", **spec: Any) -> "WorkerGroup":
        """Start Workers on this machine: several of one CPU share its cores and memory, of "cuda" each has a GPU.
        Several on one GPU ("cuda:0") need memory_bytes.

        spec: other fields of WorkerSpec.
        """
        credentials, share = Credentials.create(), max(1, current().threads // count)
        memory = 0 if device.startswith("cuda") else available_memory_bytes() // (2 * count)
        first = WorkerSpec(device, threads=share, memory_bytes=memory, idle_timeout_s=0.0)
        specs = [
            replace(first, slot=slot, device=f"cuda:{slot}" if device == "cuda" else device, **spec)
            for slot in range(count)
        ]
        group = cls(credentials, (), prefers_local=specs[0].prefers_local, specs=specs)
        group.workers = group.replaced()
        return group

    def replaced(self) -> tuple[WorkerId, ...]:
        """The Workers of this machine, those that have ended started anew."""
        with ThreadPoolExecutor(len(self._specs)) as pool:
            found = pool.map(lambda one: find_or_start(self.credentials, one, os.getpid()), self._specs)
            return tuple(found)

    def send(self, voxels: Voxels, worker: WorkerId, halo: Shape = NO_HALO) -> Handle:
        """A persistent block on one of the Workers."""
        context = ClusterContext(self.links, lambda: worker)
        with use_context(context):
            return DeviceBlock.of(voxels, halo).then(KeepBlock("persist")).handle

    def _next_worker(self) -> WorkerId:
        return self.workers[next(self._turns) % len(self.workers)]

    def close(self) -> None:
        """End the Workers."""
        for worker in self.workers:
            self.links.end(worker)
        self.links.close()

    def __enter__(self) -> "WorkerGroup":
        self._opened.enter_context(use_context(ClusterContext(self.links, self._next_worker)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._opened.close()
        self.close()
