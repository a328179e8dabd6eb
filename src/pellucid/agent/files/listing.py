"""The files of the agent's user, as its page shows them.

Here: UserFiles: listing a folder, what may be fetched and written; a folder packed while it is fetched.
Not here: routes (routes), what is in a file (inspection), checking a path (instance.access.roots).
"""

import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pellucid.errors import InvalidInput, NotFound, OutputExists
from pellucid.instance.access.roots import Roots, kind_of, size_and_change, sorted_children
from pellucid.printable import printable

MAX_LISTED = 2000
MAX_NAME_BYTES = 200
"""Of an uploaded file; while it comes, its name is longer, and file systems allow 255."""
PIECE_BYTES = 2**18
Kind = Literal["folder", "volume", "mesh", "points", "file"]


@dataclass(frozen=True)
class FileEntry:
    """One file or folder. size: None for a folder. changed_at: seconds since 1970."""

    name: str
    path: str
    kind: Kind
    is_folder: bool
    size: int | None
    changed_at: float


@dataclass(frozen=True)
class FolderListing:
    """path: "" for the list of roots. root: the one that it is in. parent: None where there is none to go to. is_cut:
    there are more entries. is_scan: its TIFF files are projections and what belongs to them. is_stack: they are the
    slices of a volume."""

    path: str
    root: str
    parent: str | None
    entries: tuple[FileEntry, ...]
    is_cut: bool
    can_write: bool
    is_scan: bool = False
    is_stack: bool = False


class UserFiles:
    """roots: the folders below which everything may be seen; ``~`` and variables of the environment are filled in."""

    def __init__(self, roots: tuple[str, ...]) -> None:
        self._folders = [Path(os.path.expandvars(root)).expanduser() for root in roots]
        self.roots = Roots(list(self._folders), "ask for more roots in the site file")

    def list_folder(self, folder: str) -> FolderListing:
        """A folder; "" for the roots, or for the only one."""
        if not folder and len(self._folders) != 1:
            return FolderListing("", "", None, tuple(_entry(root, str(root)) for root in self._folders), False, False)
        path = self.require_existing(folder or str(self._folders[0]))
        if not path.is_dir():
            raise NotFound(str(path))
        found = sorted_children(path)
        root = max((name for name in self.roots.names if path.is_relative_to(name)), key=len)
        is_top = str(path) == root
        parent = ("" if len(self._folders) > 1 else None) if is_top else str(path.parent)
        entries = tuple(_entry(one, one.name) for one in found[:MAX_LISTED])
        listing = FolderListing(str(path), root, parent, entries, len(found) > MAX_LISTED, os.access(path, os.W_OK))
        return _with_kind(listing, path)

    def require_existing(self, path: str) -> Path:
        """Where a path leads, inside the roots."""
        found = self._checked(path)
        if not found.exists():
            raise NotFound(path)
        return found

    def new_file_path(self, folder: str, name: str, *, overwrite: bool = False) -> Path:
        """Where a new file may be written."""
        is_odd = name in ("", ".", "..") or set(name) & set("/\n\r\t") or printable(name) != name
        if is_odd or len(name.encode()) > MAX_NAME_BYTES:
            remedy = f"Use a name without / and control characters, of at most {MAX_NAME_BYTES} bytes."
            raise InvalidInput(f"{printable(name[:MAX_NAME_BYTES])!r} is not a valid file name.", remedy=remedy)
        path = self.require_existing(folder) / name
        self._checked(str(path))  # It may be a link that leads elsewhere.
        if path.is_dir() or (path.exists() and not overwrite):
            raise OutputExists(str(path))
        return path

    def _checked(self, path: str) -> Path:
        if "\0" in path or not path.startswith("/"):
            raise NotFound(path.replace("\0", "?"))
        return self.roots.inside(Path(path))


def _with_kind(listing: FolderListing, folder: Path) -> FolderListing:
    """By the names of its files. The readers are imported when a folder is listed for the first time."""
    from pellucid.formats.tiff.folder import is_stack_folder
    from pellucid.tomo.scan_files.registry import is_scan_folder

    is_scan = is_scan_folder(folder)
    return replace(listing, is_scan=is_scan, is_stack=not is_scan and is_stack_folder(folder))


def zip_stream(folder: Path) -> Iterator[bytes]:
    """A folder as the bytes of one ZIP file, made on the way. Links are left out: they may lead anywhere."""
    collected = _Collected()
    with zipfile.ZipFile(collected, "w", zipfile.ZIP_STORED) as archive:
        for file in _plain_files(folder):
            name = str(Path(folder.name) / file.relative_to(folder))
            with open(file, "rb", opener=_without_links) as content, archive.open(name, "w", force_zip64=True) as entry:
                while piece := content.read(PIECE_BYTES):
                    entry.write(piece)
                    yield collected.taken()
            yield collected.taken()
    yield collected.taken()


def _without_links(path: str, flags: int) -> int:
    """Open what was no link when it was listed, and may be one now."""
    return os.open(path, flags | os.O_NOFOLLOW)


def _raise(error: OSError) -> None:
    raise error


def _plain_files(folder: Path) -> Iterator[Path]:
    """A folder that cannot be read is an error: without it, an archive would only look whole."""
    for base, folders, names in os.walk(folder, onerror=_raise):
        folders.sort()
        for path in (Path(base, name) for name in sorted(names)):
            if path.is_file() and not path.is_symlink():
                yield path


class _Collected:
    """Takes the bytes written since the last call; it cannot seek."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, piece: bytes, /) -> int:
        self._pieces.append(bytes(piece))
        return len(piece)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

    def taken(self) -> bytes:
        taken, self._pieces = b"".join(self._pieces), []
        return taken


def _entry(path: Path, name: str) -> FileEntry:
    # A name that is not UTF-8 is shown, but no page can send it back.
    kind: Kind = kind_of(path) or "file"
    return FileEntry(printable(name), printable(str(path)), kind, path.is_dir(), *size_and_change(path))
