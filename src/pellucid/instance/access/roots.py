"""The files that an instance may open: only those inside its roots.

Here: Roots: checking a name, listing a folder, searching below it.
Not here: what is inside a file (workers).
"""

import os
from collections.abc import Iterator
from pathlib import Path

from pellucid.errors import NotAllowed, NotFound, PellucidError, Unreadable
from pellucid.formats.location import Location
from pellucid.formats.registry import KINDS
from pellucid.instance.protocol.http_bodies import Entry, Folder
from pellucid.instance.protocol.shared_types import EntryKind
from pellucid.printable import printable
from pellucid.rendering.geometry.mesh_files import MESH_FILES
from pellucid.rendering.geometry.point_files import POINT_FILES
from pellucid.workers.folder_limit import FolderLimit

MAX_LISTED = 1000
MAX_SEARCHED = 20_000
VOLUME_FOLDERS = tuple(suffix for kind in KINDS.values() if kind.is_folder for suffix in kind.suffixes)
VOLUME_FILES = tuple(suffix for kind in KINDS.values() if not kind.is_folder for suffix in kind.suffixes)


class Roots:
    """Folders, and ``s3://`` addresses, below which everything may be opened. wider: how there would be more."""

    def __init__(self, roots: list[str | Path], wider: str = "start it with --root FOLDER") -> None:
        self._wider = wider
        self._remote = tuple(str(root).rstrip("/") for root in roots if str(root).startswith("s3://"))
        local = (Path(root).expanduser().resolve() for root in roots if not str(root).startswith("s3://"))
        self._local = tuple(dict.fromkeys(local))
        self._opened: tuple[Path, ...] = ()
        self._limit: FolderLimit | None = None

    @property
    def readable(self) -> tuple[str, ...]:
        """The folders whose files may be read: the roots, and where the owner opened something by its name."""
        return tuple(map(str, (*self._local, *self._opened)))

    def add_opened(self, folder: Path) -> None:
        """The owner opened a file of this folder by its name: it is read, and so are those beside it that it needs."""
        self._opened = tuple(dict.fromkeys((*self._opened, folder.resolve())))
        self._apply()

    def connect(self, limit: FolderLimit, folder: Path) -> None:
        """From now on a Worker reads files in these folders only. folder: of the viewer itself, which is another."""
        self._limit = limit
        self.add(folder)

    def _apply(self) -> None:
        if self._limit is not None:
            self._limit.change(self.readable)

    @property
    def names(self) -> tuple[str, ...]:
        return (*map(str, self._local), *self._remote)

    def add(self, root: Path) -> None:
        self._local = tuple(dict.fromkeys((*self._local, root.resolve())))
        self._apply()

    def require_allowed(self, source: str) -> str:
        """The name in full; one that leads outside the roots, also through links, is refused."""
        if "\0" in source:
            raise NotFound(source.replace("\0", "?"))
        location = Location.parse(source)
        if ".." in location.dataset.split("/"):
            raise self._refusal(str(location))
        if location.is_remote:
            is_inside = any(f"{location.path}/".startswith(f"{root}/") for root in self._remote)
            if not is_inside or ".." in location.path.split("/"):
                raise self._refusal(location.path)
            return str(location)
        self.inside(location.local)
        return str(location.absolute)

    def has(self, source: str) -> bool:
        """Whether a name leads to something below the roots."""
        try:
            self.require_allowed(source)
        except PellucidError:
            return False
        return True

    def inside(self, path: Path) -> Path:
        """Where a path leads; outside the roots, also through links, is refused."""
        try:
            resolved = path.resolve()
        except (OSError, RuntimeError, ValueError) as error:  # A loop of links; a name that no file can have.
            raise NotFound(str(path)) from error
        if not any(resolved.is_relative_to(root) for root in self._local):
            raise self._refusal(str(path))
        return resolved

    def _refusal(self, path: str) -> NotAllowed:
        return NotAllowed(
            f"{path} is outside the folders that may be opened here.",
            remedy=f"Choose a file below {', '.join(self.names) or 'none'}, or {self._wider}.",
        )

    def list_folder(self, folder: str | None, search: str = "") -> Folder:
        """A folder; without one, the roots."""
        if not folder:
            if len(self._local) == 1:
                return self.list_folder(str(self._local[0]), search)
            return Folder("", None, tuple(_entry(root, str(root)) for root in self._local), False)
        if "\0" in folder:
            raise NotFound(folder.replace("\0", "?"))
        path = self.inside(Path(folder))
        if not path.is_dir():
            raise NotFound(str(path))
        found = self._found(path, search) if search else sorted_children(path)
        entries: list[Entry] = []
        for one in found:
            if len(entries) == MAX_LISTED:
                return Folder(str(path), self._parent(path), tuple(entries), True)
            if kind_of(one) is not None:
                entries.append(_entry(one, str(one.relative_to(path))))
        return Folder(str(path), self._parent(path), tuple(entries), False)

    def _parent(self, path: Path) -> str | None:
        return None if path in self._local else str(path.parent)

    def _found(self, folder: Path, search: str) -> Iterator[Path]:
        """What has the text in its name, in this folder and below."""
        seen = 0
        for base, folders, names in os.walk(folder):
            inside = [name for name in folders if kind_of(Path(base, name)) != "volume"]
            matching = [name for name in (*folders, *names) if search.lower() in name.lower()]
            folders[:] = sorted(name for name in inside if not name.startswith("."))
            yield from (Path(base, name) for name in sorted(matching) if not name.startswith("."))
            seen += len(names)
            if seen > MAX_SEARCHED:
                return


def sorted_children(folder: Path) -> list[Path]:
    """What is in a folder, folders first; hidden files are left out."""
    try:
        paths = [path for path in folder.iterdir() if not path.name.startswith(".")]
    except OSError as error:
        raise Unreadable(str(folder), error.strerror or str(error)) from error
    return sorted(paths, key=lambda path: (kind_of(path) != "folder", path.name.lower()))


def kind_of(path: Path) -> EntryKind | None:
    """What a name promises; None for what cannot be opened here."""
    name = path.name.lower()
    if path.is_dir():
        return "volume" if name.endswith(VOLUME_FOLDERS) else "folder"
    if path.suffix.lower() in MESH_FILES:
        return "mesh"
    if name.endswith(VOLUME_FILES):
        return "volume"
    return "points" if path.suffix.lower() in POINT_FILES else None


def _entry(path: Path, name: str) -> Entry:
    # A name that is not UTF-8 is shown, but no page can send it back.
    kind, name, shown = kind_of(path) or "folder", printable(name), printable(str(path))
    size, changed_s = size_and_change(path)
    return Entry(name, shown, kind, size, changed_s * 1000)


def size_and_change(path: Path) -> tuple[int | None, float]:
    """The size of a file in bytes, None for a folder, and when it changed, in seconds since 1970.

    What was removed since it was listed, or a link that leads nowhere, has neither: None and 0.
    """
    try:
        status = path.stat()
    except OSError:
        return None, 0.0
    return None if path.is_dir() else status.st_size, status.st_mtime
