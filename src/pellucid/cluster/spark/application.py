"""The driver's part of a Spark program with Device Workers.

Here: SparkApplication: the application's token reaches its tasks, and its Workers end with it.
Not here: a task's part (task), functions for maps (cluster.functions).
"""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from pellucid.cluster.context import ClusterContext, current_context, use_context
from pellucid.cluster.credentials import Credentials
from pellucid.cluster.handles import WorkerId
from pellucid.cluster.links import WorkerLinks
from pellucid.cluster.spark.losses import PartitionTable, is_loss, kept_or_computed
from pellucid.cluster.spark.options import OPTIONS_PROPERTY, TOKEN_PROPERTY, SparkOptions
from pellucid.engines.spark import open_to_others
from pellucid.errors import BlockLost, InvalidInput

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

LOG = logging.getLogger(__name__)
Result = TypeVar("Result")
TURNS = 2
"""Tasks for each core when something is to be done once on every node: no one says which executor takes a task."""


class SparkApplication:
    """Device Workers for a Spark program, as a context manager: map functions of this SparkContext can use them, if an
    action of this thread runs them. A Worker is started by the first task that needs it; all of them end with the
    context.

    Use pyspark.InheritableThread for actions in other threads.
    """

    def __init__(self, spark: "SparkContext", options: SparkOptions | None = None) -> None:
        if warning := open_to_others(spark):
            LOG.warning(warning)
        self.spark = spark
        self.credentials = Credentials.create()
        host = spark.getConf().get("spark.driver.host") or ""
        self._cached: dict[int, RDD[Any]] = {}
        self._collected: dict[int, list[Any]] = {}
        self._table = PartitionTable(host, self.credentials.token, self._drop, self._responds)
        self.options = replace(options or SparkOptions(), driver_host=host, table=str(self._table.address))
        # The driver holds no lease: Workers are there for executors.
        self.links = WorkerLinks(self.credentials.token, 0, prefers_local=self.options.prefers_local)
        self._opened = ExitStack()

    def __enter__(self) -> "SparkApplication":
        self._opened.enter_context(use_context(ClusterContext(self.links, _no_worker, self._table.report)))
        self._set(TOKEN_PROPERTY, self.credentials.text)
        self._set(OPTIONS_PROPERTY, json.dumps(asdict(self.options)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if not isinstance(error, KeyboardInterrupt):
                for worker in self.workers():
                    self.links.end(worker)
        finally:
            self._set(TOKEN_PROPERTY, None)
            self._set(OPTIONS_PROPERTY, None)
            self.links.close()
            self._table.close()
            self._opened.close()

    def workers(self) -> list[WorkerId]:
        """Return the Workers of all nodes with executors, in a fixed order; start those that are missing."""
        tasks = TURNS * self.spark.defaultParallelism
        found = self.spark.parallelize(range(tasks), tasks).mapPartitions(_local_worker).distinct().collect()
        return sorted(found)

    def cache(self, rdd: "RDD[Any]") -> "RDD[Any]":
        """Cache the handles of an RDD in Spark. If blocks are lost, only their partitions are computed again; with one
        block in each partition, only lost blocks are."""
        number = len(self._cached)
        cached = rdd.mapPartitionsWithIndex(partial(kept_or_computed, number), preservesPartitioning=True).cache()
        self._cached[number] = cached
        return cached

    def collect(self, cached: "RDD[Any]") -> list[Any]:
        """Return the elements of an RDD that cache() returned. Spark is asked once, and again after blocks were lost.

        With them the driver uses the Workers directly, such as for frames: without a job of Spark for each.
        """
        number = next((number for number, one in self._cached.items() if one is cached), None)
        if number is None:
            raise InvalidInput("The RDD is not cached by the application.", remedy="Use what cache() returned.")
        if number not in self._collected:
            self._collected[number] = cached.collect()
        return self._collected[number]

    def _drop(self, number: int) -> None:
        """Have Spark compute the partitions again; those that are still good are in the table."""
        self._collected.pop(number, None)
        self._cached[number].unpersist(blocking=True)
        self._cached[number].cache()

    def _responds(self, worker: WorkerId) -> bool:
        try:
            self.links.usage(worker)
        except BlockLost:
            return False
        return True

    def retry(self, work: Callable[[], Result], attempts: int = 3) -> Result:
        """Return the result of work, which runs actions; call it again if blocks were lost meanwhile."""
        for left in range(attempts - 1, -1, -1):
            try:
                return work()
            except Exception as error:
                if not left or not is_loss(error):
                    raise
                LOG.warning("Blocks were lost. Trying again.")
        raise InvalidInput("The number of attempts is 0.", remedy="Set attempts to 1 or more.")

    def _set(self, name: str, text: str | None) -> None:
        self.spark.setLocalProperty(name, text)


def _local_worker(_: Iterator[Any]) -> list[WorkerId]:
    return [current_context().local()]


def _no_worker() -> WorkerId:
    raise InvalidInput("The driver has no device.", remedy="Send blocks in a map function: rdd.map(send_gpu).")
