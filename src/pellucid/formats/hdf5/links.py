"""Names inside HDF5 files, followed link by link here and not by the library.

Here: LinkedFile: an open file with those that its links lead to; every one is checked before it is opened.
Not here: virtual datasets and external storage (references), choosing a volume (lookup), opening one file (opening).

The library would open whatever an external link names: a file outside the allowed folders, or a pipe that never ends.
"""

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import h5py

from pellucid.errors import LinkBroken, PellucidError
from pellucid.formats.hdf5.opening import open_file
from pellucid.formats.hdf5.search import find_file
from pellucid.formats.hdf5.structure_check import check_all, check_object

MAX_LINKS = 32
LINK_PREFIX = "HDF5_EXT_PREFIX"


class LinkedFile:
    """An HDF5 file open for reading. Closing it closes the files that its links led to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root = open_file(path)
        self._linked: dict[Path, Any] = {}

    def __enter__(self) -> "LinkedFile":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        for file in (*self._linked.values(), self.root):
            file.close()

    def follow(self, name: str, start: Any = None, links: int = 0) -> Any:
        """The object of a name, from a group on; KeyError where it is absent, LinkBroken where a link is to blame."""
        found = start if start is not None else self.root
        found = found.file if name.startswith("/") else found
        for part in name.split("/"):
            if part not in ("", "."):
                found = self._step(found, part, links)
        return found

    def get(self, name: str, start: Any = None) -> Any:
        """The object of a name; None where it is absent, or where a link to it leads nowhere or may not be followed."""
        try:
            return self.follow(name, start)
        except (KeyError, OSError, RuntimeError, ValueError, PellucidError):
            return None

    def walk(self, start: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
        """Everything below a group by every name that leads to it, nearest first; broken links are left out."""
        waiting, seen = deque([(prefix, start)]), {hash(start.id)}
        checked: set[str] = set()
        while waiting:
            name, group = waiting.popleft()
            if (file_name := group.file.filename) not in checked:
                checked.add(file_name)
                check_all(Path(file_name))
            for key in group:
                child = self.get(key, group)
                if child is None:
                    continue
                yield f"{name}/{key}", child
                if isinstance(child, h5py.Group) and hash(child.id) not in seen:  # Links may form circles.
                    seen.add(hash(child.id))
                    waiting.append((f"{name}/{key}", child))

    def _step(self, group: Any, part: str, links: int) -> Any:
        if not isinstance(group, h5py.Group):
            raise KeyError(part)
        check_object(Path(group.file.filename), f"{(group.name or '').rstrip('/')}/{part}")
        link = link_of(group, part)
        if link is None:
            return group[part]
        target = f"{link.filename}:{link.path}" if isinstance(link, h5py.ExternalLink) else link.path
        broken = LinkBroken(str(group.file.filename), f"{group.name.rstrip('/')}/{part}", target)
        if links >= MAX_LINKS:
            raise broken
        try:
            if isinstance(link, h5py.ExternalLink):
                return self.follow(f"/{link.path}", self._external(group, link), links + 1)
            return self.follow(link.path, group, links + 1)
        except (KeyError, FileNotFoundError) as error:
            raise broken from error

    def _external(self, group: Any, link: Any) -> Any:
        owner = Path(group.file.filename)
        path = find_file(owner, link.filename, LINK_PREFIX)
        if not path.exists():
            raise FileNotFoundError(path)
        if path not in self._linked:
            self._linked[path] = open_file(path, owner)
        return self._linked[path]


def link_of(group: Any, name: str) -> Any:
    """The soft or external link of a name in a group; None where the object itself is there, KeyError without any."""
    key = name.encode("utf-8", "surrogateescape")
    if not group.id.links.exists(key):
        raise KeyError(name)
    kind = group.id.links.get_info(key).type
    if kind == h5py.h5l.TYPE_HARD:
        return None
    value = group.id.links.get_val(key)
    if kind == h5py.h5l.TYPE_SOFT:
        return h5py.SoftLink(value.decode("utf-8", "surrogateescape"))
    if kind == h5py.h5l.TYPE_EXTERNAL:
        return h5py.ExternalLink(*(part.decode("utf-8", "surrogateescape") for part in value))
    raise KeyError(name)  # Links of other programs' own kinds run code of theirs.
