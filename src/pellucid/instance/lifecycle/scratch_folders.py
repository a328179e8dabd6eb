"""Folders for temporary files, which are removed when this process ends, however it ends.

Here: scratch_folder, for files; socket_folder, for Unix sockets; short_parent, where the latter are.
Not here: what is in the folders (tasks, local_socket).

A shell waits for the end of this process at the other end of a pipe, and then removes everything: a process that is
killed cannot do so itself. Where the shell is killed too, such as with all of a user's processes, the next process that
needs a folder removes what is left: a file in it is locked as long as its process lives, whatever its number.
"""

import atexit
import itertools
import os
import secrets
import shutil
import subprocess
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from pellucid.errors import InvalidInput
from pellucid.jobs.file_locks import is_locked, lock, open_lock

PREFIX, LOCK = "pellucid-", "lock"
REMOVE_AT_END = 'read -r _; rm -rf -- "$1"'
MAX_PARENT_BYTES = 60
"""The path of a Unix socket has at most 107 bytes: this, the names of two folders, and the socket's own."""
SHORT_PARENTS = ("/tmp", "/var/tmp", "/dev/shm")


class _State:
    lock = threading.Lock()
    roots: ClassVar[dict[Path, Path]] = {}
    numbers = itertools.count()


def scratch_folder() -> Path:
    """A new folder that only its owner can enter."""
    return _new_folder(Path(tempfile.gettempdir()))


def socket_folder() -> Path:
    """The same for Unix sockets: its path is short enough for them, even where that of TMPDIR is not."""
    return _new_folder(short_parent())


def short_parent() -> Path:
    """A folder for temporary files whose path leaves room for the names of Unix sockets: TMPDIR where possible."""
    for parent in (tempfile.gettempdir(), *SHORT_PARENTS):
        if len(os.fsencode(parent)) <= MAX_PARENT_BYTES and os.access(parent, os.W_OK | os.X_OK):
            return Path(parent)
    what = (
        f"The path {tempfile.gettempdir()} is too long for Unix sockets, and {', '.join(SHORT_PARENTS)} are read-only."
    )
    raise InvalidInput(what, remedy=f"Set TMPDIR to a folder whose path has at most {MAX_PARENT_BYTES} bytes.")


def _new_folder(parent: Path) -> Path:
    with _State.lock:
        if parent not in _State.roots:
            _remove_left(parent)
            _State.roots[parent] = _made_root(parent)
    folder = _State.roots[parent] / str(next(_State.numbers))
    folder.mkdir(mode=0o700)
    return folder


def _made_root(parent: Path) -> Path:
    root = parent / f"{PREFIX}{secrets.token_hex(8)}"
    # Before the folder is there: this process may be ended at any moment.
    shell = subprocess.Popen(
        ["/bin/sh", "-c", REMOVE_AT_END, "sh", str(root)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True, cwd="/",
    )  # fmt: skip
    atexit.register(shell.communicate)  # The pipe is closed, and the folder is gone before this process is.
    root.mkdir(mode=0o700)
    # Locked before it has its name: by that name it is never found unlocked while this process lives, which never
    # closes the descriptor.
    lock(open_lock(root / f"{LOCK}.new"))
    (root / f"{LOCK}.new").rename(root / LOCK)
    return root


def _remove_left(parent: Path) -> None:
    """Folders of processes that were killed together with the shell that would have removed them."""
    for path in parent.glob(f"{PREFIX}*/{LOCK}"):
        with suppress(OSError):  # Another user's, or gone meanwhile.
            if path.parent.stat().st_uid == os.geteuid() and not is_locked(path):
                shutil.rmtree(path.parent, ignore_errors=True)
