"""The engine on Parsl: blocks on the workers of a site.

Here: ParslEngine: which workers a task gets.
Not here: which block is sent when (remote_blocks), what runs there (worker), Parsl itself (session), sites (site).
"""

import hashlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from uuid import uuid4

from pellucid.engines.budget import largest_need, max_workers
from pellucid.engines.engine import EngineOptions
from pellucid.engines.parsl.block_main import pack_task
from pellucid.engines.parsl.session import ParslSession, session_of
from pellucid.engines.parsl.site import LOCAL, WorkerKind, find_site, local_site, with_memory
from pellucid.engines.parsl.usage import Usage
from pellucid.engines.parsl.usage_report import UsageReport, check_usage_file
from pellucid.engines.parsl.worker import BlockRequest
from pellucid.engines.remote_blocks import RemoteBlocks, RemoteRun
from pellucid.engines.task import BlockResult, Task, TaskContext
from pellucid.errors import InvalidInput, PellucidError, WorkerLost
from pellucid.jobs.resources import Resources
from pellucid.volume.blocks import Block

WAITING = 1
"""Blocks that wait at the workers, so that none of these idles while a result travels."""


class ParslEngine:
    """Several blocks at a time on the workers of a site: its name, or its file."""

    needs_shareable_output = True

    def __init__(self, options: EngineOptions, site: str = LOCAL) -> None:
        is_automatic = site in ("", LOCAL)
        found = local_site(options.workers, options.memory_bytes, options.devices) if is_automatic else find_site(site)
        self.site = with_memory(found, options.memory_bytes // max(1, options.workers))
        self.options = options if is_automatic else _options_of(self.site.kinds, options)
        self.is_here = self.site.is_here
        self.usage: list[Usage] = []
        if options.usage_file is not None:
            check_usage_file(options.usage_file)

    def capacity(self) -> Resources:
        kinds = [kind.resources for kind in self.site.kinds]
        memory = max(one.memory_bytes for one in kinds)
        # On this machine one block may take the memory of all: fewer are then worked on at once.
        memory = self.options.memory_bytes if self.site.is_automatic else memory
        return Resources(memory, max(one.cores for one in kinds), max(one.gpus for one in kinds))

    def run(self, task: Task, blocks: Sequence[Block], cancel: threading.Event) -> Iterator[BlockResult]:
        kind = self._kind(largest_need(task, blocks))
        session = session_of(self.site)
        queue = _queue(self, session, kind, task, blocks)
        run = RemoteRun(queue, partial(session.submit, kind), partial(_error_of, site=self.site.name), self.usage)
        try:
            yield from run.results(cancel)
        finally:
            run.stop()
            if self.options.usage_file is not None:
                UsageReport(self.site.kinds, self.usage).write(self.options.usage_file)

    def _kind(self, needs: Resources) -> WorkerKind:
        needs = replace(needs, memory_bytes=0) if self.site.is_automatic else needs
        kind = self.site.kind_for(needs)
        if kind is None:
            raise InvalidInput(
                f"Site {self.site.name} has no worker with {needs.cores} cores, {needs.memory_bytes:,} bytes of memory "
                f"and {needs.gpus} GPU(s).",
                remedy="Choose another site, or smaller blocks.",
            )
        return kind


def _options_of(kinds: Sequence[WorkerKind], options: EngineOptions) -> EngineOptions:
    """For planning: blocks are as large as every worker of the site allows."""
    count = sum(kind.count for kind in kinds)
    return replace(options, workers=count, memory_bytes=min(kind.memory_bytes for kind in kinds) * count)


def _queue(
    engine: ParslEngine, session: ParslSession, kind: WorkerKind, task: Task, blocks: Sequence[Block]
) -> RemoteBlocks:
    needs, count = largest_need(task, blocks), kind.count
    memory = kind.memory_bytes
    if engine.site.is_automatic:
        count = min(count, max_workers(task, blocks, engine.options))
        memory = engine.options.memory_bytes // count
    context = TaskContext("cuda:0" if needs.gpus else "cpu", kind.cores, memory)
    packed = pack_task(task)
    key = hashlib.sha256(packed + repr((context, uuid4().hex)).encode()).hexdigest()
    stop = session.folder / f"stop-{uuid4().hex[:12]}"
    first = BlockRequest(packed, key, context, blocks[0], str(stop), kind.name)
    return RemoteBlocks(first, blocks, count + (WAITING if count > 1 else 0), engine.options.attempts)


def _error_of(error: BaseException, block: Block, site: str) -> BaseException:
    """Parsl's errors as ours."""
    from parsl.executors.errors import BadStateException
    from parsl.executors.high_throughput.errors import ManagerLost
    from parsl.executors.high_throughput.errors import WorkerLost as ParslWorkerLost

    if isinstance(error, ManagerLost):
        return WorkerLost(f"working on block {block.index}", f"all workers of its node {error.hostname} were lost")
    if isinstance(error, ParslWorkerLost):
        why = f"worker {error.worker_id} on {error.hostname} was stopped from outside"
        return WorkerLost(f"working on block {block.index}", why)
    if isinstance(error, BadStateException):
        return WorkersNotStarted(site, str(error))
    return error


class WorkersNotStarted(PellucidError):
    """Jobs of a site ended before any worker had started."""

    def __init__(self, site: str, why: str) -> None:
        super().__init__(
            f"The workers of site {site} did not start: {why}",
            remedy="Check the site's file, and that its machines have the same Python and Pellucid.",
        )
