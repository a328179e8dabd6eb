"""Bytes at positions: a file, or several files end to end.

Here: ByteSource and its two plain kinds; files checked before they are opened; a full disk named as such.
Not here: compressed streams (inflate), voxels (flat).
"""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import BinaryIO, Protocol

import numpy as np

from pellucid.errors import (
    DiskFull,
    EmptyFile,
    InvalidInput,
    NotFound,
    NotWritable,
    OutputExists,
    Truncated,
    Unreadable,
)
from pellucid.formats.local_files import check_allowed, check_regular, open_local
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels

# Stands where the format's own first bytes will be: a file that was never finished is distinguished from a damaged one.
UNFINISHED = b"UNFINISHED"
_TEXT_BYTES = 64 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT)


class ByteSource(Protocol):
    """Bytes that can be asked for by position, from several threads at once."""

    def fill(self, position: int, target: memoryview) -> None:
        """Copy the bytes at a position into all of ``target``."""

    def require(self, length: int) -> None:
        """Raise Truncated where fewer bytes are there. May be put off until the first ``fill``."""

    def close(self) -> None: ...


class FileBytes:
    """A plain file, read (and written, where asked) at positions."""

    def __init__(self, path: Path, *, writable: bool = False) -> None:
        self.path = path
        with read_errors(path):
            self.descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC) if writable else open_local(path)

    def require(self, length: int) -> None:
        has = os.fstat(self.descriptor).st_size
        if has < length:
            raise Truncated(str(self.path), length, has)

    def fill(self, position: int, target: memoryview) -> None:
        fill_from(self.descriptor, position, target, str(self.path))

    def store(self, position: int, source: memoryview) -> None:
        done = 0
        with disk_full_errors(self.path):
            while done < len(source):
                done += os.pwrite(self.descriptor, source[done:], position + done)

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


@dataclass(frozen=True)
class Piece:
    """One of several files that make up an array: so many bytes from a position on."""

    path: Path
    offset: int
    length: int


class JoinedBytes:
    """Several files end to end, each opened only while it is read: there may be more than a process may hold open."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces

    def require(self, length: int) -> None:
        for piece in self._pieces:
            size = existing_file(piece.path).stat().st_size
            if size < piece.offset + piece.length:
                raise Truncated(str(piece.path), piece.offset + piece.length, size)
        total = sum(piece.length for piece in self._pieces)
        if total < length:
            raise Truncated(f"The list that ends in {self._pieces[-1].path}", length, total)

    def fill(self, position: int, target: memoryview) -> None:
        start = 0
        for piece in self._pieces:
            first, last = max(position, start), min(position + len(target), start + piece.length)
            if first < last:
                file = FileBytes(piece.path)
                try:
                    file.fill(piece.offset + first - start, target[first - position : last - position])
                finally:
                    file.close()
            start += piece.length

    def close(self) -> None:
        """Nothing is held open."""


def fill_from(descriptor: int, position: int, target: memoryview, name: str) -> None:
    """Read until the target is full; an end before that is an error."""
    done = 0
    while done < len(target):
        count = os.preadv(descriptor, [target[done:]], position + done)
        if count == 0:
            raise Truncated(name, position + len(target), position + done)
        done += count


def local_path(location: Location) -> Path:
    """The local path of a location whose format is not read or written over the network."""
    if location.is_remote:
        raise InvalidInput(
            f"{location.path} is in a bucket, but its format is supported only on local disks.",
            remedy="Copy it to a local disk first, or use Zarr or N5 in the bucket.",
        )
    return location.local


def existing_file(path: Path, named_in: str | Path = "") -> Path:
    """The same path, once it is known to be a regular file with bytes in it, which may be read here.

    named_in: the file whose content names it.
    """
    check_allowed(path, named_in)
    with read_errors(path):
        status = check_regular(path)
    if status.st_size == 0:
        raise EmptyFile(str(path))
    return path


def open_bytes(path: Path) -> BinaryIO:
    """A regular file as a stream, for reading."""
    with read_errors(path):
        return open(open_local(path), "rb")  # noqa: PTH123


def read_text(path: Path) -> str:
    """All of a small text file; what is not UTF-8 in it is replaced."""
    existing_file(path)
    with open_bytes(path) as file:
        return file.read(_TEXT_BYTES).decode("utf-8-sig", "replace")


def read_npy(path: Path) -> Voxels:
    """All of a small .npy file. Mapped first: NumPy would reserve whatever memory the header asks for."""
    try:
        mapped = np.load(existing_file(path), mmap_mode="r", allow_pickle=False)
    except (SyntaxError, TokenError) as error:
        raise ValueError(f"its header is not one of NumPy's: {error}") from error
    if not isinstance(mapped, np.ndarray):
        raise ValueError("it is an archive of arrays")
    return np.array(mapped)


def missing_error(path: Path) -> NotFound | InvalidInput:
    """What to say where nothing is: a link that leads nowhere is there itself."""
    if not path.is_symlink():
        return NotFound(str(path))
    return InvalidInput(
        f"{path} is a link to {path.readlink()}, which does not exist.",
        remedy="Mount the disk it points to, or correct the link.",
    )


def read_head(path: Path, count: int, offset: int = 0) -> bytes:
    """Up to so many bytes of a file that must not be empty."""
    with read_errors(path), open_bytes(existing_file(path)) as file:
        file.seek(offset)
        return file.read(count)


def new_file(path: Path, size: int) -> None:
    """Make a file of so many zero bytes (sparse until they are written), refusing early what cannot fit."""
    if path.exists():
        raise OutputExists(str(path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        status = os.statvfs(path.parent)
        if status.f_bavail * status.f_frsize < size:
            raise DiskFull(str(path))
        with path.open("xb") as file:
            file.truncate(size)
    except OSError as error:
        raise _refused(path, error) from error


def _refused(path: Path, error: OSError) -> DiskFull | NotWritable:
    # EFBIG: the filesystem, or the user's limit, has no files this long.
    is_full = error.errno in (*_FULL, errno.EFBIG)
    return DiskFull(str(path)) if is_full else NotWritable(str(path), error.strerror or str(error))


@contextmanager
def disk_full_errors(path: Path) -> Iterator[None]:
    """Turn "no space left" into an error that names the output."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFull(str(path)) from error
        raise


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Turn the operating system's refusals into errors that name the file."""
    try:
        yield
    except FileNotFoundError as error:
        raise missing_error(path) from error
    except IsADirectoryError:
        raise Unreadable(str(path), "it is a folder") from None
    except OSError as error:
        raise Unreadable(str(path), error.strerror or str(error)) from error
