"""The audit log: who did what, when and where, one line each, for administrators.

Here: Audit, which appends to a file that only its owner can read.
Not here: what happened (supervisor).
"""

import errno
import getpass
import json
import logging
import os
import threading
import time
from pathlib import Path

from pellucid.agent.jobs.records import JobRecord
from pellucid.formats.system_errors import system_error

log = logging.getLogger(__name__)


class Audit:
    """Every phase that an instance or task comes to, once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._phases: dict[str, str] = {}
        self._unwritten: list[str] = []

    def note(self, record: JobRecord) -> None:
        with self._lock:
            if self._phases.get(record.id) == record.state.phase:
                return
            self._phases[record.id] = record.state.phase
            line = {
                "at": time.time(), "who": getpass.getuser(), "what": record.state.phase, "kind": record.kind,
                "id": record.id, "name": record.name, "node": record.state.node, "why": record.state.reason,
            }  # fmt: skip
            self._unwritten.append(json.dumps(line) + "\n")
            self._write()

    def _write(self) -> None:
        """All lines, or none: those that find a full disk are written with the next."""
        try:
            with open(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab", 0) as file:  # noqa: PTH123
                before = os.fstat(file.fileno()).st_size
                text = "".join(self._unwritten).encode()
                try:
                    if file.write(text) != len(text):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
                except OSError:
                    file.truncate(before)
                    raise
        except OSError as error:
            log.warning("%s", system_error(error, str(self._path)))
        else:
            self._unwritten = []
