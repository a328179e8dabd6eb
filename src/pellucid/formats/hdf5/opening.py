"""Opening one HDF5 file for reading.

Here: open_file; files that changed since this process opened them.
Not here: the library's errors (library_errors), files that it refers to (links, references), finding a volume in it
(lookup).
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from io import SEEK_END, SEEK_SET, RawIOBase
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import ref

import h5py

from pellucid.errors import Incomplete
from pellucid.formats.byte_sources import FileBytes, existing_file
from pellucid.formats.hdf5.library_errors import explained, is_being_written
from pellucid.formats.hdf5.structure_check import check_object


def open_file(path: Path, named_in: str | Path = "") -> Any:
    """The file, open for reading. Its writer's lock is not waited for: scans are looked at while they are written.

    By way of the library's second driver: by the first, a program that has opened a volume could not open the same
    file with h5py itself, because the library refuses two openings of a file that lock it differently.
    """
    if not path.exists() and staging_folder(path).exists():
        raise Incomplete(str(path))
    existing_file(path, named_in)
    check_object(path, "/")
    with suppress(OSError):
        return _open_current(path)
    try:  # The first driver says what is wrong, and reads a file that is being written.
        try:
            return h5py.File(path, "r", locking=False)
        except OSError as error:
            if not is_being_written(error):
                raise
            return h5py.File(path, "r", locking=False, swmr=True)
    except OSError as error:
        raise explained(path, error) from error


def _open_current(path: Path) -> Any:
    """The file as it is now.

    The library shares what it read of a file among all openings of it, by device and inode. Where an earlier one is of
    another content, this one goes through a Python file, which the library takes for a file of its own.
    """
    status = path.stat()
    place, content = (status.st_dev, status.st_ino), (status.st_size, status.st_mtime_ns)
    with _lock:
        _opened[:] = [each for each in _opened if each.file() is not None and each.file().id.valid]
        if any(each.place == place and each.content != content for each in _opened):
            return h5py.File(path, "r", locking=False, driver="fileobj", fileobj=_PythonFile(path))
        file = h5py.File(path, "r", locking=False, driver="stdio")
        _opened.append(_Opened(place, content, ref(file)))
        return file


@dataclass(frozen=True)
class _Opened:
    """A file that the library has open. place: device and inode. content: size and time of change at its opening."""

    place: tuple[int, int]
    content: tuple[int, int]
    file: Any


_opened: list[_Opened] = []
_lock = Lock()


class _PythonFile(RawIOBase):
    """What the library needs of a Python file that it reads; closed when the library lets it go."""

    def __init__(self, path: Path) -> None:
        self._bytes, self._position = FileBytes(path), 0

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        self._position = os.fstat(self._bytes.descriptor).st_size + offset if whence == SEEK_END else offset
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, target: Any) -> int:
        self._bytes.fill(self._position, memoryview(target))
        return len(target)

    def close(self) -> None:
        self._bytes.close()
        super().close()


def staging_folder(path: Path) -> Path:
    """Where the chunks of an output wait until it is complete."""
    return path.with_name(f"{path.name}.chunks")
