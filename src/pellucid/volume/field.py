"""The Field protocol: anything that has a value at a point and says when it changed.

Here: the protocol, and the announcements that its implementations share.
Not here: Volume (volume), what a kernel samples (fields).
"""

from collections.abc import Callable
from typing import Protocol

from pellucid.box import Box, Shape
from pellucid.formats.protocol import Voxels

Listener = Callable[[Box], None]


class Field(Protocol):
    """A value at every point of a box of voxels."""

    @property
    def shape(self) -> Shape:
        """Extent in voxels along (z, y, x)."""

    def sample(self, points: Voxels) -> Voxels:
        """Values at (n, 3) points in voxel coordinates (z, y, x), trilinear between voxel centres."""

    def range_in(self, box: Box) -> tuple[float, float]:
        """A lower and an upper bound of the values inside a box; cheap, not necessarily tight."""

    def on_change(self, listener: Listener) -> Callable[[], None]:
        """Call the listener with every box that changes; returns how to stop that."""


class ChangeListeners:
    """Who wants to know of changes."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def add(self, listener: Listener) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def changed(self, box: Box) -> None:
        for listener in tuple(self._listeners):
            listener(box)
