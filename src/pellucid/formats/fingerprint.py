"""A short text that changes when what is at a location may have changed.

Here: fingerprints of files, folders and remote volumes.
Not here: what they key (done-markers, caches).
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from pellucid.errors import NotFound
from pellucid.formats.location import Location
from pellucid.formats.sources import naming_unreadable


def fingerprint(location: Location) -> str:
    """32 hexadecimal digits made from names, sizes and times of change; contents are not read."""
    if location.is_memory:
        return location.path  # Never given twice, in this process or another.
    if location.is_remote:
        from pellucid.formats.chunked.tensor import remote_fingerprint

        return str(remote_fingerprint(location))
    path = location.local.resolve()
    if not path.exists():
        raise NotFound(location.path)
    digest = hashlib.blake2b(f"{path}\0{location.dataset}".encode(), digest_size=16)
    with naming_unreadable(path):
        for line in _folder_lines(path) if path.is_dir() else [_line(path.name, path.stat())]:
            digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _folder_lines(folder: Path) -> Iterator[str]:
    """One line for every file below a folder, in an order that does not depend on the disk."""
    for root, folders, files in os.walk(folder):
        folders.sort()
        inside = Path(root).relative_to(folder)
        yield from (_line(str(inside / name), Path(root, name).stat()) for name in sorted(files))


def _line(name: str, status: os.stat_result) -> str:
    return f"{name}\0{status.st_size}\0{status.st_mtime_ns}\n"
