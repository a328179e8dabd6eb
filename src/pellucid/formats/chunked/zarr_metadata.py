"""What .zarray and zarr.json say of an array, and how to say it.

Here: ArrayMetadata from Zarr v2 and v3 documents, and documents for arrays that we write.
Not here: groups and multiscales (zarr, ome), chunks themselves (chunks, shards).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.box import Shape
from pellucid.errors import Corrupted, UnknownCodec, UnsupportedType
from pellucid.formats.chunked.axes import Index
from pellucid.formats.chunked.chunk_codec import BLOSC_LEVEL, GZIP_LEVEL, ZSTD_LEVEL, ChunkCodec
from pellucid.formats.chunked.levels import checked_dtype
from pellucid.formats.chunked.store import Json
from pellucid.formats.protocol import VOXEL_TYPES

_SHUFFLES = ("noshuffle", "shuffle", "bitshuffle")
_TENSORSTORE_ONLY_V2 = ("bz2",)
_TENSORSTORE_ONLY_V3 = ("transpose", "crc32c")


@dataclass(frozen=True)
class ArrayMetadata:
    """An array's form. Axes as stored; dtype with its byte order.

    codec: None where only tensorstore can decode it. shard: None where every chunk is an object.
    names: of the axes, where the metadata has them.
    """

    version: int
    shape: Index
    chunk: Index
    dtype: np.dtype[Any]
    key: Callable[[Index], str]
    codec: ChunkCodec | None
    codec_name: str
    fill: float = 0
    shard: Index | None = None
    is_index_at_end: bool = True
    names: tuple[str | None, ...] | None = None


def parse_array(name: str, document: Json, version: int) -> ArrayMetadata:
    """Metadata of a Zarr array; refuses codecs that nothing here can decode."""
    try:
        return _parse_v3(name, document) if version == 3 else _parse_v2(name, document)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise Corrupted(name, f"its metadata is not valid Zarr ({error!r})") from error


def _parse_v2(name: str, document: Json) -> ArrayMetadata:
    dtype = _dtype(name, document["dtype"])
    codec, codec_name = _codec_v2(name, document, dtype)
    separator = _separator(document.get("dimension_separator", "."))
    return ArrayMetadata(
        version=2,
        shape=tuple(map(int, document["shape"])),
        chunk=tuple(map(int, document["chunks"])),
        dtype=dtype,
        key=lambda cell: separator.join(map(str, cell)),
        codec=codec if document.get("order", "C") == "C" else None,
        codec_name=codec_name,
        fill=_fill(document.get("fill_value")),
    )


def _codec_v2(name: str, document: Json, dtype: np.dtype[Any]) -> tuple[ChunkCodec | None, str]:
    for unknown in document.get("filters") or ():
        raise UnknownCodec(name, unknown["id"])
    compressor = document["compressor"]
    if compressor is None:
        return ChunkCodec("none"), "none"
    kind = compressor["id"]
    if kind in ("gzip", "zlib", "zstd", "lz4"):
        return ChunkCodec(kind, int(compressor.get("level", 1))), "gzip" if kind == "zlib" else kind
    if kind == "blosc":
        shuffle = int(compressor.get("shuffle", 1))
        shuffle = (2 if dtype.itemsize == 1 else 1) if shuffle < 0 else shuffle
        level = int(compressor.get("clevel", BLOSC_LEVEL))
        return ChunkCodec(kind, level, compressor.get("cname", "lz4"), shuffle, dtype.itemsize), kind
    if kind in _TENSORSTORE_ONLY_V2:
        return None, kind
    raise UnknownCodec(name, kind)


def _parse_v3(name: str, document: Json) -> ArrayMetadata:
    dtype = _dtype(name, document["data_type"])
    outer = tuple(map(int, document["chunk_grid"]["configuration"]["chunk_shape"]))
    codecs, shard, at_end = document["codecs"], None, True
    is_plain_index = True
    if codecs and codecs[0]["name"] == "sharding_indexed":
        shard, sharding = outer, codecs[0]["configuration"]
        outer, at_end = tuple(map(int, sharding["chunk_shape"])), sharding.get("index_location", "end") == "end"
        is_plain_index = [codec["name"] for codec in sharding["index_codecs"]] == ["bytes", "crc32c"]
        is_plain_index &= len(codecs) == 1
        codecs = sharding["codecs"]
    codec, codec_name, is_big = _codec_v3(name, codecs, dtype)
    return ArrayMetadata(
        version=3,
        shape=tuple(map(int, document["shape"])),
        chunk=outer,
        dtype=np.dtype(dtype.newbyteorder(">" if is_big else "<")),
        key=_key_v3(document["chunk_key_encoding"]),
        codec=codec if is_plain_index else None,
        codec_name=codec_name,
        fill=_fill(document.get("fill_value")),
        shard=shard,
        is_index_at_end=at_end,
        names=tuple(document["dimension_names"]) if document.get("dimension_names") else None,
    )


def _codec_v3(name: str, codecs: Sequence[Json], dtype: np.dtype[Any]) -> tuple[ChunkCodec | None, str, bool]:
    """The codec of a chunk, its name, whether its bytes are big end first; rare pipelines are left to tensorstore."""
    codec, codec_name, is_big, is_common = ChunkCodec("none"), "none", False, True
    for step in codecs:
        kind, options = step["name"], step.get("configuration") or {}
        if kind == "bytes":
            is_big = options.get("endian") == "big"
        elif kind in ("gzip", "zstd"):
            codec, codec_name = ChunkCodec(kind, int(options.get("level", 1))), kind
        elif kind == "blosc":
            codec_name = kind
            shuffle, itemsize = _SHUFFLES.index(options["shuffle"]), int(options.get("typesize", dtype.itemsize))
            codec = ChunkCodec(kind, int(options["clevel"]), options["cname"], shuffle, itemsize)
        elif kind in _TENSORSTORE_ONLY_V3:
            is_common = False
        else:
            raise UnknownCodec(name, kind)
    is_common &= [step["name"] for step in codecs[:1]] == ["bytes"] and len(codecs) <= 2
    return codec if is_common else None, codec_name, is_big


def _key_v3(encoding: Json) -> Callable[[Index], str]:
    options = encoding.get("configuration") or {}
    if encoding["name"] == "v2":
        separator = _separator(options.get("separator", "."))
        return lambda cell: separator.join(map(str, cell))
    between = _separator(options.get("separator", "/"))
    return lambda cell: between.join(("c", *map(str, cell)))


def _separator(text: Any) -> str:
    if text not in (".", "/"):
        raise ValueError(f"the separator {text!r}")
    return str(text)


def _dtype(name: str, text: Any) -> np.dtype[Any]:
    try:
        dtype: np.dtype[Any] = np.dtype(text)
    except TypeError:
        raise UnsupportedType(f"A volume ({name})", text, VOXEL_TYPES) from None
    checked_dtype(f"A volume ({name})", dtype)
    return dtype


def _fill(stored: Any) -> float:
    """What a missing chunk reads as."""
    return stored if isinstance(stored, int) else float(stored or 0)


def compose_v2(shape: Shape, chunk: Shape, dtype: np.dtype[Any], codec: str) -> Json:
    """A .zarray document."""
    compressors: dict[str, Json | None] = {
        "none": None,
        "gzip": {"id": "gzip", "level": GZIP_LEVEL},
        "zstd": {"id": "zstd", "level": ZSTD_LEVEL},
        "lz4": {"id": "blosc", "cname": "lz4", "clevel": BLOSC_LEVEL, "shuffle": 1, "blocksize": 0},
        "blosc": {"id": "blosc", "cname": "zstd", "clevel": BLOSC_LEVEL, "shuffle": 1, "blocksize": 0},
    }
    return {
        "zarr_format": 2,
        "shape": list(shape),
        "chunks": list(chunk),
        "dtype": np.dtype(dtype).newbyteorder("<").str,
        "compressor": compressors[codec],
        "fill_value": 0,
        "order": "C",
        "filters": None,
        "dimension_separator": "/",
    }


def compose_v3(shape: Shape, chunk: Shape, shard: Shape, dtype: np.dtype[Any], codec: str) -> Json:
    """A zarr.json document of a sharded array with axes (z, y, x)."""
    sharding = {
        "chunk_shape": list(chunk),
        "codecs": [_bytes_v3(), *_compressor_v3(codec, dtype.itemsize)],
        "index_codecs": [_bytes_v3(), {"name": "crc32c"}],
        "index_location": "end",
    }
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": np.dtype(dtype).newbyteorder("=").name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(shard)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0 if dtype.kind in "iu" else 0.0,
        "codecs": [{"name": "sharding_indexed", "configuration": sharding}],
        "dimension_names": ["z", "y", "x"],
        "attributes": {},
    }


def _bytes_v3() -> Json:
    return {"name": "bytes", "configuration": {"endian": "little"}}


def _compressor_v3(codec: str, itemsize: int) -> list[Json]:
    if codec == "none":
        return []
    if codec == "gzip":
        return [{"name": "gzip", "configuration": {"level": GZIP_LEVEL}}]
    if codec == "zstd":
        return [{"name": "zstd", "configuration": {"level": ZSTD_LEVEL, "checksum": False}}]
    blosc = {"cname": "lz4" if codec == "lz4" else "zstd", "clevel": BLOSC_LEVEL, "shuffle": "shuffle"}
    return [{"name": "blosc", "configuration": {**blosc, "typesize": itemsize, "blocksize": 0}}]
