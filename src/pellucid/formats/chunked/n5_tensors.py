"""Arrays of any number of axes in an N5 container, such as windows for training.

Here: create_tensor, open_tensor.
Not here: volumes (n5), chunks (chunks).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.errors import InvalidInput, NotFound
from pellucid.formats.chunked.axes import Index
from pellucid.formats.chunked.levels import StoredArray
from pellucid.formats.chunked.n5 import TYPES, VERSION, compression_of, open_dataset
from pellucid.formats.chunked.store import Json, open_store, read_json, write_json
from pellucid.formats.location import Location

_ATTRIBUTES = "attributes.json"
_OWN = ("dimensions", "blockSize", "dataType", "compression")


@dataclass(frozen=True)
class StoredTensor:
    """An array in a container. shape, chunk: slowest axis first. attributes: others than those of N5."""

    array: StoredArray
    shape: Index
    chunk: Index
    dtype: np.dtype[Any]
    attributes: Json

    def read(self, start: Index, stop: Index) -> Any:
        out = np.empty(tuple(b - a for a, b in zip(start, stop, strict=True)), self.dtype)
        self.array.read(start, stop, out)
        return out

    def write(self, start: Index, voxels: Any) -> None:
        """Whole chunks."""
        stop = tuple(a + n for a, n in zip(start, voxels.shape, strict=True))
        self.array.write(start, stop, np.ascontiguousarray(voxels, self.dtype))


def create_tensor(
    container: str | Path, name: str, shape: Index, chunk: Index, dtype: str, **attributes: Any
) -> StoredTensor:
    """A new dataset, all 0 until it is written. name: such as tensors/source."""
    if np.dtype(dtype).name not in TYPES:
        raise InvalidInput(f"N5 does not store {dtype}.", remedy=f"Choose one of: {', '.join(TYPES)}.")
    root = open_store(Location(str(container)))
    before = read_json(root, _ATTRIBUTES) or {}
    if "n5" not in before:
        write_json(root, _ATTRIBUTES, {"n5": VERSION, **before})
    store = root.child(name)
    if store.read(_ATTRIBUTES) is not None:
        raise InvalidInput(f"{store.name} exists.", remedy="Choose another name, or remove that folder.")
    document = {
        "dimensions": list(shape[::-1]),
        "blockSize": list(chunk[::-1]),
        "dataType": np.dtype(dtype).name,
        "compression": compression_of("blosc"),
        **attributes,
    }
    write_json(store, _ATTRIBUTES, document)
    return open_tensor(container, name)


def open_tensor(container: str | Path, name: str) -> StoredTensor:
    store = open_store(Location(str(container))).child(name)
    document = read_json(store, _ATTRIBUTES)
    if document is None or "dimensions" not in document:
        raise NotFound(store.name)
    shape, chunk = (tuple(int(n) for n in reversed(document[key])) for key in ("dimensions", "blockSize"))
    attributes = {key: value for key, value in document.items() if key not in _OWN}
    return StoredTensor(open_dataset(store, document), shape, chunk, np.dtype(document["dataType"]), attributes)
