"""HiPic files made from the byte layout: no public sample exists."""

import struct
from pathlib import Path
from typing import Any

import numpy as np

Pixels = np.ndarray[Any, Any]
TYPES = {8: 0, 16: 2, 12: 6}


def header(size: tuple[int, ...], bits: int, comment: bytes, frames: int = 1) -> bytes:
    rows, columns = size
    head = struct.pack(
        "<2sHhhhhhHH", b"IM", len(comment), columns, rows, 0, 0, TYPES[bits], frames & 0xFFFF, frames >> 16
    )
    head += struct.pack("<hhdi", 0, 0, 0.0, 0)
    return head.ljust(64, b"\0") + comment


def packed(pixels: Pixels, bits: int) -> bytes:
    if bits != 12:
        return pixels.astype("u1" if bits == 8 else "<u2").tobytes()
    flat = [int(value) for value in pixels.reshape(-1)]
    out = bytearray()
    for first, second in zip(flat[::2], [*flat[1::2], 0], strict=False):
        out += bytes([first >> 4, (first & 15) << 4 | second >> 8, second & 255])
    return bytes(out[: (len(flat) * 12 + 7) // 8])


def write_his(path: Path, frames: Pixels, bits: int = 16) -> None:
    """Every frame with its own header and a comment of another length."""
    parts = []
    for index, frame in enumerate(frames):
        comment = b"x" * (index % 7)
        parts.append(header(frame.shape, bits, comment, len(frames)) + packed(frame, bits))
    path.write_bytes(b"".join(parts))


def write_img(path: Path, frame: Pixels, bits: int = 16, comment: bytes = b"[Application],Program=HiPic") -> None:
    path.write_bytes(header(frame.shape, bits, comment) + packed(frame, bits))
