"""Global heaps of an HDF5 file, where texts of any length lie: damage in which the library is caught for ever.

Here: check_heaps, for the beginning and the end of a file, where heaps usually are.
Not here: all other damage, which the library reports (library_errors).

The library steps from one object of a heap to the next by its size, and never ends at free space of size 0. It keeps
Python's lock all the while, so that no time limit and no Ctrl-C is noticed.
"""

import struct
from pathlib import Path

from pellucid.errors import Corrupted
from pellucid.formats.byte_sources import open_bytes, read_errors

CHECKED_BYTES = 2**20
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_HEAP = b"GCOL\x01\0\0\0"
_OBJECT = struct.Struct("<H6xQ")  # its number, 0 for free space; its size


def check_heaps(path: Path) -> None:
    """Raise Corrupted if the library would not return from a heap of this file."""
    with read_errors(path), open_bytes(path) as file:
        start = file.read(CHECKED_BYTES)
        file.seek(max(len(start), file.seek(0, 2) - CHECKED_BYTES))
        end = file.read(CHECKED_BYTES)
    if start.startswith(_SIGNATURE) and _length_bytes(start) == 8 and (_is_endless(start) or _is_endless(end)):
        raise Corrupted(str(path), "a heap of texts contains free space of size 0")


def _length_bytes(start: bytes) -> int:
    """How many bytes a size takes in this file."""
    return int.from_bytes(start[14:15] if start[8:9] < b"\2" else start[10:11])


def _is_endless(content: bytes) -> bool:
    position = content.find(_HEAP)
    while position >= 0:
        size = int.from_bytes(content[position + 8 : position + 16], "little")
        if _ends_in_nothing(content[position : position + size]):
            return True
        position = content.find(_HEAP, position + 1)
    return False


def _ends_in_nothing(heap: bytes) -> bool:
    position = len(_HEAP) + 8
    while position + _OBJECT.size <= len(heap):
        number, size = _OBJECT.unpack_from(heap, position)
        if number == 0:
            return bool(size == 0)
        position += _OBJECT.size + -(-size // 8) * 8
    return False
