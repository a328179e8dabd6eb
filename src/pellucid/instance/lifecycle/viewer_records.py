"""Records of the running viewers: one small file each, which only its owner can read.

Here: ViewerRecord, writing it, listing those of viewers that are alive.
Not here: attaching to one (client), viewers on other machines (agent).

A record has the owner's token: the folder and the files are closed to everyone else.
"""

import atexit
import logging
import os
import socket
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

from pellucid.instance.access.sessions import make_code
from pellucid.jobs.private_files import private_folder, read_dataclass, write_json
from pellucid.jobs.process_identity import birth as birth_of
from pellucid.settings import current

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ViewerRecord:
    """A running viewer. address: of its page. started_at: seconds since 1970. birth: of the process. token: the
    owner's, for programs. root: what keys of the owner's pages are made from."""

    address: str
    pid: int
    host: str
    started_at: float
    birth: int
    # What is printed, or kept in a notebook, must not let others in.
    token: str = field(default="", repr=False)
    root: str = field(default="", repr=False)

    @classmethod
    def of_this_process(cls, address: str, token: str, root: str) -> "ViewerRecord":
        return cls(address, os.getpid(), socket.gethostname(), time.time(), birth_of(os.getpid()), token, root)

    @property
    def url(self) -> str:
        """To be opened in a browser, as the owner. It works once: a fresh one comes each time."""
        return f"{self.address}#code={make_code(self.token)}"

    @property
    def is_alive(self) -> bool:
        return birth_of(self.pid) == self.birth


def records_folder() -> Path:
    return current().state_folder / "instances"


def write(record: ViewerRecord, folder: Path | None = None) -> Path | None:
    """Write a record down, whole or not at all; where it is. None where it cannot be: the viewer runs all the same."""
    folder = folder or records_folder()
    path = folder / f"{record.host}-{uuid4().hex}.json"
    atexit.register(remove, path)  # Where it is asked to end before anything else can see to that.
    try:
        write_json(private_folder(folder) / path.name, asdict(record))
    except OSError as error:
        log.warning("This viewer will not be listed: cannot write %s: %s.", folder, error.strerror)
        return None
    return path


def remove(path: Path | None) -> None:
    if path is not None:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def running_viewers(folder: Path | None = None) -> list[ViewerRecord]:
    """The viewers that run on this machine, the oldest first; what dead ones left behind is cleared away."""
    alive = []
    for path in (folder or records_folder()).glob(f"{socket.gethostname()}-*.json"):
        record = _read(path)
        if record is not None and record.is_alive:
            alive.append(record)
        else:
            path.unlink(missing_ok=True)
    return sorted(alive, key=lambda record: record.started_at)


def find_crashed(port: int, folder: Path | None = None) -> ViewerRecord | None:
    """What a viewer of this machine left behind that was killed at this port; who ends in order leaves nothing."""
    read = [_read(path) for path in (folder or records_folder()).glob(f"{socket.gethostname()}-*.json")]
    left = [one for one in read if one is not None and not one.is_alive and urlsplit(one.address).port == port]
    return max(left, key=lambda record: record.started_at, default=None)


def _read(path: Path) -> ViewerRecord | None:
    """None where it is gone since, not a record, or not the user's."""
    return read_dataclass(ViewerRecord, path)
