"""Copying bricks to a CUDA device through pinned memory.

Here: BrickStaging: while one room's bricks are on their way, the next room is filled.
Not here: where they go (pool, textures), whole volumes (upload).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.device import Device, runtime
from pellucid.formats.protocol import Voxels

STAGED = 256
"""Bricks in a room."""

ROOMS = 2


@dataclass
class _PinnedBuffer:
    pinned: Any
    arrived: Any
    sent: Any
    is_sent: bool = False


class BrickStaging:
    """words: 32-bit words of a brick."""

    def __init__(self, device: Device, words: int, slots: int) -> None:
        warp, shape = runtime.start(), (min(STAGED, slots), words)
        self._device, self._words = device, words
        self._rooms = [
            _PinnedBuffer(
                warp.empty(shape, dtype=warp.uint32, device="cpu", pinned=True),
                warp.empty(shape, dtype=warp.uint32, device=device.name),
                warp.Event(device.name),
            )
            for _ in range(ROOMS)
        ]
        self._next = 0

    def send(self, slots: Voxels, bricks: Iterable[Voxels], write: Callable[[Any, Any], None]) -> None:
        """Bring bricks to the device; write(array, slots): queue their way from there, (n, words), to their slots."""
        first = 0
        for some in self._roomfuls(bricks):
            last = first + len(some)
            self._send(some, slots[first:last], write)
            first = last

    def _roomfuls(self, bricks: Iterable[Voxels]) -> Iterator[Voxels]:
        """Bricks in a room's memory, as many as there are or as it holds."""
        room, count = self._enter(), 0
        for several in bricks:
            left = np.ascontiguousarray(several).view(np.uint32).reshape(-1, self._words)
            while len(left):
                taken = min(len(left), len(room) - count)
                room[count : count + taken] = left[:taken]
                count, left = count + taken, left[taken:]
                if count == len(room):
                    yield room
                    room, count = self._enter(), 0
        if count:
            yield room[:count]

    def _enter(self) -> Voxels:
        room = self._rooms[self._next]
        if room.is_sent:
            runtime.start().synchronize_event(room.sent)
        memory: Voxels = room.pinned.numpy()
        return memory

    def _send(self, some: Voxels, slots: Voxels, write: Callable[[Any, Any], None]) -> None:
        warp, room = runtime.start(), self._rooms[self._next]
        with runtime.LOCK:
            warp.copy(room.arrived, room.pinned, count=some.size)
            write(room.arrived[: len(some)], warp.array(slots.astype(np.int32), device=self._device.name))
            warp.get_stream(self._device.name).record_event(room.sent)
        room.is_sent = True
        self._next = (self._next + 1) % ROOMS
