"""What a worker of Parsl runs: a block, in a process of its own below the worker.

Here: work_on_block, which Parsl calls in its workers; the process that it keeps between the blocks of one task.
Not here: the program of that process (block_main), who gets which block (engine).

A task that crashes or is killed for its memory costs that process, not the worker. So the reason is known at once;
Parsl itself only notices, some time later, that a worker is missing.
"""

import os
import platform
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any, ClassVar

from pellucid.engines.parsl.usage import Meter, Usage, WorkerName
from pellucid.engines.task import BlockResult, TaskContext
from pellucid.engines.worker import Failure
from pellucid.errors import WorkerLost
from pellucid.python_processes import module_command
from pellucid.volume.blocks import Block

POLL_S = 0.25
EXIT_TIMEOUT_S = 5.0
MAX_LOG_LINES = 5


@dataclass(frozen=True)
class BlockRequest:
    """One block of a task. task: pickled. key: of the task and the context; the process is kept while it is the same.
    stop_file: in a folder that the driver and the workers share; when it exists, the work ends. kind: of the worker."""

    task: bytes
    key: str
    context: TaskContext
    block: Block
    stop_file: str
    kind: str


@dataclass(frozen=True)
class BlockReply:
    """content: a result, or what went wrong; None where the work was stopped."""

    content: BlockResult | Failure | None
    usage: Usage


class TaskProcess:
    """The process of this worker. key: of the task that it has opened."""

    current: ClassVar["TaskProcess | None"] = None

    def __init__(self, request: BlockRequest) -> None:
        self.key = request.key
        mine, theirs = socket.socketpair()
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        command = module_command("pellucid.engines.parsl.block_main", str(theirs.fileno()))
        self._process = subprocess.Popen(
            command, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log
        )
        theirs.close()
        self.pipe: Connection[Any, Any] = Connection(mine.detach())
        self.pipe.send((request.task, request.context))

    @classmethod
    def of(cls, request: BlockRequest) -> "TaskProcess":
        if cls.current is not None and cls.current.key != request.key:
            cls.current.end()
        if cls.current is None:
            cls.current = cls(request)
        return cls.current

    @property
    def pid(self) -> int:
        return self._process.pid

    def end(self, timeout_s: float = 0.0) -> str:
        """Wait so long for it to exit, then kill it; why it ended."""
        TaskProcess.current = None
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        self._process.kill()
        code = self._process.wait()
        self.pipe.close()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()[-MAX_LOG_LINES:]
        self._log.close()
        return ". ".join([_cause(code), *(["Its last output: " + " / ".join(lines)] if lines else [])])


def work_on_block(request: BlockRequest) -> BlockReply:
    """Run in a worker of Parsl."""
    worker = WorkerName(request.kind, platform.node(), os.environ.get("PARSL_WORKER_POOL_ID", ""), _rank())
    process = TaskProcess.of(request)
    meter = Meter(process.pid, os.environ.get("CUDA_VISIBLE_DEVICES", "") if request.context.device != "cpu" else "")
    with suppress(OSError):  # One that died is noticed when its answer is read.
        process.pipe.send(request.block)
    try:
        content = _answer(process, request, meter)
    except (OSError, EOFError):
        content = Failure(WorkerLost(f"working on block {request.block.index} on {worker.host}", _ended(process)))
    return BlockReply(content, meter.finished(worker, request.block.index))


def _answer(process: TaskProcess, request: BlockRequest, meter: Meter) -> BlockResult | Failure | None:
    stop = Path(request.stop_file)
    while not process.pipe.poll(POLL_S):
        meter.sample(time.time())
        if stop.exists():
            process.end()
            return None
    answer: BlockResult | Failure = process.pipe.recv()
    return answer


def _ended(process: TaskProcess) -> str:
    return process.end(EXIT_TIMEOUT_S)


def _rank() -> int:
    return int(os.environ.get("PARSL_WORKER_RANK", "0"))


def _cause(code: int) -> str:
    if code >= 0:
        return f"it exited with status {code}"
    killed = ", as the system does when memory is exhausted" if -code == signal.SIGKILL else ""
    return f"it was stopped by signal {-code}{killed}"
