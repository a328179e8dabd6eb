"""Outputs that are not complete yet, and giving them their final name.

Here: PartialOutput: the place where an output grows, the key by which interrupted work recognises its own remains, the
publishing, and the lock that keeps two runs apart.
Not here: what is written (task).

A local output ``scan.zarr`` grows in ``scan.zarr.partial/output/`` and is renamed when it is complete. An object store
has no rename: there the output grows in place, and the format writes last what makes it openable.

Where others may rename what lies in a folder above it, the growing output is reached through an open descriptor, not by
name: it stays the same folder, even when another process puts something in its place.
"""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pellucid.engines.output_check import written_paths
from pellucid.engines.replaced_contents import refuse_loss
from pellucid.errors import InvalidInput, NotWritable, OutputExists, PellucidError
from pellucid.formats.local_files import others_may_rename, path_of_descriptor
from pellucid.formats.location import Location
from pellucid.jobs.file_locks import open_lock, try_lock
from pellucid.settings import current, make_private_folder

SUFFIX = ".partial"


class PartialOutput:
    """An output that is growing. Use as a context manager: it holds the lock.

    folder: where it grows; inside the ``with``, a path that no other process can redirect. by_name: workers on other
    machines write to it, so that it has its own name; they check whose it is.
    """

    def __init__(self, target: Location, *, overwrite: bool, by_name: bool = False) -> None:
        self._by_name = by_name
        self._target = target
        self._overwrite = overwrite
        self._named = _remote_folder(target) if target.is_remote else _beside(target)
        self.folder = self._named

    @property
    def output(self) -> Location:
        """Where to write for now."""
        if self._target.is_remote:
            return self._target
        slash = "/" if self._target.path.endswith("/") else ""
        path = f"{self._room / self._target.local.name}{slash}"
        return Location(path, self._target.dataset, self._target.options)

    @property
    def _room(self) -> Path:
        return self.folder / "output"

    def __enter__(self) -> "PartialOutput":
        if not self._target.is_remote:
            _refuse_to_replace(self._target, overwrite=self._overwrite)
            _refuse_foreign_remains(self._named)
        try:
            if self._target.is_remote:
                make_private_folder(self._named.parent)
            self._named.parent.mkdir(parents=True, exist_ok=True)
            # For its owner alone, or others who may write beside the output could put links to any file into it.
            self._named.mkdir(mode=0o700, exist_ok=True)
            self._open()
        except OSError as error:
            raise NotWritable(self._target.path, error.strerror or str(error)) from error
        self._take_lock()
        return self

    def _open(self) -> None:
        """Open the folder, and its lock inside it: from here on it cannot be exchanged."""
        refuse_others(self._named, self._named.lstat())
        self._descriptor = os.open(self._named, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            refuse_others(self._named, os.fstat(self._descriptor))
            self._lock = open_lock("lock", self._descriptor)
        except BaseException:
            os.close(self._descriptor)
            raise
        if others_may_rename(self._named) and not self._by_name:
            self.folder = path_of_descriptor(self._descriptor) or self._named

    def _close(self) -> None:
        os.close(self._lock)
        os.close(self._descriptor)
        self.folder = self._named

    def _take_lock(self) -> None:
        if not try_lock(self._lock):
            self._close()
            raise InvalidInput(
                f"{self._target.path} is being written by another process.",
                remedy="Wait for it, or choose another name.",
            )

    def __exit__(self, *_: object) -> None:
        self._close()

    @contextmanager
    def naming_target(self) -> Iterator[None]:
        """Errors name the output as the user did, not the place where it grows."""
        try:
            yield
        except PellucidError as error:
            growing, final = str(self._room), str(self._target.local.parent)
            error.what, error.remedy = error.what.replace(growing, final), error.remedy.replace(growing, final)
            raise

    def begin(self, key: str) -> bool:
        """Whether the remains here are of the same work; remains of other work are removed."""
        written = self.folder / "key"
        if written.exists() and written.read_text() == key:
            return True
        for entry in self.folder.iterdir():
            if entry.name != "lock":
                _remove(entry)
        if not self._target.is_remote:
            self._room.mkdir()
        written.write_text(key)
        return False

    def discard(self) -> None:
        """Leave nothing behind."""
        for entry in sorted(self.folder.iterdir(), key=lambda entry: entry.name == "lock"):
            _remove(entry)
        with suppress(OSError):  # Another process may have put a folder in its place.
            self._named.rmdir()

    def publish(self) -> None:
        """Give the complete output its name, and clear away what it took to make it."""
        if not self._target.is_remote:
            final = self._target.local
            # The file that carries the output's own name goes last: data files that it refers to are there by then.
            for entry in sorted(self._room.iterdir(), key=lambda entry: entry.name == final.name):
                _replace(entry, final.with_name(entry.name))
        self.discard()


def check_growing_output(output: str) -> None:
    """Refuse an output that grows in a folder of another user; for workers, which reach it by its name."""
    for folder in Location.parse(output).local.parents if output and not Location.parse(output).is_remote else ():
        if folder.name.endswith(SUFFIX) and folder.exists():
            refuse_others(folder, folder.lstat())


def _refuse_to_replace(target: Location, *, overwrite: bool) -> None:
    """Only what was asked to be replaced, and that holds a volume and nothing else."""
    path = target.local
    existing = [each for each in written_paths(target) if each.exists()]
    if existing and not overwrite:
        raise OutputExists(target.path if path in existing else str(existing[0]))
    if path not in existing:
        return
    if target.dataset:
        raise InvalidInput(f"{path} exists and may contain more than {target.dataset}.", remedy="Write to a new file.")
    refuse_loss(target)


def _refuse_foreign_remains(folder: Path) -> None:
    if folder.exists() and not (folder.is_dir() and ((folder / "lock").exists() or not any(folder.iterdir()))):
        raise InvalidInput(f"{folder} exists and was not created by Pellucid.", remedy="Rename or move it.")


def refuse_others(folder: Path, status: os.stat_result) -> None:
    """Remains that another user made, or may change, are not continued: a link in them could lead to any file."""
    if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022:
        return
    raise InvalidInput(
        f"{folder} belongs to another user, or others may write into it.",
        remedy="Remove it, or choose another name for the output.",
    )


def _beside(target: Location) -> Path:
    return target.local.with_name(f"{target.local.name}{SUFFIX}")


def _remote_folder(target: Location) -> Path:
    name = hashlib.sha256(str(target).encode()).hexdigest()[:32]
    return current().cache_folder / "jobs" / name


def _replace(source: Path, target: Path) -> None:
    """Give ``source`` the name of ``target``; what had it before is gone only when that is done."""
    if target.exists() and (target.is_dir() or source.is_dir()):  # Folders cannot be renamed over what is there.
        old = source.with_name(f"{source.name}.old")
        target.rename(old)
        source.rename(target)
        _remove(old)
    else:
        source.replace(target)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
