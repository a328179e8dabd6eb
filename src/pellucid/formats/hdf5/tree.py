"""The other contents of an HDF5 file: names, classes, small arrays, attributes.

Here: Hdf5Tree.
Not here: volumes (format), what the names mean (the layer that asks).
"""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import h5py
import numpy as np

from pellucid.errors import Corrupted
from pellucid.formats.damage import naming_damage
from pellucid.formats.hdf5.library_errors import reason
from pellucid.formats.hdf5.links import LinkedFile
from pellucid.formats.hdf5.references import has_known_shape, require_references
from pellucid.formats.hdf5.structure_check import check_chunk_index

_SMALL_BYTES = 64 << 20


class Hdf5Tree:
    """A file open for looking around. A link that leads nowhere counts as absent."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._file = LinkedFile(path)

    def __enter__(self) -> "Hdf5Tree":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()
        if isinstance(error, Exception):
            with naming_damage(self._path, "its structure is invalid"):
                raise error

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Of a dataset; None where there is none."""
        found = self._get(name)
        return tuple(found.shape) if isinstance(found, h5py.Dataset) else None

    def array(self, name: str) -> np.ndarray[Any, Any] | None:
        """All numbers of a small dataset; None where there is none, or where it holds something else."""
        found = self._get(name)
        is_numbers = isinstance(found, h5py.Dataset) and found.dtype.kind in "biuf"
        if not is_numbers or found.shape is None or found.nbytes > _SMALL_BYTES:
            return None
        require_references(found, self._path)
        check_chunk_index(found)
        try:
            return np.asarray(found[()])
        except (OSError, RuntimeError, ValueError) as error:
            raise Corrupted(self._path, f"{name} could not be read ({reason(error)})") from error

    def text(self, name: str) -> str:
        """The text of a dataset that holds one; empty where it is absent or holds something else."""
        found = self._get(name)
        if not isinstance(found, h5py.Dataset) or found.size != 1 or h5py.check_string_dtype(found.dtype) is None:
            return ""
        value = np.asarray(found[()]).ravel()[0]
        return value.decode(errors="replace") if isinstance(value, bytes) else str(value)

    def attribute(self, name: str, key: str) -> str:
        """An attribute as text, also where it is a list of one; empty where it is absent."""
        found = self._get(name)
        value = found.attrs.get(key, "") if found is not None else ""
        value = value.flat[0] if isinstance(value, np.ndarray) and value.size == 1 else value
        return value.decode(errors="replace") if isinstance(value, bytes) else str(value)

    def groups(self, nexus_class: str) -> list[str]:
        """Names of the groups of a NeXus class, in the order of the file."""
        return [
            name for name, item in self._walk() if isinstance(item, h5py.Group) and self._class(item) == nexus_class
        ]

    def datasets(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Names and shapes of all datasets of numbers, by every hard, soft or external link that leads to them."""
        for name, item in self._walk():
            if isinstance(item, h5py.Dataset) and item.dtype.kind in "biuf":
                yield name, tuple(item.shape)

    def _class(self, group: Any) -> str:
        value = group.attrs.get("NX_class", "")
        return value.decode(errors="replace") if isinstance(value, bytes) else str(value)

    def _get(self, name: str) -> Any:
        found = self._file.get(name)
        return found if self._is_open(found) else None

    def _walk(self) -> Iterator[tuple[str, Any]]:
        return ((name, item) for name, item in self._file.walk(self._file.root) if self._is_open(item))

    def _is_open(self, item: Any) -> bool:
        return not isinstance(item, h5py.Dataset) or has_known_shape(item, self._path)
