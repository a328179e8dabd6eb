"""Sending a volume while it is being made: blocks or slices, in any order.

Here: StreamWriter, and the receiving side's choice between lanes.
Not here: blocks on the wire (blocks), connecting (client).

Memory is bounded: a block is copied when it is handed over, and the copy is kept until the other end has it. When too
much is under way, write waits. After a broken connection the same blocks are sent again, and no others.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.errors import InvalidInput, PellucidError, TransferInterrupted
from pellucid.formats.protocol import Voxels
from pellucid.transport.lanes.lane import Link
from pellucid.transport.lanes.shm import attach
from pellucid.transport.lanes.tcp import END, PIECE
from pellucid.transport.wire.announcement import Announcement
from pellucid.transport.wire.blocks import (
    ANSWER,
    PLACE,
    Arrived,
    BlockHeader,
    cut,
    format_box,
    receive_in_memory,
    receive_over_streams,
)
from pellucid.transport.wire.messages import POLL_S, Channel, Message
from pellucid.transport.wire.pieces import PieceTarget, checksum

DEPTH = 4
"""Blocks that a connection sends before it waits for an answer: one is on its way while another is placed."""

Call = Callable[[], tuple[Link, str]]
"""Connects to the receiving end: the link, and the lane for this stream (shm or tcp)."""


def receive_stream(link: Link, target: PieceTarget, lane: str, arrived: Arrived) -> None:
    """The receiving side, until the sender says that it is finished."""
    (receive_in_memory if lane == "shm" else receive_over_streams)(link, target, arrived)


class BlockSender(Protocol):
    """How blocks leave this process."""

    def put(self, box: Box, block: Voxels) -> None: ...

    def finish(self) -> None: ...

    def close(self) -> None: ...


class StreamWriter:
    """Sends blocks as they are produced. Use it in a ``with`` statement; an error inside leaves the stream
    unfinished."""

    def __init__(self, announcement: Announcement, call: Call, window_bytes: int, attempts: int) -> None:
        if len(announcement.shape) != 3:
            raise InvalidInput(f"Invalid shape for a stream: {announcement.shape}.", remedy="Use three axes: z, y, x.")
        self.shape: Shape = triple(announcement.shape)
        self.dtype = announcement.dtype
        self._next = 0
        link, self.lane = call()
        link.control.write(announcement.message(lane=self.lane))
        self._road: BlockSender = (
            SharedMemorySender(link, announcement)
            if self.lane == "shm"
            else TcpBlockSender(_Reconnect(announcement, call, attempts), link, window_bytes)
        )

    def write(self, block: Voxels, start: Sequence[int] = (0, 0, 0)) -> None:
        """Send a block whose first voxel is at ``start`` (z, y, x). You may change it as soon as this returns."""
        begin = triple(start)
        box = Box(begin, triple(a + b for a, b in zip(begin, block.shape, strict=True)))
        if min(begin) < 0 or not Box.whole(self.shape).contains(box):
            remedy = f"Use blocks within {self.shape}, the shape of the stream."
            raise InvalidInput(f"A block at {begin} of shape {block.shape} (z, y, x) does not fit.", remedy=remedy)
        if not np.can_cast(block.dtype, self.dtype, "equiv"):
            remedy = f"Convert it to {self.dtype}."
            raise InvalidInput(f"A block has type {block.dtype}, but the stream has {self.dtype}.", remedy=remedy)
        if not box.is_empty:
            self._road.put(box, block)

    def append(self, slices: Voxels) -> None:
        """Send one slice (y, x), or several (z, y, x), after the previous ones."""
        block = slices if slices.ndim == 3 else slices[np.newaxis]
        self.write(block, (self._next, 0, 0))
        self._next += block.shape[0]

    def close(self) -> None:
        """Wait until everything has arrived, and finish the stream."""
        try:
            self._road.finish()
        finally:
            self._road.close()

    def __enter__(self) -> "StreamWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._road.close()


class SharedMemorySender:
    """On one machine: blocks are written to their positions, and the receiver is notified."""

    def __init__(self, link: Link, announcement: Announcement) -> None:
        self._link = link
        link.control.expect("ready", is_patient=True)
        self._shared = attach(link.control.take_descriptor(), announcement.shape, announcement.dtype)

    def put(self, box: Box, block: Voxels) -> None:
        self._link.check()
        self._shared.array[box.slices] = block
        self._link.control.write(Message("block", {"box": format_box(box)}))

    def finish(self) -> None:
        self._link.control.write(Message("finish"))
        self._link.control.expect("stored", is_patient=True)

    def close(self) -> None:
        self._shared.close()
        self._link.control.close()


@dataclass(frozen=True)
class _Reconnect:
    """How to come back after a broken connection."""

    announcement: Announcement
    call: Call
    attempts: int

    def __call__(self) -> Link:
        """A new link on which the same transfer is announced again."""
        pause = threading.Event()
        for attempt in range(self.attempts):
            try:
                link, lane = self.call()
                link.control.write(self.announcement.message(lane=lane))
            except PellucidError as error:
                if not error.is_transient or attempt + 1 == self.attempts:
                    raise
                pause.wait(POLL_S * 2**attempt)
            else:
                return link
        raise TransferInterrupted("the connection was lost, and no attempts remain")


class TcpBlockSender:
    """Over TCP: threads send what is waiting, each over its own connection."""

    def __init__(self, redial: _Reconnect, link: Link, window_bytes: int) -> None:
        self._redial = redial
        self._window_bytes = window_bytes
        self._number = 0
        self._under_way: dict[int, tuple[Box, Voxels]] = {}
        self._waiting: deque[int] = deque()
        self._spare: list[Voxels] = []
        self._bytes = 0
        self._lock = threading.Lock()
        self._work, self._room = threading.Condition(self._lock), threading.Condition(self._lock)
        self._failure: PellucidError | None = None
        self._is_finishing = False
        self._open(link)

    def put(self, box: Box, block: Voxels) -> None:
        whole = block if block.ndim == 3 else block.reshape(box.shape)
        for part in cut(box, self._redial.announcement.dtype.itemsize):
            offset = triple(-edge for edge in box.start)
            self._put(part, whole[part.shift(offset).slices])

    def finish(self) -> None:
        with self._lock:
            while self._under_way:
                self._wait()
            self._is_finishing = True
            self._work.notify_all()
        for thread in self._threads:
            thread.join()
        self._link.control.expect("stored", is_patient=True)

    def close(self) -> None:
        for channel in (*self._channels, self._link.control):
            channel.close()
        with self._lock:
            self._is_finishing = True
            self._work.notify_all()

    def _put(self, box: Box, block: Voxels) -> None:
        nbytes = box.size * block.itemsize
        with self._lock:
            while self._under_way and self._bytes + nbytes > self._window_bytes:
                self._wait()
            copy = self._buffer(nbytes)
            self._bytes += nbytes
        copy.view(self._redial.announcement.dtype).reshape(box.shape)[...] = block
        with self._lock:
            self._under_way[self._number] = (box, copy)
            self._waiting.append(self._number)
            self._number += 1
            self._work.notify()

    def _wait(self) -> None:
        """Until something has arrived. A broken connection is made anew first."""
        if self._failure is not None:
            self._recover()
        self._link.timeout.check()
        self._room.wait(POLL_S)

    def _buffer(self, nbytes: int) -> Voxels:
        # Memory is used again, the latest first: fresh pages would cost more than the copy, and this is in the cache.
        for index in reversed(range(len(self._spare))):
            if self._spare[index].size == nbytes:
                return self._spare.pop(index)
        self._spare.clear()
        return np.empty(nbytes, np.uint8)

    def _open(self, link: Link) -> None:
        ready = link.control.expect("ready", is_patient=True)
        self._link = link
        self._channels = [link.join() for _ in range(min(ready.number("streams"), 64))]
        self._threads = [threading.Thread(target=self._run, args=(each,), daemon=True) for each in self._channels]
        for thread in self._threads:
            thread.start()

    def _recover(self) -> None:
        failure = self._failure
        if failure is None or not failure.is_transient:
            raise failure or TransferInterrupted("unknown")
        self._lock.release()  # The threads need it to end.
        try:
            for channel in (*self._channels, self._link.control):
                channel.close()
            for thread in self._threads:
                thread.join()
            link = self._redial()
        finally:
            self._lock.acquire()
        self._failure = None
        self._waiting = deque(sorted(self._under_way))
        self._open(link)

    # In the threads of the connections

    def _run(self, channel: Channel) -> None:
        try:
            unanswered = 0
            while (number := self._take(unanswered)) is not None:
                if number >= 0:
                    self._send(channel, number)
                    unanswered += 1
                if unanswered >= DEPTH or number < 0:
                    self._answer(channel)
                    unanswered -= 1
            channel.write_bytes(PIECE.pack(END, 0, 0) + bytes(PLACE.size))
        except PellucidError as error:
            reason = self._link.reason(error) if isinstance(error, TransferInterrupted) else error
            with self._lock:
                self._failure = self._failure or reason
                self._work.notify_all()
                self._room.notify_all()

    def _take(self, unanswered: int) -> int | None:
        """The next block to send; -1 where an answer should be read first; None at the end."""
        with self._lock:
            while not self._waiting:
                if unanswered:
                    return -1
                if self._is_finishing or self._failure:
                    return None
                self._work.wait(POLL_S)
            return self._waiting.popleft()

    def _send(self, channel: Channel, number: int) -> None:
        box, block = self._under_way[number]
        content = block.data
        found = checksum(self._redial.announcement.checksum, content)
        channel.write_bytes(BlockHeader(number, len(content), found, box).encoded(), content)

    def _answer(self, channel: Channel) -> None:
        answer = bytearray(ANSWER.size)
        channel.read_into(memoryview(answer))
        number, is_kept = ANSWER.unpack(answer)
        with self._lock:
            if not is_kept:
                self._waiting.append(number)
                self._work.notify()
                return
            _, block = self._under_way.pop(number)
            self._bytes -= block.size
            self._spare.append(block)
            self._room.notify()
