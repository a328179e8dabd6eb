"""Event files, which TensorBoard reads, without TensorBoard.

Here: EventFile, with numbers and images by step.
Not here: which numbers (loop).

A file is a row of records: length, its checksum, bytes, their checksum. The bytes are a protocol buffer "Event"; its
few fields are written here.
"""

import os
import socket
import struct
import time
from functools import cache
from pathlib import Path
from typing import BinaryIO

from pellucid.formats.protocol import Voxels
from pellucid.learn.report.png import png_bytes

VARINT, DOUBLE, BYTES, FLOAT = 0, 1, 2, 5
"""Wire types of protocol buffers."""
START = 1


class EventFile:
    """One of these for each run: TensorBoard joins those in a folder. first: the step at which this run begins; what
    earlier files have of later steps is dropped."""

    def __init__(self, folder: Path, first: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        now = time.time()
        name = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}.{os.getpid()}.{first}"
        self._file: BinaryIO = (folder / name).open("ab")
        self._write(now, 0, _field(3, BYTES, b"brain.Event:2"))
        self._write(now, first, _field(7, BYTES, _field(1, VARINT, START)))

    def add_numbers(self, step: int, numbers: dict[str, float]) -> None:
        values = [_field(1, BYTES, name.encode()) + _field(2, FLOAT, value) for name, value in numbers.items()]
        self._write(time.time(), step, _summary(values))

    def add_images(self, step: int, images: dict[str, Voxels]) -> None:
        """images: (y, x) uint8 by name."""
        values = [_field(1, BYTES, name.encode()) + _field(4, BYTES, _image(image)) for name, image in images.items()]
        self._write(time.time(), step, _summary(values))

    def close(self) -> None:
        self._file.close()

    def _write(self, seconds: float, step: int, content: bytes) -> None:
        event = _field(1, DOUBLE, seconds) + _field(2, VARINT, step) + content
        length = struct.pack("<Q", len(event))
        self._file.write(length + _checksum(length) + event + _checksum(event))
        self._file.flush()


def _summary(values: list[bytes]) -> bytes:
    return _field(5, BYTES, b"".join(_field(1, BYTES, value) for value in values))


def _image(image: Voxels) -> bytes:
    height, width = image.shape
    grey = 1
    sizes = _field(1, VARINT, height) + _field(2, VARINT, width) + _field(3, VARINT, grey)
    return sizes + _field(4, BYTES, png_bytes(image))


def _field(number: int, kind: int, value: float | bytes) -> bytes:
    """A field of a protocol buffer: its number and type, and its value."""
    tag = _varint(number << 3 | kind)
    if isinstance(value, bytes):
        return tag + _varint(len(value)) + value
    if kind == VARINT:
        return tag + _varint(int(value))
    return tag + struct.pack("<d" if kind == DOUBLE else "<f", value)


def _varint(number: int) -> bytes:
    """Seven bits in each byte, the lowest first.

    >>> _varint(300).hex()
    'ac02'
    """
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _checksum(content: bytes) -> bytes:
    """CRC-32C, rotated and shifted as in TensorFlow's records."""
    crc = crc32c(content)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def crc32c(content: bytes) -> int:
    """The checksum of Castagnoli.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    table, crc = _table(), 0xFFFFFFFF
    for byte in content:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


@cache
def _table() -> list[int]:
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)  # noqa: PLW2901
        table.append(number)
    return table
