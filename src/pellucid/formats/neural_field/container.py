"""The bytes of a ``.plf`` file: a header in JSON, and sections that are read by themselves.

Here: write_file, and FileSections, which checks what it reads.
Not here: what the header says and sections hold (stored_volume).

    magic (8 bytes), version (4), length of the header (4), its CRC-32 (4), header; sections begin at multiples of 64
"""

import json
import os
import struct
import zlib
from pathlib import Path
from typing import Any

from pellucid.errors import Corrupted, InvalidInput, Truncated
from pellucid.formats.byte_sources import FileBytes, disk_full_errors, existing_file
from pellucid.formats.local_files import written_whole

MAGIC = b"\x89PLF\r\n\x1a\n"
VERSION = 1
MAX_HEADER = 64 << 20
MAX_SECTIONS = 1 << 19
_FIXED = struct.Struct("<8sIII")
_ALIGNMENT = 64


def write_file(path: Path, header: dict[str, Any], sections: dict[str, bytes]) -> None:
    """Write a file whole, or not at all."""
    table, position = {}, 0
    for name, data in sections.items():
        table[name] = [position, len(data), zlib.crc32(data)]
        position = _aligned(position + len(data))
    text = json.dumps({**header, "sections": table}, allow_nan=False, separators=(",", ":")).encode()
    start = _aligned(_FIXED.size + len(text))
    with disk_full_errors(path), written_whole(path) as file:
        file.write(_FIXED.pack(MAGIC, VERSION, len(text), zlib.crc32(text)) + text)
        for (position, _, _), data in zip(table.values(), sections.values(), strict=True):
            file.seek(start + position)
            file.write(data)
        file.flush()
        os.fsync(file.fileno())


def overhead(header: dict[str, Any], sections: int) -> int:
    """Bytes of a file beside those of its sections, at most."""
    table = {f"field{number}": [1 << 40, 1 << 40, 1 << 32] for number in range(sections)}
    text = json.dumps({**header, "sections": table}, separators=(",", ":")).encode()
    return _aligned(_FIXED.size + len(text)) + _ALIGNMENT * sections


class FileSections:
    """An open file: its header, and its sections by name. Safe from several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._bytes = FileBytes(existing_file(path))
        try:
            self.header, self._start = self._read_header()
            self._table = self._read_table()
        except BaseException:
            self.close()
            raise

    def read(self, name: str) -> bytes:
        """The bytes of a section, once their checksum is right."""
        if name not in self._table:
            raise Corrupted(str(self.path), f"its section {name!r} is missing")
        position, length, checksum = self._table[name]
        data = self._fill(self._start + position, length)
        if zlib.crc32(data) != checksum:
            raise Corrupted(str(self.path), f"the checksum of its section {name!r} does not match")
        return data

    def size_of(self, prefix: str) -> int:
        """Bytes of all sections whose names begin so."""
        return sum(length for name, (_, length, _) in self._table.items() if name.startswith(prefix))

    @property
    def file_bytes(self) -> int:
        return os.fstat(self._bytes.descriptor).st_size

    def close(self) -> None:
        self._bytes.close()

    def _read_header(self) -> tuple[dict[str, Any], int]:
        magic, version, length, checksum = _FIXED.unpack(self._fill(0, _FIXED.size))
        if magic != MAGIC:
            raise Corrupted(str(self.path), "it does not begin like a neural field")
        if version != VERSION:
            raise InvalidInput(
                f"{self.path} has version {version} of the format, and this Pellucid reads version {VERSION}.",
                remedy="Update Pellucid.",
            )
        if length > MAX_HEADER:
            raise Corrupted(str(self.path), f"its header claims {length:,} bytes")
        text = self._fill(_FIXED.size, length)
        if zlib.crc32(text) != checksum:
            raise Corrupted(str(self.path), "the checksum of its header does not match")
        try:
            header = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Corrupted(str(self.path), f"its header is not valid JSON ({str(error)[:100]})") from error
        if not isinstance(header, dict):
            raise Corrupted(str(self.path), "its header is not a JSON object")
        return header, _aligned(_FIXED.size + length)

    def _read_table(self) -> dict[str, tuple[int, int, int]]:
        table = self.header.pop("sections", None)
        if not isinstance(table, dict):
            raise Corrupted(str(self.path), "its table of sections is missing")
        if len(table) > MAX_SECTIONS:
            raise Corrupted(str(self.path), "it claims more sections than a file may have")
        for name, entry in table.items():
            is_good = isinstance(entry, list) and len(entry) == 3 and all(type(n) is int and n >= 0 for n in entry)
            if not is_good:
                raise Corrupted(str(self.path), f"the entry of section {name!r} is invalid")
            if entry[1]:  # Nothing is written for an empty section, also not the bytes up to its position.
                self._require(self._start + entry[0] + entry[1])
        return {name: (entry[0], entry[1], entry[2]) for name, entry in table.items()}

    def _fill(self, position: int, length: int) -> bytes:
        if length:
            self._require(position + length)
        data = bytearray(length)
        self._bytes.fill(position, memoryview(data))
        return bytes(data)

    def _require(self, length: int) -> None:
        if self.file_bytes < length:
            raise Truncated(str(self.path), length, self.file_bytes)


def _aligned(position: int) -> int:
    return -(-position // _ALIGNMENT) * _ALIGNMENT
