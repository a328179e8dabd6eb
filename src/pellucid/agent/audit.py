"""Who did what, when, and where: one line each, for whoever has to answer for it later.

Here: Audit, which appends to a file that only its owner can read.
Not here: what happened (keeper).
"""

import getpass
import json
import os
import threading
import time
from pathlib import Path

from pellucid.agent.records import Record


class Audit:
    """Every phase that an instance or task comes to, once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._phases: dict[str, str] = {}

    def note(self, record: Record) -> None:
        with self._lock:
            if self._phases.get(record.id) == record.state.phase:
                return
            self._phases[record.id] = record.state.phase
            line = {
                "at": time.time(), "who": getpass.getuser(), "what": record.state.phase, "kind": record.kind,
                "id": record.id, "name": record.name, "node": record.state.node, "why": record.state.reason,
            }  # fmt: skip
            with open(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a") as file:  # noqa: PTH123
                file.write(json.dumps(line) + "\n")
