"""Device Workers for a viewer, wherever its engine has them.

Here: viewer_workers: started as long as the viewer needs them, replaced when they are lost.
Not here: how each engine starts them (group, spark.application, nodes), the viewer (instance).
"""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pellucid.cluster.credentials import Credentials
from pellucid.cluster.group import WorkerGroup
from pellucid.cluster.handles import WorkerId
from pellucid.cluster.links import WorkerLinks
from pellucid.cluster.nodes.allocation import AllocationWorkers
from pellucid.cluster.viewer.cluster_file import ClusterFile
from pellucid.device.hardware import count_gpus
from pellucid.errors import BlockLost, InvalidInput, PellucidError

LOG = logging.getLogger(__name__)
CHECK_S = 1.0
ENGINES = "local, srun or spark:srun (inside of a Slurm job), or spark://HOST:PORT"


@dataclass(frozen=True)
class WorkerSource:
    """credentials: of the application. find: all Workers, those that have ended started anew."""

    credentials: Credentials
    links: WorkerLinks
    find: Callable[[], Sequence[WorkerId]]
    prefers_local: bool = True
    thread: Callable[..., threading.Thread] = threading.Thread
    """In which Workers may be looked for."""


@contextmanager
def viewer_workers(engine: str, count: int | None = None) -> Iterator[ClusterFile]:
    """The file that names the Workers of an engine. count: how many, where the engine is this machine."""
    with _source(engine, count) as source:
        file = ClusterFile.of(source.credentials)
        is_over = threading.Event()
        workers = _all_of(source, is_over)
        file.write(source.credentials, workers, prefers_local=source.prefers_local)
        watching = source.thread(target=_watch, args=(source, file, workers, is_over), daemon=True)
        watching.start()
        try:
            yield file
        finally:
            is_over.set()
            watching.join()
            file.remove()


@contextmanager
def _source(engine: str, count: int | None) -> Iterator[WorkerSource]:
    if engine == "local":
        gpus = count_gpus()
        with WorkerGroup.local(count or gpus or 1, "cuda" if gpus else "cpu") as group:
            yield WorkerSource(group.credentials, group.links, group.replaced)
    elif engine == "srun":
        with AllocationWorkers(count or 0) as allocation:
            yield WorkerSource(allocation.credentials, allocation.links, allocation.workers)
    elif engine == "spark:srun" or engine.startswith("spark://"):
        with _spark_source(engine.removeprefix("spark:") if engine.endswith(":srun") else engine) as source:
            yield source
    else:
        raise InvalidInput(f"The engine {engine!r} has no Device Workers.", remedy=f"Use {ENGINES}.")


@contextmanager
def _spark_source(master: str) -> Iterator[WorkerSource]:
    from pellucid.cluster.spark.application import SparkApplication
    from pellucid.engines.spark import started

    context = started(master)
    from pyspark import InheritableThread

    with SparkApplication(context) as application:
        yield WorkerSource(application.credentials, application.links, application.workers, thread=InheritableThread)


def _all_of(source: WorkerSource, is_over: threading.Event) -> tuple[WorkerId, ...]:
    """Executors of Spark come one after the other: until no more of them come."""
    workers = tuple(source.find())
    while True:
        is_over.wait(CHECK_S if source.thread is not threading.Thread else 0.0)
        before, workers = workers, tuple(source.find())
        if workers == before:
            return workers


def _watch(source: WorkerSource, file: ClusterFile, workers: Sequence[WorkerId], is_over: threading.Event) -> None:
    """Whenever a Worker has ended, another one is started and written down; until then the viewer has the others."""
    count = len(workers)
    while not is_over.wait(CHECK_S):
        if len(workers) >= count and all(_responds(source.links, worker) for worker in workers):
            continue
        try:
            workers = tuple(source.find())
        except PellucidError as error:
            LOG.warning("A Device Worker was lost, and no other one could be started: %s", error)
            continue
        file.write(source.credentials, workers, prefers_local=source.prefers_local)


def _responds(links: WorkerLinks, worker: WorkerId) -> bool:
    try:
        links.usage(worker)
    except BlockLost:
        return False
    return True
