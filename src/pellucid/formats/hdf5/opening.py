"""Opening one HDF5 file for reading, and what the library says where it cannot.

Here: open_file, and the library's errors in our words.
Not here: files that it refers to (links, references), finding a volume in it (names).
"""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py

from pellucid.errors import Damaged, Truncated, Unfinished, Unreadable
from pellucid.formats.sources import existing_file

_BEING_WRITTEN = "already open for"  # for SWMR write, says the library; readers have to say that they know it
_SHORTER = re.compile(r"truncated file: eof = (\d+), sblock->base_addr = (\d+), stored_eof = (\d+)")


def open_file(path: Path, named_in: str | Path = "") -> Any:
    """The file, open for reading. Its writer's lock is not waited for: scans are looked at while they are written.

    By way of the library's second driver: by the first, a program that has opened a volume could not open the same
    file with h5py itself, because the library refuses two openings of a file that lock it differently.
    """
    if not path.exists() and staging_folder(path).exists():
        raise Unfinished(str(path))
    existing_file(path, named_in)
    with suppress(OSError):
        return h5py.File(path, "r", locking=False, driver="stdio")
    try:  # The first driver says what is wrong, and reads a file that is being written.
        try:
            return h5py.File(path, "r", locking=False)
        except OSError as error:
            if _BEING_WRITTEN not in str(error):
                raise
            return h5py.File(path, "r", locking=False, swmr=True)
    except OSError as error:
        raise _explained(path, str(error), error) from error


def staging_folder(path: Path) -> Path:
    """Where the chunks of an output wait until it is complete."""
    return path.with_name(f"{path.name}.chunks")


def _explained(path: Path, message: str, error: OSError) -> Truncated | Unreadable | Damaged:
    shorter = _SHORTER.search(message)
    if shorter:
        has, base, stored = map(int, shorter.groups())
        return Truncated(str(path), base + stored, has)
    if isinstance(error, PermissionError) or error.errno is not None:
        return Unreadable(str(path), error.strerror or message)
    return Damaged(str(path), reason(message))


def reason(message: str) -> str:
    """What the HDF5 library found, without the call in which it found it."""
    inner = re.search(r"\((.*)\)\s*$", message, re.DOTALL)
    return (inner.group(1) if inner else message).rstrip(". ")
