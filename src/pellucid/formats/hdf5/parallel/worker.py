"""A process that fills or compresses pieces of a shared array for another one.

Here: the worker's main loop, and copying bytes that are stored as they are.
Not here: pieces that must be decoded or compressed (worker_codecs), handing out pieces (formats.process_pool).

Run as a script with as few imports as will do: it must be at work after ten milliseconds, and NumPy alone takes eighty.
It dies with its owner: the kernel kills it, and a closed control channel ends it.
"""

import marshal
import os
import sys
from collections.abc import Callable
from typing import Any

MAX_VECTORS = 1024
_PORTION_BYTES = 512 * 1024
_PARENT_DEATH_SIGNAL = 1
_KILL = 9


class UnexpectedEnd(Exception):
    """The file ends before the bytes that were promised."""


def receive(control: int) -> Any:
    """The next message; None when the other end is gone."""
    head = _exactly(control, 4)
    body = _exactly(control, int.from_bytes(head, "little")) if head else None
    return marshal.loads(body) if body else None


def send(control: int, message: Any) -> None:
    body = marshal.dumps(message)
    view = memoryview(len(body).to_bytes(4, "little") + body)
    while view:
        view = view[os.write(control, view) :]


def _exactly(control: int, count: int) -> bytes | None:
    parts = b""
    while len(parts) < count:
        part = os.read(control, count - len(parts))
        if not part:
            return None
        parts += part
    return parts


class Copier:
    """Bytes from a file into shared memory, unchanged.

    They are written into the memory's descriptor rather than through a mapping: the kernel then neither clears the
    fresh pages nor stops at every one of them.
    """

    def __init__(self, setup: dict[str, Any]) -> None:
        self.setup = setup
        self.file: int = setup["file"]
        # An open file of its own: the position that sendfile writes at is not shared with other workers.
        self.memory = os.open(f"/proc/self/fd/{setup['memory']}", os.O_RDWR)
        self.can_send = True
        self._vectors: dict[int, list[list[memoryview]]] = {}
        self._buffer = memoryview(bytearray(0))

    def __call__(self, piece: tuple[Any, ...]) -> None:
        if piece[0] == "runs":
            for position, target, length in piece[1]:
                self.run(position, target, length)
        else:
            self.tile(*piece[1:])

    def run(self, position: int, target: int, length: int) -> None:
        """One unbroken stretch."""
        done = 0
        os.lseek(self.memory, target, os.SEEK_SET)
        while done < length:
            count = self._send(position + done, target + done, length - done)
            if count == 0:
                raise UnexpectedEnd(position + length, position + done)
            done += count

    def _send(self, position: int, target: int, length: int) -> int:
        if self.can_send:
            try:
                return os.sendfile(self.memory, self.file, position, length)
            except OSError:
                self.can_send = False  # some network filesystems cannot; reading then says what is wrong
        portion = os.pread(self.file, min(length, _PORTION_BYTES), position)
        return os.pwrite(self.memory, portion, target)

    def tile(self, positions: list[int], planes: int, rows: int, target: int) -> None:
        """Chunks side by side along x: rows are put together in a small buffer and written out as whole rows.

        positions: of the first wanted row of every chunk (-1 where it was never written). rows: wanted of every plane.
        """
        setup = self.setup
        step = max(1, _PORTION_BYTES // (len(positions) * setup["chunk_row_bytes"]))
        for plane in range(planes):
            for first in range(0, rows, step):
                count = min(step, rows - first)
                skip = plane * setup["chunk_plane_bytes"] + first * setup["chunk_row_bytes"]
                for column, position in enumerate(positions):
                    self._gather(column, len(positions), count, position if position < 0 else position + skip)
                out = target + plane * setup["plane_bytes"] + first * setup["row_bytes"]
                self._put(len(positions), count, out)

    def _gather(self, column: int, columns: int, rows: int, position: int) -> None:
        vectors = self._rows(column, columns, rows)
        if position < 0:
            for row in vectors:
                row[:] = self.setup["fill_row"]
            return
        width = self.setup["chunk_row_bytes"]
        for first in range(0, rows, MAX_VECTORS):
            group = vectors[first : first + MAX_VECTORS]
            count = os.preadv(self.file, group, position + first * width)
            if count != len(group) * width:
                raise UnexpectedEnd(position + rows * width, position + first * width + count)

    def _rows(self, column: int, columns: int, rows: int) -> list[memoryview]:
        """Where the rows of one chunk go in the buffer. Made once, because they are the same for every plane."""
        width = self.setup["chunk_row_bytes"]
        stride = width * columns
        if len(self._buffer) < stride * rows:
            self._buffer = memoryview(bytearray(stride * rows))
            self._vectors.clear()
        known = self._vectors.setdefault(columns, [])
        while len(known) <= column:
            starts = range(len(known) * width, len(self._buffer) // stride * stride, stride)
            known.append([self._buffer[start : start + width] for start in starts])
        return known[column][:rows]

    def _put(self, columns: int, rows: int, target: int) -> None:
        stride = self.setup["chunk_row_bytes"] * columns
        left, width = self.setup["left_bytes"], self.setup["row_bytes"]
        if stride == width:
            os.pwrite(self.memory, self._buffer[: rows * stride], target)
            return
        parts = [self._buffer[row * stride + left : row * stride + left + width] for row in range(rows)]
        for first in range(0, rows, MAX_VECTORS):
            os.pwritev(self.memory, parts[first : first + MAX_VECTORS], target + first * width)


def work_of(setup: dict[str, Any]) -> Callable[[Any], Any]:
    """What this worker does with a piece."""
    if setup["work"] == "copy":
        return Copier(setup)
    sys.path[:] = setup["path"]
    from pellucid.formats.hdf5.parallel.worker_codecs import WORKS

    work: Callable[[Any], Any] = WORKS[setup["work"]](setup)
    return work


def answer(work: Callable[[Any], Any], piece: Any) -> tuple[Any, ...]:
    """The result of one piece, or what went wrong with it."""
    try:
        return ("done", work(piece))
    except UnexpectedEnd as short:
        return ("short", *short.args)
    except OSError as error:
        return ("refused", error.strerror or str(error))
    except Exception as error:  # noqa: BLE001  a process boundary: the owner raises it again
        return ("failed", _pickled(error))


def exit_with_parent(owner: int) -> None:
    """Ask the kernel to kill this process when its owner dies; it may have died before we could ask."""
    import ctypes

    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, _KILL, 0, 0, 0)
    if os.getppid() != owner:
        os._exit(1)


def main(control: int, owner: int) -> None:
    import signal

    exit_with_parent(owner)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the owner, which then ends its workers
    setup = receive(control)
    if setup is None:
        return
    try:
        work = work_of(setup)
    except Exception as error:  # noqa: BLE001  a process boundary
        send(control, ("failed", _pickled(error)))
        return
    while (piece := receive(control)) is not None:
        send(control, answer(work, piece))


def _pickled(error: BaseException) -> bytes:
    import pickle

    return pickle.dumps(error)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
