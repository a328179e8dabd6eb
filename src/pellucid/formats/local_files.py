"""Opening local files: only regular files, and only inside the allowed folders if there are any.

Here: allow_only(), which limits this process and its children to some folders; open_local(), with which every reader
opens a file; check_allowed(), for files that a library opens itself; recorded_paths(), which lists them all;
written_whole(), with which a file is written; path_of_descriptor(), for folders that others may rename.
Not here: bytes at positions (byte_sources), what a page may name (instance.access.roots).

A file can name others: detached voxels, links, virtual datasets, symbolic links. A process that serves pages limits
itself to the folders that its pages may open, and then no file leads out of them. Without a limit, a file may name any
other, as the user who opens it may read them anyway.
"""

import errno
import json
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from pellucid.errors import InvalidInput, NotAllowed, NotFound
from pellucid.settings import ALLOWED_FOLDERS_VARIABLE

VARIABLE = ALLOWED_FOLDERS_VARIABLE
"""A JSON list of folders. In the environment, so that child processes have the same limit."""

_recorded: ContextVar[set[str] | None] = ContextVar("recorded", default=None)
MAX_NAME = 200
"""Characters of a file's name in the name that it has while it is written."""
_DESCRIPTOR_PATH = re.compile(r"/proc/\d+/fd/\d+")
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def allow_only(folders: Iterable[str | Path]) -> None:
    """From now on this process, and every process that it starts, reads files inside these folders only."""
    os.environ[VARIABLE] = limit_text(folders)


def limit_text(folders: Iterable[str | Path]) -> str:
    """The value of the variable, for the environment of a child."""
    return json.dumps([os.path.realpath(folder) for folder in folders])


def allowed_folders() -> tuple[str, ...] | None:
    """The folders inside which files are read; None for everywhere."""
    text = os.environ.get(VARIABLE)
    return None if text is None else _parsed(text)


@lru_cache(8)
def _parsed(text: str) -> tuple[str, ...]:
    try:
        folders = json.loads(text)
        return tuple(folder.rstrip("/") for folder in folders)
    except (ValueError, TypeError, AttributeError):
        raise InvalidInput(
            f"Invalid JSON list of folders in {VARIABLE}: {text!r}.",
            remedy=f'Write it like {VARIABLE}=\'["/data", "/scratch"]\', or unset it.',
        ) from None


@contextmanager
def recorded_paths() -> Iterator[set[str]]:
    """Every path, links followed, that is opened or checked in this context; some of them may not exist."""
    paths: set[str] = set()
    token = _recorded.set(paths)
    try:
        yield paths
    finally:
        _recorded.reset(token)


def check_allowed(path: str | Path, named_in: str | Path = "") -> Path:
    """Where a path leads, links followed; NotAllowed outside the allowed folders. named_in: the file that names it."""
    try:
        real = os.path.realpath(path)
    except ValueError:  # A zero byte, or letters that no file name can have.
        raise NotFound(str(path)) from None
    _require_inside(real, str(path), str(named_in))
    if (paths := _recorded.get()) is not None:
        paths.add(real)
    return Path(real)


def _require_inside(real: str, path: str, named_in: str = "") -> None:
    folders = allowed_folders()
    if folders is None or any(real == folder or real.startswith(f"{folder}/") for folder in folders):
        return
    what = f"{named_in} refers to {path}, which is" if named_in else f"{path} is"
    raise NotAllowed(
        f"{what} outside the allowed folders.",
        remedy=f"Move it below {' or '.join(folders) or 'an allowed folder'}, or start the viewer with --root FOLDER.",
    )


def check_folder(folder: str | Path) -> None:
    """NotAllowed where a folder that a library reads is, or holds a link that leads, outside the allowed folders."""
    check_allowed(folder)
    if allowed_folders() is None:
        return
    for base, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(base, name)  # noqa: PTH118  # Of every chunk.
            if os.path.islink(path):  # noqa: PTH114
                check_allowed(path, folder)


def open_local(path: str | Path) -> int:
    """A descriptor of a regular file, for reading. It is checked after it is open: it cannot be swapped in between."""
    check_regular(path)  # Before it is opened: opening a device may do something.
    descriptor = os.open(path, _FLAGS)
    try:
        _refuse_irregular(path, os.fstat(descriptor).st_mode)
        if VARIABLE in os.environ:
            _require_inside(str(Path(f"/proc/self/fd/{descriptor}").readlink()), str(path))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def check_regular(path: str | Path) -> os.stat_result:
    """What the system says of a regular file; OSError where there is none, InvalidInput for a pipe or a device."""
    status = os.stat(path)  # noqa: PTH116  # Of every chunk: a Path costs as much as the call.
    _refuse_irregular(path, status.st_mode)
    if (paths := _recorded.get()) is not None:
        paths.add(os.path.realpath(path))
    return status


def _refuse_irregular(path: str | Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    kind = "named pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"
    raise InvalidInput(
        f"{path} is a {kind}, not a regular file.", remedy="Copy its content into a file, and open that."
    )


def others_may_rename(path: Path) -> bool:
    """Whether another user than the owner or root may put something else in the place of this file or folder."""
    return any(_is_open_to_others(folder) for folder in {*path.absolute().parents, *path.resolve().parents})


def _is_open_to_others(folder: Path) -> bool:
    status = folder.stat()
    is_others = status.st_uid not in (0, os.geteuid())
    return is_others or (bool(status.st_mode & 0o022) and not status.st_mode & stat.S_ISVTX)


def refuse_links_of_others(path: Path) -> None:
    """InvalidInput for an output that is a link which another user made: it may lead to any file of this user."""
    if path.is_symlink() and path.lstat().st_uid not in (0, os.geteuid()):
        raise InvalidInput(f"{path} is a link that another user made.", remedy="Choose another name for the output.")


def path_of_descriptor(descriptor: int) -> Path | None:
    """A path to an open folder for all processes of this user, valid after it is renamed; None where there is none."""
    path = Path(f"/proc/{os.getpid()}/fd/{descriptor}")
    return path if path.exists() else None


def without_descriptors(text: str) -> str:
    """A text in which such paths read the same in every process."""
    return _DESCRIPTOR_PATH.sub("/proc/N/fd/N", text)


@contextmanager
def written_whole(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A file to write to, which gets its name when all went well, and disappears when not. mode: before the umask.

    It is created, never found: in a folder where others may write, a name that can be guessed may be a link to any
    file.
    """
    part = path.with_name(f".{path.name[:MAX_NAME]}.{secrets.token_hex(8)}.partial")
    descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def write_whole(path: Path, text: str, mode: int = 0o666) -> None:
    """A text file, by written_whole."""
    with written_whole(path, mode) as file:
        file.write(text.encode())
