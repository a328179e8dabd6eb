"""Files that a process locks as long as it lives.

Here: opening such a file, locking it without waiting, whether a process holds it.
Not here: what the lock stands for (engines.partial_output, cluster.nodes.folders, instance.lifecycle.scratch_folders).
"""

import fcntl
import os
from pathlib import Path


def open_lock(path: str | Path, folder: int | None = None) -> int:
    """A descriptor of the file, which is made if needed; closing it ends the lock. folder: of an open folder that a
    relative path starts from."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)


def lock(descriptor: int) -> None:
    """As soon as no other process holds it."""
    fcntl.flock(descriptor, fcntl.LOCK_EX)


def try_lock(descriptor: int) -> bool:
    """False where another process holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of a file that exists."""
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)
