"""N5: datasets and multiscale groups, local or on S3.

Here: finding the volume in a container (dataset, multiscale group, or the only one of either); N5's own metadata;
writing groups s0, s1, ... that n5-viewer recognises.
Not here: chunks (chunks, tensorstore_backend), where the spacing is kept (n5_spacing).

N5 names axes fastest first (x, y, z) in all its metadata and keys. Everything that leaves this module is (z, y, x).
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from pellucid.box import Shape
from pellucid.errors import (
    Corrupted,
    DatasetAmbiguous,
    DatasetMissing,
    Incomplete,
    InvalidInput,
    NotFound,
    UnknownCodec,
)
from pellucid.formats.axis_guess import refuse_empty_axes
from pellucid.formats.chunked.axes import Index, unnamed_axes
from pellucid.formats.chunked.chunk_codec import BLOSC_LEVEL, GZIP_LEVEL, ZSTD_LEVEL, ChunkCodec
from pellucid.formats.chunked.chunks import ChunkForm, FileChunks
from pellucid.formats.chunked.levels import (
    LevelReader,
    LevelWriter,
    StoredArray,
    StoredLevel,
    checked_codec,
    checked_dtype,
    level_chunk,
)
from pellucid.formats.chunked.n5_spacing import compose_spacing, parse_spacings
from pellucid.formats.chunked.store import Json, LocalStore, Store, open_store, read_json, write_json
from pellucid.formats.limits import refuse_shards
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Reader, Writer

VERSION = "2.5.1"
TYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64")

_ATTRIBUTES = "attributes.json"
_BEGUN = "pellucidBegun"
_TENSORSTORE_ONLY = ("bzip2", "xz")
_DEPTH = 6


def open_reader(location: Location) -> Reader:
    """Open a dataset, a multiscale group, or a container with one volume in it."""
    store = open_store(location)
    attributes = read_json(store, _ATTRIBUTES)
    if attributes is None and not _is_inside_container(location):
        return _refuse_missing(store)
    if attributes and _BEGUN in attributes:
        raise Incomplete(store.name)
    levels = _levels(store, attributes or {})
    if levels:
        return _open_levels(store, attributes or {}, levels)
    found = list(_volumes(store, ""))
    if len(found) != 1:
        return _refuse_choice(location, attributes, [path for path, _ in found])
    return open_reader(Location(location.path, f"{location.dataset.rstrip('/')}{found[0][0]}"))


def _refuse_missing(store: Store) -> Reader:
    if store.read(f"s0/{_ATTRIBUTES}") is not None:
        raise Incomplete(store.name)
    raise NotFound(store.name)


def _refuse_choice(location: Location, attributes: Json | None, found: list[str]) -> Reader:
    if location.dataset and attributes is None and not found:
        root = open_store(location, dataset=False)
        raise DatasetMissing(location.path, location.dataset, [path for path, _ in _volumes(root, "")])
    raise DatasetAmbiguous(location.path, [f"{location.dataset.rstrip('/')}{path}" for path in found])


def _is_inside_container(location: Location) -> bool:
    """Whether a folder without attributes is a group: N5 writes a version only at the container's top."""
    folder = location.absolute.path.rstrip("/")
    for _ in range(_DEPTH + 1):
        if "n5" in (read_json(open_store(Location(folder)), _ATTRIBUTES) or {}):
            return True
        folder = folder.rpartition("/")[0]
        if not folder or folder.endswith(":/"):
            break
    return False


def _levels(store: Store, attributes: Json) -> list[Store]:
    """The datasets that are one volume at its resolutions: this one, or s0, s1, ... below."""
    if "dimensions" in attributes:
        return [store]
    levels: list[Store] = []
    while store.read(f"s{len(levels)}/{_ATTRIBUTES}") is not None:
        levels.append(store.child(f"s{len(levels)}"))
    return levels


def _volumes(group: Store, path: str, depth: int = _DEPTH) -> Iterator[tuple[str, Store]]:
    """Datasets of three to five axes and multiscale groups below a group, with their paths."""
    for name in group.children() if depth else ():
        store, inner = group.child(name), f"{path}/{name}"
        attributes = read_json(store, _ATTRIBUTES) or {}
        if "dimensions" in attributes:
            if 3 <= len(attributes["dimensions"]) <= 5:
                yield inner, store
        elif _levels(store, attributes):
            yield inner, store
        else:
            yield from _volumes(store, inner, depth - 1)


def _open_levels(store: Store, attributes: Json, stores: Sequence[Store]) -> LevelReader:
    documents = [_document(level) for level in stores]
    levels = [_stored_level(level, document) for level, document in zip(stores, documents, strict=True)]
    shapes = [level.axes.spatial(level.array.shape) for level in levels]
    spacings, unit = parse_spacings(store.name, attributes, documents, shapes)
    return LevelReader(store.name, levels, spacings, unit)


def _document(store: Store) -> Json:
    document = read_json(store, _ATTRIBUTES)
    if document is None or not {"dimensions", "blockSize", "dataType"} <= document.keys():
        raise Corrupted(f"{store.name}/{_ATTRIBUTES}", "dimensions, blockSize or dataType is missing")
    return document


def _stored_level(store: Store, document: Json) -> StoredLevel:
    shape, chunk = _reversed(document["dimensions"]), _reversed(document["blockSize"])
    refuse_empty_axes(store.name, shape)
    dtype = checked_dtype("N5", np.dtype(document["dataType"]), TYPES)
    codec, name = _codec(store.name, document)
    return StoredLevel(_open_array(store, document, codec), unnamed_axes(store.name, shape), chunk, dtype, name)


def open_dataset(store: Store, document: Json) -> StoredArray:
    """An array of any number of axes."""
    return _open_array(store, document, _codec(store.name, document)[0])


def _open_array(store: Store, document: Json, codec: ChunkCodec | None) -> StoredArray:
    """The fastest way to a dataset's blocks: our own for local files, tensorstore for the rest."""
    through_tensorstore = partial(_open_tensor, store)
    if not isinstance(store, LocalStore) or codec is None:
        return through_tensorstore()
    form = ChunkForm(
        shape=_reversed(document["dimensions"]),
        chunk=_reversed(document["blockSize"]),
        dtype=np.dtype(document["dataType"]).newbyteorder(">"),
        codec=codec,
        key=lambda cell: "/".join(map(str, cell[::-1])),
        is_framed=True,
    )
    return FileChunks(store.folder, form, through_tensorstore)


def _open_tensor(store: Store) -> StoredArray:
    from pellucid.formats.chunked import tensorstore_backend

    return tensorstore_backend.open_array(store, {"driver": "n5"}, is_reversed=True)


def _codec(name: str, document: Json) -> tuple[ChunkCodec | None, str]:
    """A dataset's codec and our name for it; no codec where only tensorstore has it."""
    # Containers older than N5 2 say compressionType.
    options: Any = document.get("compression", document.get("compressionType", "raw"))
    options = {"type": options} if isinstance(options, str) else options
    kind = options["type"]
    if kind == "raw":
        return ChunkCodec("none"), "none"
    if kind == "gzip":
        level = int(options.get("level", GZIP_LEVEL))
        return ChunkCodec("zlib" if options.get("useZlib") else "gzip", GZIP_LEVEL if level < 0 else level), kind
    if kind == "zstd":
        return ChunkCodec(kind, int(options.get("level", ZSTD_LEVEL))), kind
    if kind == "blosc":
        itemsize = np.dtype(document["dataType"]).itemsize
        level, shuffle = int(options.get("clevel", BLOSC_LEVEL)), int(options.get("shuffle", 1))
        return ChunkCodec(kind, level, options.get("cname", "lz4"), shuffle, itemsize), kind
    if kind in _TENSORSTORE_ONLY:
        return None, kind
    raise UnknownCodec(name, kind, ("raw", "gzip", "zstd", "blosc", *_TENSORSTORE_ONLY))


def _reversed(numbers: Sequence[Any]) -> Index:
    return tuple(int(n) for n in reversed(numbers))


def open_writer(location: Location, layout: Layout, *, resume: bool = False) -> Writer:
    """Create the datasets of all levels, or attach to those that are there; ``finish`` makes them a volume."""
    store = open_store(location)
    codec = checked_codec(location.path, layout)
    checked_dtype("N5", layout.dtype, TYPES)
    refuse_shards("N5", location, layout)
    if not resume:
        _clear(store)
    if store.read(_ATTRIBUTES) is None:
        write_json(store, _ATTRIBUTES, {_BEGUN: True})
    chunks = [level_chunk(level) for level in layout.levels]
    documents = [_compose(layout, level, codec=codec, chunk=chunk) for level, chunk in enumerate(chunks)]
    arrays = [_level_array(store.child(f"s{level}"), document) for level, document in enumerate(documents)]
    return LevelWriter(arrays, chunks, partial(_finish, location, layout))


def _compose(layout: Layout, level: int, *, codec: str, chunk: Shape) -> Json:
    return {
        "dimensions": list(layout.levels[level].shape[::-1]),
        "blockSize": list(chunk[::-1]),
        "dataType": np.dtype(layout.dtype).newbyteorder("=").name,
        "compression": compression_of(codec),
        **compose_spacing(layout, level),
    }


def compression_of(codec: str) -> Json:
    if codec == "none":
        return {"type": "raw"}
    if codec == "gzip":
        return {"type": "gzip", "level": GZIP_LEVEL, "useZlib": False}
    if codec == "zstd":
        return {"type": "zstd", "level": ZSTD_LEVEL}
    inner = "lz4" if codec == "lz4" else "zstd"
    return {"type": "blosc", "cname": inner, "clevel": BLOSC_LEVEL, "shuffle": 1, "blocksize": 0}


def _level_array(store: Store, document: Json) -> StoredArray:
    present = read_json(store, _ATTRIBUTES)
    if present is None:
        write_json(store, _ATTRIBUTES, document)
    elif present != document:
        raise InvalidInput(
            f"{store.name} was started with another shape, type, chunk or codec.",
            remedy="Use the same options as the first time, or start over with --overwrite.",
        )
    return open_dataset(store, document)


def _clear(store: Store) -> None:
    """Remove an earlier output: only what a group of levels consists of, nothing else in the folder."""
    store.remove(_ATTRIBUTES)
    level = 0
    while store.read(f"s{level}/{_ATTRIBUTES}") is not None:
        store.remove(f"s{level}")
        level += 1


def _finish(location: Location, layout: Layout) -> None:
    store = open_store(location)
    group: Json = {"multiScale": True, **compose_spacing(layout)}
    if not location.dataset.strip("/"):
        write_json(store, _ATTRIBUTES, {"n5": VERSION, **group})
        return
    write_json(store, _ATTRIBUTES, group)
    root = open_store(location, dataset=False)
    attributes = read_json(root, _ATTRIBUTES) or {}
    if "n5" not in attributes:
        write_json(root, _ATTRIBUTES, {"n5": VERSION, **attributes})
