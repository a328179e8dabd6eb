"""Folders of small objects: on a local disk, or under a prefix of an S3 bucket.

Here: Store and its local kind; opening the store of a Location; refusals of the operating system as our errors.
Not here: the remote kind (tensorstore_backend, which brings tensorstore with it), what the objects mean (zarr, n5,
precomputed).
"""

import errno
import json
import os
import shutil
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from pellucid.errors import Corrupted, DiskFull, NotAllowed, NotWritable, Unreadable
from pellucid.formats.local_files import open_local
from pellucid.formats.location import Location

Json = dict[str, Any]
Bytes = bytes | bytearray | memoryview
MAX_METADATA_BYTES = 256 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Store(Protocol):
    """Objects by key below one folder. Keys are relative, with slashes."""

    @property
    def name(self) -> str:
        """The folder, as the user would write it."""

    def child(self, key: str) -> "Store": ...

    def read(self, key: str) -> bytes | None:
        """The object's bytes; None where there is none."""

    def write(self, key: str, content: bytes) -> None:
        """Store an object: all of it or nothing is seen by others."""

    def children(self) -> list[str]:
        """Names of the folders directly below, sorted."""

    def remove(self, key: str) -> None:
        """Delete the object, and the folder of that name with all that is in it."""


class LocalStore:
    """A folder on a disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def name(self) -> str:
        return str(self.folder)

    def child(self, key: str) -> "LocalStore":
        return LocalStore(self.folder / key.strip("/"))

    def read(self, key: str) -> bytes | None:
        path = self.folder / key
        with reading(path):
            try:
                file = open(open_local(path), "rb")  # noqa: PTH123, SIM115
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                return None
            with file:
                content = file.read(MAX_METADATA_BYTES + 1)
        if len(content) > MAX_METADATA_BYTES:
            raise Corrupted(str(path), f"its metadata exceeds {MAX_METADATA_BYTES >> 20} MiB")
        return content

    def write(self, key: str, content: bytes) -> None:
        write_whole(self.folder / key, [content])

    def children(self) -> list[str]:
        with reading(self.folder):
            if not self.folder.is_dir():
                return []
            return sorted(entry.name for entry in self.folder.iterdir() if entry.is_dir())

    def remove(self, key: str) -> None:
        path = self.folder / key
        with writing(path):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def open_store(location: Location, *, dataset: bool = True) -> Store:
    """The store at a location: the container's, or that of the dataset in it."""
    inner = inner_path(location.path, location.dataset.strip("/")) if dataset else ""
    if location.is_remote:
        from pellucid.formats.chunked.tensorstore_backend import RemoteStore

        return RemoteStore("/".join(part for part in (location.path.rstrip("/"), inner) if part))
    return LocalStore(location.local.absolute() / inner)


def inner_path(name: str, path: str) -> str:
    """The same path, once it is known to stay inside the store of that name."""
    if path.startswith("/") or ".." in path.split("/"):
        raise NotAllowed(
            f"{name} refers to {path!r}, which is outside of it.",
            remedy="Open that folder directly, or correct the metadata.",
        )
    return path


def read_json(store: Store, key: str) -> Json | None:
    """A metadata object; None where there is none."""
    content = store.read(key)
    if content is None:
        return None
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Corrupted(f"{store.name}/{key}", f"it is not JSON ({error})") from error
    if not isinstance(parsed, dict):
        raise Corrupted(f"{store.name}/{key}", "it does not contain a JSON object")
    return parsed


def write_json(store: Store, key: str, document: Json) -> None:
    store.write(key, json.dumps(document, indent=2).encode())


def write_whole(path: Path, pieces: Iterable[Bytes]) -> None:
    """Write a file under another name and rename it, so that no reader sees half of it."""
    # Threads and processes may write the same object at once: each has its own partial name.
    partial = f"{path}.{os.getpid()}-{threading.get_ident()}.part"
    with writing(path):
        try:
            _write_pieces(partial, pieces)
            os.replace(partial, path)  # noqa: PTH105
        except OSError:
            Path(partial).unlink(missing_ok=True)
            raise


def _write_pieces(path: str, pieces: Iterable[Bytes]) -> None:
    file = _create(path)
    try:
        for piece in pieces:
            view = memoryview(piece)
            while view.nbytes:
                view = view[os.write(file, view) :]
    finally:
        os.close(file)


def _create(path: str) -> int:
    # Most chunks share their folder with one written before: ask for the folder only when it is missing.
    flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
    try:
        return os.open(path, flags, 0o666)
    except FileNotFoundError:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, flags, 0o666)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unreadable(str(path), error.strerror or str(error)) from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFull(str(path)) from error
        raise NotWritable(str(path), error.strerror or str(error)) from error
