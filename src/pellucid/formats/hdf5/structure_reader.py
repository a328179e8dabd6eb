"""A process that reads the structure of HDF5 files for another one, and may be caught or crash in a damaged file.

Here: the script: one object or all that hard links lead to, their attributes, texts, and where their chunks are.
Not here: starting this process and judging files by how it ends (structure_check).

Run as a script with as few imports as will do: it calls the library that h5py has loaded directly, because importing
h5py alone takes longer than everything here. A failure that the library reports does not matter: who opens the file
meets the same one. A process that spends too long on one object is stopped by the kernel (SIGXCPU).

A request is a line: after how many seconds this process ends itself, in case its owner is gone; what to read; the path
and the name of an object as hexadecimal digits. The answer is a byte.
"""

import ctypes
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

ALL, OBJECT, CHUNKS = "all", "object", "chunks"
"""What to read: every object; one with its attributes; how many chunks a dataset has."""
READ, TOO_LARGE = b".", b"m"
MAX_CHUNKS = 10_000
"""Of a dataset with more of them, they are counted when its first voxel is read."""
_MAX_ATTRIBUTE_BYTES = 2**26
_MAX_TEXTS, _MAX_TEXT_CHUNK = 1024, 2**24
_READ_ONLY, _WHILE_WRITTEN, _SWMR_WRITER = 0, 0x40, 5
_DEFAULT, _ALL, _ASCENDING, _BY_NAME, _BY_CREATION, _BASIC = 0, 0, 0, 0, 1, 1
_HARD_LINK, _GROUP, _DATASET, _CHUNKED, _VIRTUAL, _VARIABLE = 0, 2, 5, 2, 3, 9
_MAX_AXES = 32

_Id = ctypes.c_int64
_Visit = ctypes.CFUNCTYPE(ctypes.c_int, _Id, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p)
_RETURNS_ID = (
    "H5Fopen", "H5Oopen", "H5Aopen", "H5Aget_type", "H5Aget_space", "H5Dget_type", "H5Dget_space",
    "H5Dget_create_plist", "H5Sget_simple_extent_npoints",
)  # fmt: skip


def main(library_path: str, object_s: int, max_bytes: int) -> None:
    """Answer requests. object_s: processor time that the library may take for one object."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (max_bytes, max_bytes))
    reader, system = _StructureReader(ctypes.CDLL(library_path), object_s), ctypes.CDLL(None)
    for line in sys.stdin.buffer:
        timeout_s, what, path, name = line.decode().rstrip("\n").split(" ")
        system.alarm(int(timeout_s))
        reader.read(what, bytes.fromhex(path), bytes.fromhex(name))
        system.alarm(0)
        sys.stdout.buffer.write(TOO_LARGE if _peak_bytes() > 0.9 * max_bytes else READ)
        sys.stdout.buffer.flush()


def _peak_bytes() -> int:
    """The most memory that this process has had. Of getrusage, it would include that of the process that started it."""
    with open("/proc/self/status", "rb") as status:  # noqa: PTH123  # Importing pathlib takes longer than all of this.
        return next((int(line.split()[1]) * 1024 for line in status if line.startswith(b"VmHWM:")), 0)


def _is_being_written(path: bytes) -> bool:
    """Whether its writer has it open (SWMR). Of other files, the library would read damaged parts again and again."""
    with open(path, "rb") as file:  # noqa: PTH123
        start = file.read(12)
    return len(start) == 12 and start[8] >= 3 and start[11] == _SWMR_WRITER


class _StructureReader:
    """The library, which reads files."""

    def __init__(self, library: Any, object_s: int) -> None:
        self._library, self._object_s = library, object_s
        for name in _RETURNS_ID:
            getattr(library, name).restype = _Id
        library.H5Tget_size.restype = ctypes.c_size_t
        library.H5open()
        library.H5Eset_auto2(_Id(_DEFAULT), None, None)

    def read(self, what: str, path: bytes, name: bytes) -> None:
        self._allow_time()
        file = self._call("H5Fopen", path, _WHILE_WRITTEN if _is_being_written(path) else _READ_ONLY, _Id(_DEFAULT))
        if file < 0:
            return
        if what == ALL:
            self._walk(file)
        elif name == b"/" or self._is_hard_link(file, name):
            use = self._count_chunks if what == CHUNKS else self._read_object
            self._with("H5Oopen", (_Id(file), name, _Id(_DEFAULT)), use)
        self._call("H5Idec_ref", _Id(file))

    def _is_hard_link(self, file: int, name: bytes) -> bool:
        link = ctypes.create_string_buffer(256)
        is_there = self._call("H5Lget_info2", _Id(file), name, link, _Id(_DEFAULT)) >= 0
        return is_there and ctypes.c_int.from_buffer(link).value == _HARD_LINK

    def _walk(self, file: int) -> None:
        """Everything below the root, each object once: links may form circles."""
        seen: set[bytes] = set()
        self._call("H5Iinc_ref", _Id(file))
        opened = [(file, iter([b"/"]))]
        while opened:
            self._allow_time()
            group, names = opened[-1]
            name = next(names, None)
            if name is None:
                opened.pop()
                self._call("H5Idec_ref", _Id(group))
                continue
            found = self._call("H5Oopen", _Id(group), name, _Id(_DEFAULT))
            if found >= 0:
                identity = self._identity(found)
                opened.append((found, iter(self._read_and_list(found) if identity not in seen else ())))
                seen.add(identity)

    def _read_and_list(self, found: int) -> list[bytes]:
        """An object; the names of what it contains."""
        self._read_object(found)
        return self._hard_links(found) if self._call("H5Iget_type", _Id(found)) == _GROUP else []

    def _read_object(self, found: int) -> None:
        self._read_attributes(found)
        if self._call("H5Iget_type", _Id(found)) == _DATASET:
            self._read_dataset(found)

    def _identity(self, found: int) -> bytes:
        buffer = ctypes.create_string_buffer(256)  # the file's number, then the object's token
        self._call("H5Oget_info3", _Id(found), buffer, _BASIC)
        return buffer.raw[:24]

    def _hard_links(self, group: int) -> list[bytes]:
        """The names of a group's objects; by both indices, because either may be used later."""
        names: dict[bytes, None] = {}

        def add(_: int, name: bytes, link: int, __: int) -> int:
            self._allow_time()
            if ctypes.c_int.from_address(link).value == _HARD_LINK:
                names[name] = None
            return 0

        for index in (_BY_NAME, _BY_CREATION):
            self._allow_time()
            self._call("H5Literate2", _Id(group), index, _ASCENDING, None, _Visit(add), None)
        return list(names)

    def _read_attributes(self, found: int) -> None:
        names: list[bytes] = []

        def add(_: int, name: bytes, __: int, ___: int) -> int:
            self._allow_time()
            names.append(name)
            return 0

        self._call("H5Aiterate2", _Id(found), _BY_NAME, _ASCENDING, None, _Visit(add), None)
        for name in names:
            self._with("H5Aopen", (_Id(found), name, _Id(_DEFAULT)), self._read_attribute)

    def _read_attribute(self, attribute: int) -> None:
        def read(kind: int, space: int) -> None:
            size = self._call("H5Sget_simple_extent_npoints", _Id(space)) * self._call("H5Tget_size", _Id(kind))
            if 0 < size <= _MAX_ATTRIBUTE_BYTES:
                buffer = ctypes.create_string_buffer(size)
                if self._call("H5Aread", _Id(attribute), _Id(kind), buffer) >= 0:
                    self._call("H5Treclaim", _Id(kind), _Id(space), _Id(_DEFAULT), buffer)

        self._with_type_and_space("H5A", attribute, read)

    def _read_dataset(self, dataset: int) -> None:
        """Nothing of a virtual dataset: even asking for its shape may open other files."""
        self._allow_time()
        chunk = self._chunk(dataset)
        if chunk is None:
            return

        def read(kind: int, space: int) -> None:
            shape = (ctypes.c_uint64 * _MAX_AXES)()
            axes = self._call("H5Sget_simple_extent_dims", _Id(space), shape, None)
            count = 1
            for length, edge in zip(shape[: max(0, axes)], chunk, strict=False):
                count *= -(-length // max(1, edge))
            if chunk and count <= MAX_CHUNKS:
                self._count_chunks(dataset)
            self._read_texts(dataset, kind, space, chunk)

        self._with_type_and_space("H5D", dataset, read)

    def _chunk(self, dataset: int) -> "list[int] | None":
        """The shape of a chunk, empty without chunks; None for voxels in other files."""
        plan = self._call("H5Dget_create_plist", _Id(dataset))
        if plan < 0:
            return None
        layout = self._call("H5Pget_layout", _Id(plan))
        edges = (ctypes.c_uint64 * _MAX_AXES)()
        axes = self._call("H5Pget_chunk", _Id(plan), _MAX_AXES, edges) if layout == _CHUNKED else 0
        is_elsewhere = layout == _VIRTUAL or self._call("H5Pget_external_count", _Id(plan)) > 0
        self._call("H5Idec_ref", _Id(plan))
        return None if is_elsewhere else edges[: max(0, axes)]

    def _count_chunks(self, dataset: int) -> None:
        self._call("H5Dget_num_chunks", _Id(dataset), _Id(_ALL), ctypes.byref(ctypes.c_uint64()))

    def _read_texts(self, dataset: int, kind: int, space: int, chunk: list[int]) -> None:
        """The values of a small dataset of variable length, which are in heaps."""
        is_variable = self._call("H5Tdetect_class", _Id(kind), _VARIABLE) > 0
        if not is_variable and self._call("H5Tis_variable_str", _Id(kind)) <= 0:
            return
        chunk_bytes = self._call("H5Tget_size", _Id(kind))
        for edge in chunk:
            chunk_bytes *= edge
        count = self._call("H5Sget_simple_extent_npoints", _Id(space))
        if 0 < count <= _MAX_TEXTS and chunk_bytes <= _MAX_TEXT_CHUNK:
            buffer = ctypes.create_string_buffer(count * self._call("H5Tget_size", _Id(kind)))
            everything = (_Id(_ALL), _Id(_ALL), _Id(_DEFAULT))
            if self._call("H5Dread", _Id(dataset), _Id(kind), *everything, buffer) >= 0:
                self._call("H5Treclaim", _Id(kind), _Id(space), _Id(_DEFAULT), buffer)

    def _with_type_and_space(self, prefix: str, found: int, use: Callable[[int, int], None]) -> None:
        self._with(
            f"{prefix}get_type",
            (_Id(found),),
            lambda kind: self._with(f"{prefix}get_space", (_Id(found),), lambda space: use(kind, space)),
        )

    def _with(self, opening: str, arguments: tuple[Any, ...], use: Callable[[int], object]) -> None:
        """Use what a call opens, where it opens anything, and close it."""
        self._allow_time()
        opened = self._call(opening, *arguments)
        if opened >= 0:
            use(opened)
            self._call("H5Idec_ref", _Id(opened))

    def _call(self, name: str, *arguments: Any) -> int:
        return int(getattr(self._library, name)(*arguments))

    def _allow_time(self) -> None:
        """From now on, so much processor time until the kernel stops this process."""
        limit = int(time.process_time()) + 1 + self._object_s
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
