"""Files from which interrupted training continues: plain arrays, checked when they are read.

Here: save_arrays and load_arrays; TrainingCheckpoint, which saves a training from time to time.
Not here: what is in a training (training), which folder belongs to which output (compression).
"""

import time
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.formats.local_files import written_whole

PERIOD_S = 10.0
"""So much training is lost at most when it is interrupted; more where saving takes long."""
MAX_SAVING_SHARE = 0.05

Arrays = Mapping[str, np.ndarray[Any, Any]]


def save_arrays(path: Path, arrays: Arrays) -> None:
    """Write arrays whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as file:
        np.savez(file, **dict(arrays))  # type: ignore[arg-type]


def load_arrays(path: Path) -> Arrays | None:
    """The arrays of a file; None where it is absent or damaged."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, KeyError, EOFError, AttributeError, zipfile.BadZipFile, zlib.error):
        return None


def fits(arrays: Arrays, expected: Arrays) -> bool:
    """Whether arrays have the names, shapes and types that are expected, and only finite numbers.

    >>> fits({"a": np.zeros(3)}, {"a": np.ones(3)}), fits({"a": np.zeros(3)}, {"a": np.zeros(2)}), fits({}, {})
    (True, False, True)
    """
    if set(arrays) != set(expected):
        return False
    pairs = [(arrays[name], like) for name, like in expected.items()]
    return all(one.shape == like.shape and one.dtype == like.dtype and np.isfinite(one).all() for one, like in pairs)


class TrainingCheckpoint:
    """The file of one training."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._next = time.monotonic() + PERIOD_S

    def load(self) -> Arrays | None:
        return load_arrays(self._path)

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._next

    def save(self, arrays: Arrays) -> None:
        start = time.monotonic()
        save_arrays(self._path, arrays)
        end = time.monotonic()
        self._next = end + max(PERIOD_S, (end - start) / MAX_SAVING_SHARE)

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)
