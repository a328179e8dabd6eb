"""Blocks on workers elsewhere: which are submitted when, tries, and what is done with what comes back.

Here: RemoteBlocks; RemoteRun, one task on its blocks.
Not here: how a block gets to a worker (parsl.session, spark), what runs there (parsl.worker).
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from pathlib import Path

from pellucid.engines.engine import is_retryable
from pellucid.engines.parsl.usage import Usage
from pellucid.engines.parsl.worker import BlockReply, BlockRequest
from pellucid.engines.task import BlockResult
from pellucid.engines.worker import Failure
from pellucid.volume.blocks import Block

POLL_S = 0.2


@dataclass(frozen=True)
class RemoteBlocks:
    """What is sent for each block. at_once: how many may be on their way. attempts: tries for each."""

    first: BlockRequest
    blocks: Sequence[Block]
    at_once: int
    attempts: int

    def of(self, index: int) -> BlockRequest:
        return replace(self.first, block=self.blocks[index])


class RemoteRun:
    """submit: sends a block to a worker. error_of: an error on that way as one of ours. usage: what workers used."""

    def __init__(
        self,
        queue: RemoteBlocks,
        submit: Callable[[BlockRequest], "Future[BlockReply]"],
        error_of: Callable[[BaseException, Block], BaseException],
        usage: list[Usage],
    ) -> None:
        self._queue, self._submit, self._error_of, self._usage = queue, submit, error_of, usage
        self._waiting = deque(range(len(queue.blocks)))
        self._tries = [0] * len(queue.blocks)
        self._running: dict[Future[BlockReply], int] = {}

    def results(self, cancel: threading.Event) -> Iterator[BlockResult]:
        while (self._waiting or self._running) and not cancel.is_set():
            while self._waiting and len(self._running) < self._queue.at_once:
                index = self._waiting.popleft()
                self._tries[index] += 1
                self._running[self._submit(self._queue.of(index))] = index
            done, _ = wait(self._running, timeout=POLL_S, return_when=FIRST_COMPLETED)
            for future in done:
                yield from self._take(future)

    def stop(self) -> None:
        """No block is worked on when this returns."""
        if not self._running:
            return
        stop = Path(self._queue.first.stop_file)
        stop.touch()
        wait(self._running)
        stop.unlink(missing_ok=True)

    def _take(self, future: "Future[BlockReply]") -> Iterator[BlockResult]:
        index = self._running.pop(future)
        content = self._content(future, index)
        if isinstance(content, BlockResult):
            yield content
        elif content is not None:
            if not is_retryable(content.error) or self._tries[index] >= self._queue.attempts:
                raise content.error
            self._waiting.append(index)

    def _content(self, future: "Future[BlockReply]", index: int) -> BlockResult | Failure | None:
        error = future.exception()
        if error is None:
            reply = future.result()
            self._usage.append(reply.usage)
            return reply.content
        return Failure(self._error_of(error, self._queue.blocks[index]))
