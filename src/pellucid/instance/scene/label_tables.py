"""Tables of labels: which are in a layer, how large they are and where.

Here: LabelTables, which counts each volume once.
Not here: counting (volume.label_statistics), tables in physical units (rendering.label_list).
"""

import asyncio
from concurrent.futures import Future

from pellucid.volume.label_statistics import LabelTable
from pellucid.workers.protocol import requests
from pellucid.workers.supervisor import SupervisedWorker

MAX_TABLES = 8


class LabelTables:
    """Counted tables by source and time. All methods are called on the event loop."""

    def __init__(self, worker: SupervisedWorker) -> None:
        self._worker = worker
        self._tables: dict[tuple[str, float], Future[LabelTable]] = {}

    async def table(self, source: str, time: float) -> LabelTable:
        """The table of a volume; clients who ask at the same time wait for the same count."""
        key = (source, time)
        future = self._tables.get(key)
        if future is None or (future.done() and future.exception() is not None):
            future = self._worker.send_request(
                "counting labels", lambda request: requests.MeasureLabels(request, source, time)
            )
            self._tables[key] = future
            for oldest in list(self._tables)[:-MAX_TABLES]:
                self._worker.cancel(self._tables.pop(oldest))
        return await asyncio.shield(asyncio.wrap_future(future))

    def forget(self, source: str) -> None:
        """Its voxels changed, or it is not shown any more."""
        for key in [key for key in self._tables if key[0] == source]:
            self._worker.cancel(self._tables.pop(key))

    def keep(self, sources: set[str]) -> None:
        """Forget all others."""
        for source in {source for source, _ in self._tables} - sources:
            self.forget(source)
