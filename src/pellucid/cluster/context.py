"""Where chains are sent: the Workers of the application to which this process belongs.

Here: ClusterContext, and the one of now.
Not here: connections (links), how a task of Spark gets its context (spark.task).
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from pellucid.cluster.handles import WorkerId
from pellucid.cluster.links import WorkerLinks
from pellucid.errors import InvalidInput


@dataclass(frozen=True)
class ClusterContext:
    """links: to all Workers. local: the Worker to which new blocks go, started where that is needed. on_loss: is given
    the origins of blocks that were lost."""

    links: WorkerLinks
    local: Callable[[], WorkerId]
    on_loss: Callable[[Sequence[object]], None] = lambda origins: None


class _State:
    """Of the whole process: threads that a program starts must see it too. The last one is in use."""

    contexts: ClassVar[list[ClusterContext]] = []


def current_context() -> ClusterContext:
    """Of this process, or of the Spark task that runs in it."""
    if _State.contexts:
        return _State.contexts[-1]
    if "pyspark" in sys.modules:
        from pellucid.cluster.spark.task import context_of_task

        context = context_of_task()
        if context is not None:
            return context
    remedy = "Use a WorkerGroup as context, or a SparkApplication around the Spark program."
    raise InvalidInput("There are no Device Workers here.", remedy=remedy)


@contextmanager
def use_context(context: ClusterContext) -> Iterator[None]:
    _State.contexts.append(context)
    try:
        yield
    finally:
        _State.contexts.remove(context)
