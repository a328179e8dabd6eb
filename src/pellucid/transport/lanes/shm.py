"""Two processes on one machine: the receiving end's memory is handed to the sender, who writes into it.

Here: ShmLane.
Not here: the memory (formats.shared), who is on the same machine (connecting).

One copy for an ordinary array, none for a sender who asked for the memory first. There is no checksum: nothing travels.
"""

import os
from collections.abc import Sequence
from functools import partial

import numpy as np

from pellucid.errors import TransferInvalid
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared import SharedArray
from pellucid.transport.lanes.lane import Link
from pellucid.transport.messages import Message
from pellucid.transport.pieces import Source, Target, in_parallel, populate

SENT = "sent"


class ShmLane:
    def __init__(self, link: Link) -> None:
        if not link.control.is_local:
            raise TransferInvalid("memory can be handed over only through a local socket")
        self._link = link

    def invite(self, target: Target) -> tuple[Message, Sequence[int]]:
        return Message("ready"), (target.shared.descriptor,)

    def receive(self, target: Target, missing: Sequence[int]) -> None:
        self._link.control.expect(SENT, is_patient=True)
        for number in missing:
            target.keep(number)

    def send(self, source: Source, missing: Sequence[int], invitation: Message) -> None:
        little = source.array.dtype.newbyteorder("<")
        with attach(self._link.control.take_descriptor(), source.array.shape, little) as shared:
            flat = shared.array.reshape(-1)
            in_parallel(partial(self._copy, source, flat), missing)
        self._link.control.write(Message(SENT))

    def close(self) -> None:
        pass

    def _copy(self, source: Source, flat: Voxels, number: int) -> None:
        self._link.check()
        start, stop = source.cut.span(number)
        piece = flat[start // flat.itemsize : stop // flat.itemsize]
        populate(piece.view(np.uint8))
        source.gather(number, piece)
        source.bar.advance(stop - start)


def attach(descriptor: int, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> SharedArray:
    """Memory that came from the other end. Its size is checked: touching beyond the end would kill this process."""
    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if os.fstat(descriptor).st_size < nbytes:
        os.close(descriptor)
        raise TransferInvalid("the memory that it handed over is smaller than what was announced")
    return SharedArray(descriptor, shape, dtype)
