"""Files and folders that only their owner can read.

Here: writing them in one step, and reading JSON from them that may be damaged, as plain data or as a dataclass.
Not here: what is in them (job, and the layers above).
"""

import json
import math
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pellucid.dataclass_json import from_json
from pellucid.errors import InvalidInput
from pellucid.formats.local_files import write_whole
from pellucid.settings import make_private_folder

MAX_JSON_BYTES = 16 * 2**20
MAX_JSON_DEPTH = 32
Kind = TypeVar("Kind")


def write_private(path: Path, text: str) -> None:
    """Write a file in one step; only its owner can read it."""
    write_whole(path, text, 0o600)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    write_private(path, json.dumps(content, indent=1))


def read_json(path: Path) -> dict[str, Any] | None:
    """The content of a file; None if it is missing, belongs to another user, or is damaged (too large, too deep, not
    JSON)."""
    try:
        return load_json(path)
    except OSError:
        return None


def load_json(path: Path) -> dict[str, Any] | None:
    """Like read_json, but an error of the operating system is raised: the file may exist and be good."""
    try:
        with path.open() as file:
            found = os.fstat(file.fileno())
            if found.st_uid != os.geteuid() or found.st_mode & stat.S_IWOTH or found.st_size > MAX_JSON_BYTES:
                return None
            content = json.load(file)
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and _is_plain(content, MAX_JSON_DEPTH) else None


def read_dataclass(
    kind: type[Kind], path: Path, load: Callable[[Path], dict[str, Any] | None] = read_json
) -> Kind | None:
    """What a file holds of a dataclass; None where read_json has none, or where the fields do not fit."""
    content = load(path)
    if content is None:
        return None
    try:
        read: Kind = from_json(kind, content, path.name)
    except InvalidInput:
        return None
    return read


def _is_plain(value: Any, depth: int) -> bool:
    """Whether a value is not too deep, and all its numbers can be written as JSON again."""
    if isinstance(value, float):
        return math.isfinite(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth > 0 and all(_is_plain(one, depth - 1) for one in inner)


def private_folder(path: Path) -> Path:
    """A folder that only its owner can open; created if it is missing."""
    make_private_folder(path).chmod(0o700)
    return path
