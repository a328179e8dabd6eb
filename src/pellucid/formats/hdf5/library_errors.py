"""Errors of the HDF5 library as errors of Pellucid.

Here: is_being_written, explained, reason.
Not here: opening files (opening), reading from them (read).

Of most failures the library says nothing but a text for users. This is the only module that looks into those texts.
"""

import re
from pathlib import Path

from pellucid.errors import Corrupted, Truncated, Unreadable

_BEING_WRITTEN = "already open for"  # for SWMR write, says the library; readers have to say that they know it
_SHORTER = re.compile(r"truncated file: eof = (\d+), sblock->base_addr = (\d+), stored_eof = (\d+)")


def is_being_written(error: OSError) -> bool:
    """Whether a file was not opened because its writer has it open (SWMR)."""
    return _BEING_WRITTEN in str(error)


def explained(path: Path, error: OSError) -> Truncated | Unreadable | Corrupted:
    """Why a file was not opened."""
    shorter = _SHORTER.search(str(error))
    if shorter:
        has, base, stored = map(int, shorter.groups())
        return Truncated(str(path), base + stored, has)
    if isinstance(error, PermissionError) or error.errno is not None:
        return Unreadable(str(path), error.strerror or str(error))
    return Corrupted(str(path), reason(error))


def reason(error: Exception) -> str:
    """What the library found, without the call in which it found it."""
    inner = re.search(r"\((.*)\)\s*$", str(error), re.DOTALL)
    return (inner.group(1) if inner else str(error)).rstrip(". ")
