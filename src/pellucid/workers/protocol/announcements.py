"""Announcements of a Worker: what it produced or changed, sent without a request that waits for it.

Here: announcements as typed data.
Not here: replies to requests (replies), what an instance makes of them (instance.pool_events).

An announcement is for everyone; it has no request number.
"""

from dataclasses import dataclass

from pellucid.box import Box
from pellucid.formats.protocol import Spacing
from pellucid.workers.protocol.requests import ArrayKind


@dataclass(frozen=True)
class ArrayProduced:
    """An array of this name is in the shared memory that comes along: a volume, points or a mesh as in AddArray. From
    now on the supervisor owns it, so that it outlives the Worker."""

    source: str
    shape: tuple[int, ...]
    dtype: str
    spacing: Spacing = (1.0, 1.0, 1.0)
    unit: str = ""
    kind: ArrayKind = "volume"
    vertices: int = 0


@dataclass(frozen=True)
class VoxelsChanged:
    """The Worker wrote to an array of the instance, in these boxes."""

    source: str
    boxes: tuple[Box, ...]


@dataclass(frozen=True)
class BatchHalved:
    """Memory did not suffice for a user's module that fills this array; batch: points of one call from now on."""

    source: str
    batch: int


Announcement = ArrayProduced | VoxelsChanged | BatchHalved
