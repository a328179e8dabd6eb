"""What people have set up for the reconstruction of scans, so that it outlives the page that they did it on.

Here: Benches: the wish for every scan, which one is in front, and the run of each.
Not here: what is done with it (trials, reconstruction).
"""

from contextlib import suppress
from dataclasses import dataclass

from pellucid.errors import NotFound
from pellucid.instance.protocol.outgoing import Reconstructions
from pellucid.instance.protocol.reconstruction import Bench, ReconstructionRequest, ReconstructionRun, Wish
from pellucid.instance.tasks import Tasks
from pellucid.rendering.documents import check_storable

MOST_KEPT = 20


@dataclass(frozen=True)
class _Started:
    """A run, but for how far it is."""

    output: str
    is_watched: bool
    task: str


class Benches:
    """Called on the event loop."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks, self._open = tasks, ""
        self._wishes: dict[str, Wish] = {}
        self._started: dict[str, _Started] = {}

    def set(self, scan: str, wish: Wish | None, *, is_open: bool) -> None:
        """The latest wins; what was touched longest ago is forgotten."""
        check_storable((scan, wish), "the request")
        if is_open:
            self._open = scan
        elif self._open == scan:
            self._open = ""
        if wish is not None:
            self._wishes.pop(scan, None)
            self._wishes[scan] = wish
        while len(self._wishes) > MOST_KEPT:
            del self._wishes[next(iter(self._wishes))]

    def began(self, asked: ReconstructionRequest, task: str) -> None:
        self._started[asked.path] = _Started(asked.output, asked.is_watched, task)

    def message(self) -> Reconstructions:
        benches = tuple(Bench(scan, wish) for scan, wish in self._wishes.items())
        return Reconstructions(self._open, benches, tuple(self._runs()))

    def _runs(self) -> list[ReconstructionRun]:
        known = []
        for scan, run in self._started.items():
            with suppress(NotFound):  # Tasks that ended long ago are forgotten.
                status = self._tasks.status(run.task)
                known.append(ReconstructionRun(scan, run.output, run.is_watched, status))
        return known
