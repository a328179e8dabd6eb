"""Zarr v2 and v3, with or without OME-Zarr multiscales, local or on S3.

Here: finding the volume in a store (array, multiscale group, or the only array in a group); writing OME-Zarr.
Not here: documents of arrays (zarr_metadata) and of multiscales (ome), chunks (chunks, shards, tensorstore_backend).

``x.zarr`` is written as sharded Zarr v3 with OME-Zarr 0.5, ``x.zarr2`` as Zarr v2 with OME-Zarr 0.4.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePosixPath

from pellucid.box import Shape
from pellucid.errors import Corrupted, DatasetAmbiguous, DatasetMissing, Incomplete, InvalidInput, NotFound
from pellucid.formats.chunked.axes import Axes, named_axes, unnamed_axes
from pellucid.formats.chunked.chunks import ChunkForm, FileChunks
from pellucid.formats.chunked.levels import (
    LevelReader,
    LevelWriter,
    StoredArray,
    StoredLevel,
    checked_codec,
    checked_dtype,
    level_chunk,
    level_shard,
)
from pellucid.formats.chunked.ome import Multiscale, compose_multiscale, parse_multiscale, parse_orientation
from pellucid.formats.chunked.remote_shards import RemoteShards
from pellucid.formats.chunked.shards import ShardedChunks, ShardLayout
from pellucid.formats.chunked.store import Json, LocalStore, Store, inner_path, open_store, read_json, write_json
from pellucid.formats.chunked.zarr_metadata import ArrayMetadata, compose_v2, compose_v3, parse_array
from pellucid.formats.limits import refuse_shards
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level, Reader, Writer

_GROUP_FILES = ("zarr.json", ".zgroup", ".zattrs", ".zarray", ".zmetadata")
_DEPTH = 6


@dataclass(frozen=True)
class ZarrNode:
    """An array or a group of a Zarr hierarchy."""

    store: Store
    version: int
    is_array: bool
    document: Json = field(default_factory=dict)
    attributes: Json = field(default_factory=dict)


def open_reader(location: Location) -> Reader:
    """Open an array, a multiscale group, or a group with one volume in it."""
    node = read_node(open_store(location))
    return _open_node(location, node) if node else _refuse_missing(location)


def _open_node(location: Location, node: ZarrNode) -> Reader:
    if node.is_array:
        return _open_array(node)
    multiscale = parse_multiscale(node.store.name, node.attributes)
    if multiscale:
        return _open_multiscale(node, multiscale)
    found = list(_volumes(node, ""))
    if len(found) != 1:
        raise DatasetAmbiguous(location.path, [f"{location.dataset}{path}" for path, _ in found])
    return _open_node(location, found[0][1])


def _refuse_missing(location: Location) -> Reader:
    store = open_store(location)
    if any(store.read(f"0/{name}") for name in ("zarr.json", ".zarray")):
        raise Incomplete(store.name)
    root = read_node(open_store(location, dataset=False)) if location.dataset else None
    if root:
        raise DatasetMissing(location.path, location.dataset, [path for path, _ in _volumes(root, "")])
    raise NotFound(store.name)


def read_node(store: Store) -> ZarrNode | None:
    """What is at a store's top; None where it is no node of Zarr."""
    document = read_json(store, "zarr.json")
    if document is not None:
        return ZarrNode(store, 3, document.get("node_type") == "array", document, document.get("attributes") or {})
    attributes = read_json(store, ".zattrs")
    document = read_json(store, ".zarray")
    if document is not None:
        return ZarrNode(store, 2, True, document, attributes or {})
    group = read_json(store, ".zgroup")
    return None if group is None and attributes is None else ZarrNode(store, 2, False, group or {}, attributes or {})


def _volumes(group: ZarrNode, path: str, depth: int = _DEPTH) -> Iterator[tuple[str, ZarrNode]]:
    """Arrays of three to five axes and multiscale groups below a group, with their paths."""
    for name in group.store.children() if depth else ():
        node = read_node(group.store.child(name))
        if node is None:
            continue
        inner = f"{path}/{name}"
        is_volume = 3 <= len(node.document.get("shape", ())) <= 5 if node.is_array else _is_multiscale(node)
        if is_volume:
            yield inner, node
        elif not node.is_array:
            yield from _volumes(node, inner, depth - 1)


def _is_multiscale(node: ZarrNode) -> bool:
    return parse_multiscale(node.store.name, node.attributes) is not None


def _open_array(node: ZarrNode) -> LevelReader:
    metadata = parse_array(node.store.name, node.document, node.version)
    name, shape = node.store.name, metadata.shape
    axes = named_axes(name, metadata.names, shape) if metadata.names else unnamed_axes(name, shape)
    return LevelReader(name, [_stored_level(node.store, metadata, axes)], [(1.0, 1.0, 1.0)], "")


def _open_multiscale(group: ZarrNode, multiscale: Multiscale) -> LevelReader:
    levels = [_multiscale_level(group, multiscale, path) for path in multiscale.paths]
    spacings = [multiscale.spacing(level) for level in range(len(levels))]
    orientation = parse_orientation(group.attributes, multiscale)
    return LevelReader(group.store.name, levels, spacings, multiscale.unit, orientation)


def _multiscale_level(group: ZarrNode, multiscale: Multiscale, path: str) -> StoredLevel:
    node = read_node(group.store.child(inner_path(group.store.name, path)))
    if node is None or not node.is_array:
        raise Corrupted(group.store.name, f"its metadata lists the level {path!r}, but that array does not exist")
    metadata = parse_array(node.store.name, node.document, node.version)
    return _stored_level(node.store, metadata, named_axes(node.store.name, multiscale.axes, metadata.shape))


def _stored_level(store: Store, metadata: ArrayMetadata, axes: Axes) -> StoredLevel:
    dtype = checked_dtype(store.name, metadata.dtype)
    return StoredLevel(open_array(store, metadata), axes, metadata.chunk, dtype, metadata.codec_name)


def open_array(store: Store, metadata: ArrayMetadata) -> StoredArray:
    """The fastest way to an array's chunks: our own for local files, tensorstore for the rest."""
    through_tensorstore = partial(_open_tensor, store, metadata.version)
    if metadata.codec is None:
        return through_tensorstore()
    form = ChunkForm(metadata.shape, metadata.chunk, metadata.dtype, metadata.codec, metadata.key, metadata.fill)
    if not isinstance(store, LocalStore):
        layout = metadata.shard and ShardLayout(metadata.shard, metadata.chunk, metadata.is_index_at_end)
        return RemoteShards(store, form, layout, through_tensorstore()) if layout else through_tensorstore()
    if metadata.shard is None:
        return FileChunks(store.folder, form, through_tensorstore)
    return ShardedChunks(store.folder, form, metadata.shard, through_tensorstore, at_end=metadata.is_index_at_end)


def _open_tensor(store: Store, version: int) -> StoredArray:
    from pellucid.formats.chunked import tensorstore_backend

    return tensorstore_backend.open_array(store, {"driver": "zarr3" if version == 3 else "zarr"})


def open_writer(location: Location, layout: Layout, *, resume: bool = False) -> Writer:
    """Create the arrays of all levels, or attach to those that are there; ``finish`` makes them a volume."""
    store = open_store(location)
    version = 2 if location.path.rstrip("/").lower().endswith(".zarr2") else 3
    documents, grains = _plan(location, layout, version)
    if not resume:
        _clear(store)
    arrays = [_level_array(store.child(str(level)), document, version) for level, document in enumerate(documents)]
    return LevelWriter(arrays, grains, partial(_finish, location, layout, version))


def _plan(location: Location, layout: Layout, version: int) -> tuple[list[Json], list[Shape]]:
    """The documents of all levels; whatever cannot be written is refused here, before anything is."""
    codec = checked_codec(location.path, layout)
    checked_dtype("Zarr", layout.dtype)
    if version == 2:
        refuse_shards("Zarr v2", location, layout)
    planned = [_plan_level(level, layout, version, codec=codec) for level in layout.levels]
    return [document for document, _ in planned], [output_chunk for _, output_chunk in planned]


def _plan_level(level: Level, layout: Layout, version: int, *, codec: str) -> tuple[Json, Shape]:
    chunk = level_chunk(level)
    if version == 2:
        return compose_v2(level.shape, chunk, layout.dtype, codec), chunk
    shard = level_shard(level, layout)
    return compose_v3(level.shape, chunk, shard, layout.dtype, codec), shard


def _level_array(store: Store, document: Json, version: int) -> StoredArray:
    key = "zarr.json" if version == 3 else ".zarray"
    present = read_json(store, key)
    if present is None:
        write_json(store, key, document)
    elif present != document:
        raise InvalidInput(
            f"{store.name} was started with another shape, type, chunk or codec.",
            remedy="Use the same options as the first time, or start over with --overwrite.",
        )
    return open_array(store, parse_array(store.name, document, version))


def _clear(store: Store) -> None:
    """Remove an earlier output: only what a Zarr group of levels consists of, nothing else in the folder."""
    for name in _GROUP_FILES:
        store.remove(name)
    level = 0
    while any(store.read(f"{level}/{name}") is not None for name in ("zarr.json", ".zarray")):
        store.remove(str(level))
        level += 1


def _finish(location: Location, layout: Layout, version: int) -> None:
    """Write the group's metadata, and that of the groups above it in the same container."""
    store = open_store(location)
    name = PurePosixPath(location.dataset or location.path.rstrip("/")).name
    if version == 3:
        attributes = compose_multiscale(name, layout, "0.5")
        write_json(store, "zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": attributes})
    else:
        write_json(store, ".zattrs", compose_multiscale(name, layout, "0.4"))
        write_json(store, ".zgroup", {"zarr_format": 2})
    _finish_parents(location, version)


def _finish_parents(location: Location, version: int) -> None:
    parts = [part for part in location.dataset.split("/") if part]
    root = open_store(location, dataset=False)
    for depth in range(len(parts)):
        store = root.child("/".join(parts[:depth])) if depth else root
        if read_node(store) is not None:
            continue
        if version == 3:
            write_json(store, "zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {}})
        else:
            write_json(store, ".zgroup", {"zarr_format": 2})
