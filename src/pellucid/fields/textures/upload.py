"""Voxels from host memory to a texture, as fast as the bus carries them.

Here: upload: threads fill pinned pieces while earlier pieces are on their way, and the texture is filled on the device.
Not here: the texture (textures), reading files (volume).
"""

from concurrent.futures import ThreadPoolExecutor
from math import prod
from typing import Any

import numpy as np

from pellucid import progress
from pellucid.box import Box, Shape
from pellucid.device import Device, runtime
from pellucid.fields.textures.textures import VoxelTexture
from pellucid.formats.protocol import Voxels
from pellucid.settings import current
from pellucid.volume.volume import Volume

PIECE_BYTES = 16 * 2**20
"""On the device. Pinning memory takes longer than filling it several times over, so that there is one piece for each
thread; sending a piece costs half a millisecond of Python whatever its size."""

MAX_THREADS = 8
"""They fill pieces as fast as the bus takes them; more would stand in each other's way."""

MAX_STAGED_BYTES = 512 * 2**20


class UploadBuffer:
    """Room for one piece, pinned and on the device."""

    def __init__(self, device: Device, stored: np.dtype[Any], voxels: int) -> None:
        warp = runtime.start()
        with runtime.LOCK:
            self._pinned = warp.empty(voxels * stored.itemsize, dtype=warp.uint8, device="cpu", pinned=True)
            self._arrived = warp.empty(voxels * stored.itemsize, dtype=warp.uint8, device=device.name)
            self._sent = warp.Event(device.name)
        self._host: Voxels = self._pinned.numpy().view(stored)
        self._is_sent = False

    def fill(self, volume: Volume, box: Box) -> None:
        """Read a box of the volume, once the piece before is on the device."""
        self.wait()
        room = self._host[: box.size].reshape(box.shape)
        if volume.dtype == room.dtype:
            volume.read(box, out=room)
        else:
            room[:] = volume.read(box)

    def wait(self) -> None:
        """Until what was sent is there."""
        if self._is_sent:
            runtime.start().synchronize_event(self._sent)

    def send(self, texture: VoxelTexture, box: Box) -> None:
        """Queue the way to the device and into the texture."""
        warp = runtime.start()
        with runtime.LOCK:
            warp.copy(self._arrived, self._pinned, count=box.size * self._host.itemsize)
        texture.write(int(self._arrived.ptr), box.start, box.shape)
        with runtime.LOCK:
            warp.get_stream(texture.device.name).record_event(self._sent)
        self._is_sent = True


def upload(volume: Volume, texture: VoxelTexture, stored: np.dtype[Any]) -> None:
    """All voxels of a volume."""
    shape = piece_shape(volume, stored)
    pieces = list(volume.box.tiles(shape))
    staged = MAX_STAGED_BYTES // (prod(shape) * stored.itemsize)
    workers = max(1, min(current().threads, MAX_THREADS, len(pieces), staged))
    remaining = iter(pieces)

    def work() -> None:
        stage = UploadBuffer(texture.device, stored, prod(shape))
        # Several threads draw from one list iterator; the interpreter lock makes each draw whole.
        for box in remaining:
            stage.fill(volume, box)
            stage.send(texture, box)
            bar.advance(box.size * stored.itemsize)
        stage.wait()

    with (
        progress.task(f"Copying to {texture.device}", total=prod(volume.shape) * stored.itemsize, unit="B") as bar,
        ThreadPoolExecutor(workers, thread_name_prefix="pellucid-upload") as pool,
    ):
        for working in [pool.submit(work) for _ in range(workers)]:
            working.result()


def piece_shape(volume: Volume, stored: np.dtype[Any]) -> Shape:
    """Whole chunks of the file, grown along x, y and z in turn."""
    edges = [min(c, n) for c, n in zip(volume.chunk, volume.shape, strict=True)]
    for axis in (2, 1, 0):
        factor = max(1, PIECE_BYTES // (prod(edges) * stored.itemsize))
        edges[axis] = min(volume.shape[axis], edges[axis] * factor)
    z, y, x = edges
    return (z, y, x)
