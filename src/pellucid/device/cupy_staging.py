"""Large arrays between the host and a CUDA device: piece by piece through pinned memory, beside the kernels.

Here: upload and download.
Not here: small arrays (cupy_primitives), images (pinned_memory).

A copy from or to ordinary memory waits in the queue of the kernels and gets a tenth of the bus. Here one piece of
pinned memory is filled while another is on the bus, on a stream of their own. Several threads may copy at once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

PIECE_BYTES = 2**24
TO_DEVICE, TO_HOST = 1, 2
"""As CUDA numbers the directions of a copy."""

Host = np.ndarray[Any, Any]


def upload(cupy: Any, source: Host, target: Any, work: Any) -> None:
    """Copy to a contiguous array of the device, once what ``work``, a stream, has queued is done."""
    rows, step = _rows(source)
    pitch = rows[0].nbytes
    with _stream_after(cupy, work) as stream:
        pieces = [_Piece(cupy, step * pitch) for _ in range(2)]
        for number, first in enumerate(range(0, len(rows), step)):
            some, piece = rows[first : first + step], pieces[number % 2]
            piece.passed.synchronize()
            np.copyto(piece.like(some), some)
            place = target.data.ptr + first * pitch
            cupy.cuda.runtime.memcpyAsync(place, piece.memory.ptr, some.nbytes, TO_DEVICE, stream.ptr)
            piece.passed.record(stream)


def download(cupy: Any, source: Any, target: Host, work: Any) -> None:
    """Copy a contiguous array of the device, once what ``work``, a stream, has queued is done."""
    rows, step = _rows(target)
    pitch = rows[0].nbytes
    with _stream_after(cupy, work) as stream:
        pieces = [_Piece(cupy, step * pitch) for _ in range(2)]
        firsts = range(0, len(rows), step)
        for number in range(len(firsts) + 1):
            if number < len(firsts):
                some, piece = rows[firsts[number] :][:step], pieces[number % 2]
                place = source.data.ptr + firsts[number] * pitch
                cupy.cuda.runtime.memcpyAsync(piece.memory.ptr, place, some.nbytes, TO_HOST, stream.ptr)
                piece.passed.record(stream)
            if number > 0:
                some, piece = rows[firsts[number - 1] :][:step], pieces[(number - 1) % 2]
                piece.passed.synchronize()
                np.copyto(some, piece.like(some))


class _Piece:
    """Pinned memory, which CuPy keeps for the next one, and when what is in it has passed."""

    def __init__(self, cupy: Any, size: int) -> None:
        self.memory = cupy.cuda.alloc_pinned_memory(size)
        self.passed = cupy.cuda.Event(disable_timing=True)

    def like(self, rows: Host) -> Host:
        return np.frombuffer(self.memory, rows.dtype, rows.size).reshape(rows.shape)


def _rows(array: Host) -> tuple[Host, int]:
    """What is copied row by row, without gaps in a row, and how many rows fill a piece."""
    rows = array.reshape(-1) if array.flags.c_contiguous else array
    return rows, max(1, PIECE_BYTES // rows[0].nbytes)


@contextmanager
def _stream_after(cupy: Any, work: Any) -> Iterator[Any]:
    """A stream that begins when another is done with what it has; all is copied when it is left."""
    queued = cupy.cuda.Event(disable_timing=True)
    queued.record(work)
    stream = cupy.cuda.Stream(non_blocking=True)
    stream.wait_event(queued)
    try:
        yield stream
    finally:
        stream.synchronize()
