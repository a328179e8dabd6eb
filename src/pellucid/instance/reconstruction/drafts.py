"""Drafts of reconstructions, which outlive the page on which they were made.

Here: DraftStore: the draft of every scan, which one is open, and the run of each.
Not here: what is done with it (previews, reconstruction).
"""

from contextlib import suppress
from dataclasses import dataclass

from pellucid.dataclass_json import check_storable
from pellucid.errors import NotFound
from pellucid.instance.protocol.reconstruction import (
    ReconstructionDraft,
    ReconstructionRequest,
    ReconstructionRun,
    ScanDraft,
)
from pellucid.instance.protocol.server_messages import Reconstructions
from pellucid.instance.reconstruction.run_time import RunTimes
from pellucid.instance.tasks.tasks import TaskRegistry

MAX_KEPT = 20


@dataclass(frozen=True)
class _Started:
    """A run, but for how far it is."""

    output: str
    is_watched: bool
    task: str


class DraftStore:
    """Called on the event loop. times: how long runs take."""

    def __init__(self, tasks: TaskRegistry) -> None:
        self._tasks, self._open, self.times = tasks, "", RunTimes()
        self._requests: dict[str, ReconstructionDraft] = {}
        self._started: dict[str, _Started] = {}

    def set(self, scan: str, request: ReconstructionDraft | None, *, is_open: bool) -> None:
        """The latest wins; what was touched longest ago is forgotten."""
        check_storable((scan, request), "the request")
        if is_open:
            self._open = scan
        elif self._open == scan:
            self._open = ""
        if request is not None:
            self._requests.pop(scan, None)
            self._requests[scan] = request
        while len(self._requests) > MAX_KEPT:
            del self._requests[next(iter(self._requests))]

    def run_started(self, request: ReconstructionRequest, task: str) -> None:
        self._started[request.path] = _Started(request.output, request.is_watched, task)

    def message(self) -> Reconstructions:
        drafts = tuple(ScanDraft(scan, request) for scan, request in self._requests.items())
        return Reconstructions(self._open, drafts, tuple(self._runs()))

    def _runs(self) -> list[ReconstructionRun]:
        known = []
        for scan, run in self._started.items():
            with suppress(NotFound):  # Tasks that ended long ago are forgotten.
                status = self._tasks.status(run.task)
                known.append(ReconstructionRun(scan, run.output, run.is_watched, status))
        return known
