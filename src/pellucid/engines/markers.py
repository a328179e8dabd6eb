"""Done-markers: which blocks are finished, so that interrupted work continues.

Here: one append-only file per job, keyed by the task's parameters and its inputs' fingerprints.
Not here: where that file lies (the task's driver decides), the outputs themselves.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pellucid.engines.task import BlockResult, Task, parameters
from pellucid.formats.fingerprint import fingerprint
from pellucid.formats.local_files import without_descriptors
from pellucid.formats.location import Location
from pellucid.volume.blocks import Block


def job_key(task: Task, blocks: Sequence[Block]) -> str:
    """Changes with the parameters, the inputs' content and the way the volume is cut."""
    facts = {
        **parameters(task),
        "fingerprints": [fingerprint(Location.parse(uri)) for uri in task.inputs],
        "blocks": [len(blocks), str(blocks[0].outer) if blocks else "", str(blocks[-1].outer) if blocks else ""],
    }
    text = without_descriptors(json.dumps(facts, sort_keys=True))
    return hashlib.sha256(text.encode()).hexdigest()


class Markers:
    """The finished blocks of one job.

    The first line of the file is the key, each further one a finished block; a line that a crash cut short is void.
    """

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        self.results: dict[int, Any] = {}
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        if lines and lines[0] == f"{key}\n":
            self.results = dict(_finished(lines[1:]))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{key}\n")
        # A cut line must not swallow the next one: start on a fresh line.
        self._file = path.open("a", buffering=1)
        if lines and not lines[-1].endswith("\n"):
            self._file.write("\n")

    def add(self, done: BlockResult) -> None:
        self._file.write(json.dumps([done.index, done.result]) + "\n")
        self.results[done.index] = done.result

    def close(self) -> None:
        self._file.close()


def _finished(lines: Sequence[str]) -> Sequence[tuple[int, Any]]:
    found = []
    for line in lines:
        try:
            index, result = json.loads(line)
        except ValueError:
            continue
        found.append((index, result))
    return found
