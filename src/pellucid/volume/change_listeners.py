"""Listeners for changes of voxels.

Here: ChangeListeners, which a Volume calls with every box that changes.
Not here: Volume (volume), who listens (fields).
"""

from collections.abc import Callable

from pellucid.box import Box

Listener = Callable[[Box], None]


class ChangeListeners:
    """Functions that are called with every box that changes."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def add(self, listener: Listener) -> Callable[[], None]:
        """Returns a function that removes it again."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def changed(self, box: Box) -> None:
        for listener in tuple(self._listeners):
            listener(box)
