"""HDF5 files whose damage the library does not survive: it never returns from them, or crashes.

Here: files that are damaged on purpose, at one address each.
Not here: what is tested with them.
"""

import struct
from pathlib import Path

import h5py
import numpy as np


def write_whole(path: Path, chunk: int = 4) -> Path:
    """A volume in chunks, and texts."""
    with h5py.File(path, "w", libver="earliest") as file:
        file.create_dataset("entry/data", data=np.ones((22, 22, 22), np.uint8), chunks=(chunk, chunk, chunk))
        file["entry"].attrs["NX_class"] = "NXentry"
        file["entry/title"] = ["one", "two"]
    return path


def write_endless_texts(path: Path) -> Path:
    """The first object of the heap of texts is free space of size 0: the library steps from it to itself."""
    content = bytearray(write_whole(path).read_bytes())
    position = content.index(b"GCOL")
    content[position + 16 : position + 32] = bytes(16)
    path.write_bytes(content)
    return path


def write_endless_names(path: Path) -> Path:
    """The list of free space between the names of a group continues at its own beginning: it takes all memory."""
    content = bytearray(write_whole(path).read_bytes())
    heap = content.index(b"HEAP")
    free, address = struct.unpack_from("<QQ", content, heap + 16)
    struct.pack_into("<Q", content, address + free, free)
    path.write_bytes(content)
    return path


def write_crashing_group(path: Path) -> Path:
    """The tree of a group's names has itself as a branch."""
    return _with_own_branch(path, write_whole(path).read_bytes().index(b"TREE\0"), 8)


def write_crashing_chunks(path: Path, chunk: int = 4) -> Path:
    """The tree of a dataset's chunks has itself as a branch."""
    return _with_own_branch(path, write_whole(path, chunk).read_bytes().index(b"TREE\1"), 8 + 8 * 4)


def _with_own_branch(path: Path, tree: int, key_bytes: int) -> Path:
    content = bytearray(path.read_bytes())
    content[tree + 5] = 1
    struct.pack_into("<Q", content, tree + 24 + key_bytes, tree)
    path.write_bytes(content)
    return path
