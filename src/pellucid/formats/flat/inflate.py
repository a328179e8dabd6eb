"""Compressed streams without random access: inflated once, into the cache folder, then read at positions.

Here: gzip, bzip2 and zlib streams; the entries they leave in the cache folder and how old ones go.
Not here: chunked compression (zarr, n5, hdf5, tiff pages), headers.

Opening costs nothing: the stream is inflated when the first voxel is asked for.
"""

import bz2
import gzip
import os
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from pellucid.errors import Corrupted, Truncated
from pellucid.formats.byte_sources import disk_full_errors, existing_file, fill_from, open_bytes
from pellucid.formats.fingerprint import file_fingerprint
from pellucid.settings import current, make_private_folder

Decoder = Callable[[BinaryIO], Iterator[bytes]]

_PIECE_BYTES = 1 << 20
_ABANDONED_S = 24 * 3600.0


class InflatedBytes:
    """The inflated form of a stream inside a file. length: how many bytes of it are wanted."""

    def __init__(self, path: Path, codec: str, length: int, skip: int = 0, decoder: Decoder | None = None) -> None:
        self.path = existing_file(path)
        self._codec = codec
        self._decoder = decoder or DECODERS[codec]
        self._skip = skip
        self._length = length
        self._file: BinaryIO | IO[bytes] | None = None
        self._lock = threading.Lock()

    def require(self, length: int) -> None:
        """Put off: how much is there is known only after inflating."""
        self._length = max(self._length, length)

    def fill(self, position: int, target: memoryview) -> None:
        with self._lock:
            if self._file is None:
                self._file = self._open()
        fill_from(self._file.fileno(), position, target, str(self.path))

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _open(self) -> BinaryIO | IO[bytes]:
        entry = self._entry()
        try:
            return _opened_entry(entry, self._length) or self._inflate_into(entry)
        except OSError:
            # The cache folder cannot be written, or is full: a nameless file serves this process alone.
            return self._inflate_nameless()

    def _entry(self) -> Path:
        stamp = file_fingerprint(self.path)
        return current().cache_folder / "inflated" / f"{stamp}-{self._codec}-{self._skip}-{self._length}"

    def _inflate_into(self, entry: Path) -> BinaryIO:
        if self._length > current().cache_bytes:
            raise OSError("larger than the cache may get")
        make_private_folder(entry.parent)
        make_room(entry.parent, self._length)
        descriptor, name = tempfile.mkstemp(".part", dir=entry.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                self._inflate(file)
            # Two processes may do this at once; both files are the same, and the later name wins.
            Path(name).replace(entry)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        return entry.open("rb")

    def _inflate_nameless(self) -> IO[bytes]:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        try:
            with disk_full_errors(Path(tempfile.gettempdir()) / f"{self.path.name} (inflated)"):
                self._inflate(file)
                file.flush()
        except BaseException:
            file.close()
            raise
        return file

    def _inflate(self, file: IO[bytes]) -> None:
        done = 0
        for piece in decoded(self.path, self._decoder, self._codec, self._skip):
            wanted = piece[: self._length - done]
            file.write(wanted)
            done += len(wanted)
        # Read to the end even where there is more than enough: the checksum comes last.
        if done < self._length:
            raise Truncated(str(self.path), self._length, done)


def decoded(path: Path, decoder: Decoder, codec: str, skip: int = 0) -> Generator[bytes, None, None]:
    """The pieces of a stream, with its faults named. A stream cut short ends early, without an error."""
    with open_bytes(path) as file:
        file.seek(skip)
        try:
            yield from decoder(file)
        except EOFError:
            return
        except (gzip.BadGzipFile, zlib.error, OSError, ValueError, OverflowError) as error:
            raise Corrupted(str(path), f"its {codec} stream is invalid ({error})") from error


def inflated_head(path: Path, codec: str, count: int) -> bytes:
    """The first bytes of a stream, for a header."""
    head = b""
    with closing(decoded(existing_file(path), DECODERS[codec], codec)) as pieces:
        for piece in pieces:
            head += piece
            if len(head) >= count:
                break
    return head[:count]


def make_room(folder: Path, needed_bytes: int) -> None:
    """Remove the entries used longest ago until so many bytes fit into the limit."""
    entries = sorted(_entries(folder), key=lambda entry: entry[0])
    total = sum(size for _, size, _ in entries)
    for _, size, path in entries:
        if total + needed_bytes <= current().cache_bytes:
            return
        path.unlink(missing_ok=True)
        total -= size


def _entries(folder: Path) -> Iterator[tuple[int, int, Path]]:
    """(last use, bytes, path) of what may be removed: not a file that another process is writing now."""
    for path in folder.iterdir():
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        if path.suffix != ".part" or status.st_mtime < time.time() - _ABANDONED_S:
            yield status.st_mtime_ns, status.st_size, path


def _opened_entry(entry: Path, length: int) -> BinaryIO | None:
    try:
        file = entry.open("rb")
    except FileNotFoundError:
        return None
    if os.fstat(file.fileno()).st_size != length:
        file.close()
        return None
    os.utime(entry)  # marks the last use, for make_room
    return file


def _gunzip(file: BinaryIO) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=file) as stream:
        yield from iter(lambda: stream.read1(_PIECE_BYTES), b"")


def _bunzip(file: BinaryIO) -> Iterator[bytes]:
    with bz2.BZ2File(file) as stream:
        yield from iter(lambda: stream.read1(_PIECE_BYTES), b"")


def _unzlib(file: BinaryIO) -> Iterator[bytes]:
    stream = zlib.decompressobj(zlib.MAX_WBITS | 32)  # 32: a gzip head is accepted too, as other readers do
    rest = b""
    while not stream.eof:
        rest = rest or file.read(_PIECE_BYTES)
        if not rest:
            raise EOFError
        yield stream.decompress(rest, _PIECE_BYTES)
        rest = stream.unconsumed_tail


def numbers_in_text(dtype: np.dtype[Any]) -> Decoder:
    """A decoder of numbers written as text, separated by blanks or commas."""

    def decode(file: BinaryIO) -> Iterator[bytes]:
        rest = b""
        while piece := file.read(_PIECE_BYTES):
            words = (rest + piece).replace(b",", b" ")
            end = max(words.rfind(b" "), words.rfind(b"\n")) + 1
            rest = words[end:]
            yield _numbers(words[:end], dtype)
        yield _numbers(rest, dtype)

    return decode


def _numbers(words: bytes, dtype: np.dtype[Any]) -> bytes:
    kind = float if dtype.kind == "f" else int
    return np.array([kind(word) for word in words.split()], dtype).tobytes()


DECODERS: dict[str, Decoder] = {"gzip": _gunzip, "bzip2": _bunzip, "zlib": _unzlib}
