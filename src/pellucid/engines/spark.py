"""The engine on Spark: every block is a job of one task.

Here: SparkEngine; how Spark is started on this machine, and whether others may use it.
Not here: what runs in a worker (parsl.worker), volumes that stay on devices (cluster).

Spark knows which executors there are, replaces those that are lost, and runs their tasks again. A block is worked on in
a process below Spark's Python worker: what crashes or is killed there costs that process alone.
"""

import hashlib
import http.client
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING
from uuid import uuid4

from pellucid import progress
from pellucid.engines.budget import largest_need, worker_contexts
from pellucid.engines.engine import EngineOptions
from pellucid.engines.parsl.block_main import pack_task
from pellucid.engines.parsl.usage import Usage
from pellucid.engines.parsl.worker import BlockReply, BlockRequest, work_on_block
from pellucid.engines.remote_blocks import RemoteBlocks, RemoteRun
from pellucid.engines.spark_job.allocation import start_in_allocation
from pellucid.engines.task import BlockResult, Task, TaskContext
from pellucid.errors import MissingPackage, WorkerLost
from pellucid.jobs.resources import Resources
from pellucid.settings import current, make_private_folder
from pellucid.volume.blocks import Block

if TYPE_CHECKING:
    from pyspark import SparkContext

AUTHENTICATION = "spark.authenticate"
SUBMISSION_PORT, SUBMISSION_TIMEOUT_S = 6066, 2.0
"""Of the REST server of a standalone master, which Spark starts by default, and which asks for no secret."""
MAX_SUBMISSION_REPLY_BYTES = 4096


class SparkEngine:
    """site: what follows "spark:" in the address of a master, or a master itself; "srun": one on the nodes of this
    Slurm job; without one, a Spark of this process or one with so many workers on this machine. The state folder is
    shared by all nodes."""

    needs_shareable_output = True

    def __init__(self, options: EngineOptions, site: str = "") -> None:
        self._master = f"spark:{site}" if site.startswith("//") else site or f"local[{options.workers}]"
        self.is_here = self._master.startswith("local")
        self.usage: list[Usage] = []
        self._context = started(self._master)
        self.options = replace(options, workers=min(options.workers, self._context.defaultParallelism))

    def capacity(self) -> Resources:
        return Resources(self.options.memory_bytes, self.options.workers, min(1, len(self.options.devices)))

    def run(self, task: Task, blocks: Sequence[Block], cancel: threading.Event) -> Iterator[BlockResult]:
        if not blocks:
            return
        contexts = worker_contexts(task, blocks, self.options)
        free: SimpleQueue[TaskContext] = SimpleQueue()
        for context in contexts:
            free.put(context)
        with ThreadPoolExecutor(len(contexts)) as threads:
            submit = partial(self._submit, threads, free)
            queue = RemoteBlocks(_first(task, blocks, contexts[0]), blocks, len(contexts), self.options.attempts)
            running = RemoteRun(queue, submit, _error_of, self.usage)
            try:
                yield from running.results(cancel)
            finally:
                running.stop()

    def _submit(
        self, threads: ThreadPoolExecutor, free: "SimpleQueue[TaskContext]", request: BlockRequest
    ) -> "Future[BlockReply]":
        return threads.submit(_run_job, self._context, free, request)


def started(master: str) -> "SparkContext":
    """The Spark of this process, or one at a master, or on the nodes of this Slurm job ("srun")."""
    try:
        from pyspark import SparkConf, SparkContext
    except ModuleNotFoundError:
        raise MissingPackage("pyspark", "spark") from None
    if master == "srun":
        master = start_in_allocation()
    conf = SparkConf().setMaster(master).setAppName("pellucid").set("spark.ui.showConsoleProgress", "false")
    if master.startswith("local"):
        for name, value in local_settings().items():
            conf.set(name, value)
    context = SparkContext.getOrCreate(conf)
    if warning := open_to_others(context):
        progress.note(warning)
    return context


def local_settings() -> dict[str, str]:
    """Of a Spark on this machine alone. As Spark comes, it listens on all networks to everyone, and who reaches it can
    run code as its user; its page lets everyone stop jobs; its files can be read by everyone."""
    return {
        AUTHENTICATION: "true",  # By a secret that Spark makes, and keeps in memory.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.local.dir": str(make_private_folder(current().state_folder / "spark" / "local")),
    }


def open_to_others(context: "SparkContext") -> str:
    """What to tell the user of a Spark that does not ask who connects; "" of one that does."""
    if context.getConf().get(AUTHENTICATION, "false") != "true":
        return (
            f"Spark at {context.master} does not authenticate: every process that can reach its ports can run code "
            f"as you. Set {AUTHENTICATION} and its secret in Spark's configuration."
        )
    port = int(context.getConf().get("spark.master.rest.port", str(SUBMISSION_PORT)))
    if any(_accepts_submissions(host, port) for host in _master_hosts(context.master)):
        return (
            f"Spark at {context.master} accepts programs from everyone at port {port}, without the secret: every "
            "process that can reach this port can run code as you. Set spark.master.rest.enabled to false in the "
            "configuration of the master, and restart it."
        )
    return ""


def _master_hosts(master: str) -> list[str]:
    """
    >>> _master_hosts("spark://a:7077,b:7077"), _master_hosts("local[4]")
    (['a', 'b'], [])
    """
    address = master.removeprefix("spark://")
    return [] if address == master else [one.rpartition(":")[0] for one in address.split(",")]


def _accepts_submissions(host: str, port: int) -> bool:
    """Whether a master answers there to a request without a secret; one with a filter refuses it."""
    connection = http.client.HTTPConnection(host.strip("[]"), port, timeout=SUBMISSION_TIMEOUT_S)
    try:
        with closing(connection):
            connection.request("GET", "/v1/submissions/status/none")
            return b"serverSparkVersion" in connection.getresponse().read(MAX_SUBMISSION_REPLY_BYTES)
    except (OSError, http.client.HTTPException):
        return False


def _first(task: Task, blocks: Sequence[Block], context: TaskContext) -> BlockRequest:
    packed = pack_task(task)
    key = hashlib.sha256(packed + uuid4().bytes).hexdigest()
    stop = make_private_folder(current().state_folder / "spark") / f"stop-{uuid4().hex[:12]}"
    kind = "gpu" if largest_need(task, blocks).gpus else "cpu"
    return BlockRequest(packed, key, context, blocks[0], str(stop), kind)


def _run_job(spark: "SparkContext", free: "SimpleQueue[TaskContext]", request: BlockRequest) -> BlockReply:
    """In a thread of the driver, one for each worker."""
    context = free.get()
    try:
        wanted = replace(request, context=context, key=f"{request.key} {context.device}")
        (reply,) = spark.parallelize([wanted], 1).map(_work).collect()
    finally:
        free.put(context)
    found: BlockReply = reply
    return found


def _work(request: BlockRequest) -> BlockReply:
    """In a Python worker of Spark. The GPU that Spark gave to the task comes first."""
    from pyspark import TaskContext as SparkTask

    task = SparkTask.get()
    gpus = task.resources().get("gpu") if task is not None else None
    if gpus is not None and request.context.device != "cpu":
        device = f"cuda:{gpus.addresses[0]}"
        request = replace(request, context=replace(request.context, device=device), key=f"{request.key} {device}")
    return work_on_block(request)


def _error_of(error: BaseException, block: Block) -> BaseException:
    """A job fails where Spark has tried its task several times: its executors were lost."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return WorkerLost(f"working on block {block.index} on Spark", (lines or [type(error).__name__])[0][:300])
