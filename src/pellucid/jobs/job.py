"""What is to be run, and what it may use.

Here: Resources, Job, and SubmittedJob, by which a job is found again; the files that a job leaves in its folder.
Not here: running it (local, slurm), the text that runs it (batch_script).
"""

import json
import math
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MAX_JSON_BYTES = 16 * 2**20
MAX_JSON_DEPTH = 32
LOG, EXIT, STARTED, WAITING, SCRIPT = "log.txt", "exit", "started", "waiting", "script.sh"


@dataclass(frozen=True)
class Resources:
    """gpus, cores, memory_bytes, minutes: 0 where the scheduler's own default will do."""

    gpus: int = 0
    memory_bytes: int = 0
    cores: int = 0
    minutes: int = 0


@dataclass(frozen=True)
class Job:
    """A command with a folder.

    id: unique, of letters, digits and dashes; the job's name at the scheduler has it. folder: its own, which only its
    owner can enter; log, script and exit code lie there. environment: nothing secret, it can be read by others.
    turn: a file; of the jobs that name the same one, one runs at a time, where no scheduler sees to that.
    """

    id: str
    command: tuple[str, ...]
    folder: Path
    resources: Resources = Resources()
    environment: Mapping[str, str] = field(default_factory=dict)
    serial_lock: Path | None = None


@dataclass(frozen=True)
class SubmittedJob:
    """handle: the scheduler's word for it; "" where nobody lived to write it down."""

    id: str
    handle: str
    folder: Path


def exit_code(folder: Path) -> int | None:
    """What a job's command ended with; None where it has not, or where it was killed with everything around it."""
    try:
        return int((folder / EXIT).read_text())
    except (OSError, ValueError):
        return None


def write_private(path: Path, text: str) -> None:
    """Whole or not at all, and for nobody but the owner."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:  # noqa: PTH123
            file.write(text)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    write_private(path, json.dumps(content, indent=1))


def read_json(path: Path) -> dict[str, Any] | None:
    """None where there is no such file, it is another user's, or it is damaged: too large, too deep, not JSON."""
    try:
        return load_json(path)
    except OSError:
        return None


def load_json(path: Path) -> dict[str, Any] | None:
    """The same, but what the operating system refuses is raised: the file may be there, and good."""
    try:
        with path.open() as file:
            found = os.fstat(file.fileno())
            if found.st_uid != os.geteuid() or found.st_mode & stat.S_IWOTH or found.st_size > MAX_JSON_BYTES:
                return None
            content = json.load(file)
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and _is_plain(content, MAX_JSON_DEPTH) else None


def _is_plain(value: Any, depth: int) -> bool:
    """Whether it is no deeper than that, and every number can be sent as JSON again."""
    if isinstance(value, float):
        return math.isfinite(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth > 0 and all(_is_plain(one, depth - 1) for one in inner)


def private_folder(path: Path) -> Path:
    """A folder for its owner alone, made where it is not there."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.chmod(0o700)
    return path
