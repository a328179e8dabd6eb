"""Loading the fields that are needed next in the background.

Here: FieldPrefetcher, with a thread of its own.
Not here: which are wanted and whether there is room (store), bricks of one field (bricks.reader).
"""

from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pellucid.fields.device_field import DeviceField


@dataclass(frozen=True)
class _PendingField:
    field: "Future[DeviceField]"
    nbytes: int


class FieldPrefetcher:
    """Fields by name, one being loaded after the other."""

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None
        self._coming: dict[Hashable, _PendingField] = {}

    @property
    def nbytes(self) -> int:
        """What they take, or will take, on the device."""
        return sum(coming.nbytes for coming in self._coming.values())

    def __contains__(self, name: Hashable) -> bool:
        return name in self._coming

    def start(self, name: Hashable, nbytes: int, load: Callable[[], DeviceField]) -> None:
        """Load a field when those before are there."""
        self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="pellucid-ahead")
        self._coming[name] = _PendingField(self._thread.submit(load), nbytes)

    def take(self, name: Hashable) -> DeviceField:
        """A field that was started, when it is there; what went wrong is raised here."""
        return self._coming.pop(name).field.result()

    def take_ready(self, *, wait: bool = False) -> dict[Any, DeviceField]:
        """Those that are there, which are then no longer kept here; wait: all of them.

        A failed one is left out: the next request for it raises the error.
        """
        ready = {name: coming.field for name, coming in self._coming.items() if wait or coming.field.done()}
        for name in ready:
            del self._coming[name]
        return {name: field.result() for name, field in ready.items() if field.exception() is None}
