"""The Workers of a Spark task: that of its node and device, and those of its application.

Here: context_of_task; which device a task uses; for which process its Worker is there.
Not here: starting a Worker (nodes.launch), the driver's part (application).
"""

import gc
import json
import os
import socket
import sys
from functools import cache, partial
from pathlib import Path

from pellucid.cluster.context import ClusterContext
from pellucid.cluster.credentials import Credentials
from pellucid.cluster.handles import WorkerId
from pellucid.cluster.links import WorkerLinks
from pellucid.cluster.nodes.folders import WorkerSpec
from pellucid.cluster.nodes.launch import find_or_start
from pellucid.cluster.nodes.node_address import own_host
from pellucid.cluster.spark.losses import DriverLink
from pellucid.cluster.spark.options import OPTIONS_PROPERTY, TOKEN_PROPERTY, SparkOptions
from pellucid.dataclass_json import from_json
from pellucid.device.hardware import count_gpus
from pellucid.settings import current

DAEMON = "pyspark.daemon"
WORKER = "pyspark.worker"


def context_of_task() -> ClusterContext | None:
    """Of the task that runs in this process; None outside a task, or where the program has no SparkApplication."""
    from pyspark import TaskContext

    task = TaskContext.get()
    token = None if task is None else task.getLocalProperty(TOKEN_PROPERTY)
    if task is None or not token:
        return None
    _keep_modules(len(sys.modules))
    gpus = task.resources().get("gpu")
    options = task.getLocalProperty(OPTIONS_PROPERTY) or "{}"
    return _context(token, options, task.partitionId(), tuple(gpus.addresses) if gpus else ())


@cache
def _keep_modules(loaded: int) -> None:
    """PySpark collects garbage after every task. With our modules loaded that takes longer than a task: they are not
    looked at again. Called once for every number of modules."""
    gc.freeze()


@cache
def _links(token: str, prefers_local: bool) -> WorkerLinks:
    return WorkerLinks(token, holder_of_task(), prefers_local=prefers_local)


def _context(token: str, options_text: str, partition: int, addresses: tuple[str, ...]) -> ClusterContext:
    credentials, options = _parsed(token, options_text)
    links = _links(credentials.token, options.prefers_local)
    local = partial(_local_worker, credentials, options, partition, addresses)
    return ClusterContext(links, local, _driver(options.table, credentials.token).report)


def driver_link() -> DriverLink:
    """To the driver of the task that runs in this process."""
    from pyspark import TaskContext

    task = TaskContext.get()
    token = "" if task is None else task.getLocalProperty(TOKEN_PROPERTY) or ""
    text = "{}" if task is None else task.getLocalProperty(OPTIONS_PROPERTY) or "{}"
    credentials, options = _parsed(token, text)
    return _driver(options.table, credentials.token)


@cache
def _driver(address: str, token: str) -> DriverLink:
    return DriverLink(address, token)


@cache
def _parsed(token: str, options: str) -> tuple[Credentials, SparkOptions]:
    return Credentials.parse(token), from_json(SparkOptions, json.loads(options), "options")


def _local_worker(
    credentials: Credentials, options: SparkOptions, partition: int, addresses: tuple[str, ...]
) -> WorkerId:
    """The Worker of the device that Spark gave the task; without such a resource, devices take turns."""
    names = device_names(options.device, addresses)
    device = names[partition % len(names)]
    slot = int(device.partition(":")[2] or 0)
    spec = WorkerSpec(
        device, slot, socket.gethostname(), own_host(options.driver_host), current().threads,
        options.memory_bytes, options.host_bytes, options.idle_timeout_s,
        prefers_local=options.prefers_local,
    )  # fmt: skip
    return find_or_start(credentials, spec, holder_of_task())


def device_names(device: str, addresses: tuple[str, ...]) -> list[str]:
    """The devices of this node. addresses: of the GPUs that Spark gave the task.

    >>> device_names("auto", ("1",)), device_names("cpu", ())
    (['cuda:1'], ['cpu'])
    """
    if device == "cpu":
        return ["cpu"]
    numbers = [int(address) for address in addresses if address.isdecimal()] or list(range(count_gpus()))
    return [f"cuda:{number}" for number in numbers] or ["cpu"]


@cache
def holder_of_task() -> int:
    """The executor of this task. Spark's Python processes below it come and go."""
    pid = os.getpid()
    while any(name in _command(pid) for name in (DAEMON, WORKER)):
        pid = _parent(pid)
    return pid


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
