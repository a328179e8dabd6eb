"""What viewers and tasks have written down themselves, beside their records.

Here: Leavings: progress, the scene that was saved, the log.
Not here: where that lies (records), addresses (keeper).
"""

from collections.abc import Callable
from typing import Any, TypeVar

from pellucid.agent.records import SAVED, Progress, Record, Shelf
from pellucid.jobs.job import LOG
from pellucid.jobs.states import last_lines

MOST_LINES = 10_000
Kind = TypeVar("Kind")


class Leavings:
    """What is over does not change any more: a page that looks every second must not read it again and again."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._final: dict[str, Any] = {}

    def progress(self, record: Record) -> Progress | None:
        """Of a task."""
        return self._last(record, lambda: self._shelf.progress(record.id))

    def saved(self, record: Record) -> str:
        """The name of the scene that a viewer saved before the end of its time; "" where it did not."""
        return self._last(record, lambda: self._shelf.word(record.id, SAVED))

    def lines(self, record: Record) -> tuple[str, ...]:
        """The end of its log."""
        return last_lines(self._shelf.place(record.id) / LOG, MOST_LINES)

    def forget(self, id: str) -> None:
        self._final.pop(id, None)

    def _last(self, record: Record, read: Callable[[], Kind]) -> Kind:
        if not record.state.is_over:
            return read()
        if record.id not in self._final:
            self._final[record.id] = read()
        kept: Kind = self._final[record.id]
        return kept
