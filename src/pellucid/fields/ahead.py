"""Fields that will be wanted next, loaded in the background.

Here: ReadAhead, with a thread of its own.
Not here: which are wanted and whether there is room (store), bricks of one field (reading).
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from pellucid.fields.sampled import SampledField


@dataclass(frozen=True)
class _Coming:
    field: "Future[SampledField]"
    nbytes: int


class ReadAhead:
    """Fields by name, one being loaded after the other."""

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None
        self._coming: dict[str, _Coming] = {}

    @property
    def nbytes(self) -> int:
        """What they take, or will take, on the device."""
        return sum(coming.nbytes for coming in self._coming.values())

    def __contains__(self, name: str) -> bool:
        return name in self._coming

    def start(self, name: str, nbytes: int, load: Callable[[], SampledField]) -> None:
        """Load a field when those before are there."""
        self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="pellucid-ahead")
        self._coming[name] = _Coming(self._thread.submit(load), nbytes)

    def take(self, name: str) -> SampledField:
        """A field that was started, when it is there; what went wrong is raised here."""
        return self._coming.pop(name).field.result()

    def arrived(self, *, wait: bool = False) -> dict[str, SampledField]:
        """Those that are there, which are then no longer kept here; wait: all of them.

        What failed is left out: whoever asks for it again meets the error then.
        """
        ready = {name: coming.field for name, coming in self._coming.items() if wait or coming.field.done()}
        for name in ready:
            del self._coming[name]
        return {name: field.result() for name, field in ready.items() if field.exception() is None}
