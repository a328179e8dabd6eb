"""HDF5 filter pipelines, run outside the HDF5 library so that threads and processes can decode side by side.

Here: Pipeline, which turns one stored chunk into voxel bytes and back.
Not here: where chunks lie in a file (chunks), which thread or process decodes which (hdf5, parallel).

Every step releases the interpreter lock. A pipeline with a filter that is not in this table is read by the HDF5 library
itself, with the plugins of hdf5plugin, under its global lock.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import imagecodecs as _imagecodecs
import numpy as np

from pellucid.errors import UnknownCodec

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

imagecodecs: Any = _imagecodecs  # its own annotations leave out the arrays that it takes

DEFLATE, SHUFFLE, FLETCHER32 = 1, 2, 3
LZF, BLOSC, LZ4, BITSHUFFLE, ZSTD = 32000, 32001, 32004, 32008, 32015

FILTER_NAMES = {
    DEFLATE: "gzip", SHUFFLE: "shuffle", FLETCHER32: "fletcher32", 4: "szip", 5: "nbit", 6: "scaleoffset",
    LZF: "lzf", BLOSC: "blosc", LZ4: "lz4", BITSHUFFLE: "bitshuffle", 32013: "zfp", ZSTD: "zstd", 32026: "blosc2",
}  # fmt: skip
WRITTEN_CODECS = ("none", "gzip", "zstd", "lz4", "blosc")
GZIP_LEVEL = 1  # levels 2 to 4 save about one percent of a noisy scan and take up to twice as long
ZSTD_LEVEL = 3
BLOSC_LEVEL = 5
_SHUFFLE_BLOCK = 64 * 1024


class _ThreadScratch(threading.local):
    """Buffers of one thread, used again for every chunk: fresh pages would cost more than decoding into them."""

    def __init__(self) -> None:
        self.buffers: dict[str, Bytes] = {}


_OF_THREAD = _ThreadScratch()


def scratch(purpose: str, size: int) -> Bytes:
    """This thread's buffer for a purpose. What is in it lasts until the thread asks for it again."""
    buffer = _OF_THREAD.buffers.get(purpose)
    if buffer is None or buffer.size < size:
        buffer = _OF_THREAD.buffers[purpose] = np.empty(size, np.uint8)
    return buffer[:size]


class ChecksumMismatch(ValueError):
    """The bytes of a chunk are not those that were written."""


@dataclass(frozen=True)
class Filter:
    """One step of a pipeline as the file declares it: registered number, parameters, and the name it was given."""

    number: int
    values: tuple[int, ...] = ()
    name: str = ""

    @property
    def title(self) -> str:
        return FILTER_NAMES.get(self.number, self.name or "unnamed")


@dataclass(frozen=True)
class Pipeline:
    """The filters of a dataset, in the order in which they were applied, and the size of a decoded chunk."""

    filters: tuple[Filter, ...]
    chunk_bytes: int
    itemsize: int

    @property
    def is_plain(self) -> bool:
        return not self.filters

    @property
    def is_known(self) -> bool:
        return all(_is_known(step) for step in self.filters)

    @property
    def title(self) -> str:
        """The codec's name, as in Header.codec."""
        names = [step.title for step in self.filters if step.number not in (SHUFFLE, FLETCHER32)]
        return "+".join(names) or "none"

    def decode(self, stored: Bytes, mask: int = 0) -> Bytes:
        """Voxel bytes of one chunk, to be used before this thread decodes the next.

        A set bit in ``mask`` says that this filter was left out for this chunk.
        """
        stream = stored
        for position in reversed(range(len(self.filters))):
            if not mask >> position & 1:
                stream = _DECODERS[self.filters[position].number](stream, self.filters[position], self)
        if stream.size != self.chunk_bytes:
            raise ValueError(f"a chunk has {stream.size} bytes, expected {self.chunk_bytes}")
        return stream

    def encode(self, voxels: Bytes) -> bytes | Bytes:
        """What to store for one chunk."""
        stream: Any = voxels
        for step in self.filters:
            stream = _ENCODERS[step.number](stream, step, self)
        return stream  # type: ignore[no-any-return]


def pipeline_for_writing(path: str, codec: str, chunk_bytes: int, itemsize: int) -> Pipeline:
    """The filters that a codec's name stands for in files written here."""
    if codec not in WRITTEN_CODECS:
        raise UnknownCodec(path, codec, WRITTEN_CODECS)
    shuffle = (Filter(SHUFFLE, (itemsize,)),) if itemsize > 1 else ()
    filters = {
        "none": (),
        "gzip": (*shuffle, Filter(DEFLATE, (GZIP_LEVEL,))),
        "zstd": (*shuffle, Filter(ZSTD, (ZSTD_LEVEL,))),
        "lz4": (*shuffle, Filter(LZ4, (0,))),
        "blosc": (Filter(BLOSC, (2, 2, itemsize, chunk_bytes, BLOSC_LEVEL, 1, 1)),),
    }
    return Pipeline(filters[codec], chunk_bytes, itemsize)


def _is_known(step: Filter) -> bool:
    if step.number == BITSHUFFLE:  # the fifth value asks for LZ4 or Zstandard inside, in a framing of its own
        return len(step.values) < 5 or step.values[4] == 0
    return step.number in _DECODERS


def _inflate(stream: Bytes, step: Filter, pipeline: Pipeline) -> Bytes:
    return _into(imagecodecs.deflate_decode, stream, pipeline)


def _unzstd(stream: Bytes, step: Filter, pipeline: Pipeline) -> Bytes:
    return _into(imagecodecs.zstd_decode, stream, pipeline)


def _unlzf(stream: Bytes, step: Filter, pipeline: Pipeline) -> Bytes:
    return _into(imagecodecs.lzf_decode, stream, pipeline)


def _into(decode: Callable[..., Any], stream: Bytes, pipeline: Pipeline) -> Bytes:
    # Four bytes more than a chunk: a checksum that was appended before compression must fit too.
    out = scratch("decoded", pipeline.chunk_bytes + 4)
    return np.frombuffer(decode(stream, out=out), np.uint8)


def _unlz4(stream: Bytes, step: Filter, pipeline: Pipeline) -> Bytes:
    return np.frombuffer(imagecodecs.lz4h5_decode(stream), np.uint8)


def _unblosc(stream: Bytes, step: Filter, pipeline: Pipeline) -> Bytes:
    return np.frombuffer(imagecodecs.blosc_decode(stream, numthreads=1), np.uint8)


def _unbitshuffle(stream: Bytes, step: Filter, pipeline: Pipeline) -> Bytes:
    # As bytes: of an array it would take the item size from the array.
    block = step.values[3] if len(step.values) > 3 else 0
    unshuffled = imagecodecs.bitshuffle_decode(stream.tobytes(), itemsize=_itemsize(step, 2, pipeline), blocksize=block)
    return np.frombuffer(unshuffled, np.uint8)


def _check_fletcher32(stream: Bytes, step: Filter, pipeline: Pipeline) -> Bytes:
    body, stored = stream[:-4], int.from_bytes(stream[-4:].tobytes(), "little")
    if imagecodecs.h5checksum_fletcher32(body) != stored:
        raise ChecksumMismatch("the checksum of a chunk does not match its bytes")
    return body


def _add_fletcher32(stream: Any, step: Filter, pipeline: Pipeline) -> bytes:
    return bytes(stream) + int(imagecodecs.h5checksum_fletcher32(stream)).to_bytes(4, "little")


def _unshuffle(stream: Bytes, step: Filter, pipeline: Pipeline) -> Bytes:
    """Bytes of equal significance, stored together, back beside each other; an odd tail is stored as it was."""
    itemsize = _itemsize(step, 0, pipeline)
    count = stream.size // itemsize
    planes = [stream[i * count : (i + 1) * count] for i in range(itemsize)]
    out = scratch("unshuffled", stream.size)
    if itemsize in (2, 4, 8):
        joined = out[: count * itemsize].view(f"<u{itemsize}")
        for first in range(0, count, _SHUFFLE_BLOCK):
            block = slice(first, first + _SHUFFLE_BLOCK)
            _interleave([plane[block] for plane in planes], joined[block])
    else:
        for significance, plane in enumerate(planes):
            out[significance : count * itemsize : itemsize] = plane
    out[count * itemsize :] = stream[count * itemsize :]
    return out


def _interleave(planes: Sequence[np.ndarray[Any, Any]], out: np.ndarray[Any, Any]) -> None:
    """Join neighbours pairwise into integers twice as wide: SIMD shifts, several times faster than strided copies."""
    while len(planes) > 2:
        wider = np.dtype(f"<u{planes[0].itemsize * 2}")
        joined = [np.empty(out.size, wider) for _ in planes[::2]]
        for index, pair in enumerate(joined):
            _interleave(planes[2 * index : 2 * index + 2], pair)
        planes = joined
    low, high = planes
    out[...] = high
    np.left_shift(out, low.itemsize * 8, out=out)
    np.bitwise_or(out, low, out=out)


def _shuffle(stream: Any, step: Filter, pipeline: Pipeline) -> Bytes:
    flat = np.frombuffer(stream, np.uint8)
    itemsize = _itemsize(step, 0, pipeline)
    count = flat.size // itemsize
    out: Bytes = np.empty(flat.size, np.uint8)
    for significance in range(itemsize):
        out[significance * count : (significance + 1) * count] = flat[significance : count * itemsize : itemsize]
    out[count * itemsize :] = flat[count * itemsize :]
    return out


def _itemsize(step: Filter, position: int, pipeline: Pipeline) -> int:
    return step.values[position] if len(step.values) > position else pipeline.itemsize


def _deflate(stream: Any, step: Filter, pipeline: Pipeline) -> Any:
    return imagecodecs.deflate_encode(stream, level=step.values[0])


def _zstd(stream: Any, step: Filter, pipeline: Pipeline) -> Any:
    return imagecodecs.zstd_encode(stream, level=step.values[0])


def _lz4(stream: Any, step: Filter, pipeline: Pipeline) -> Any:
    return imagecodecs.lz4h5_encode(stream)


def _blosc(stream: Any, step: Filter, pipeline: Pipeline) -> Any:
    # As items, not bytes: it shuffles by the size of the array's items, whatever size it is given.
    items = np.frombuffer(stream, f"u{step.values[2]}")
    return imagecodecs.blosc_encode(items, level=step.values[4], compressor="lz4", shuffle=1, numthreads=1)


_DECODERS: dict[int, Callable[[Bytes, Filter, Pipeline], Bytes]] = {
    DEFLATE: _inflate, SHUFFLE: _unshuffle, FLETCHER32: _check_fletcher32, LZF: _unlzf, BLOSC: _unblosc,
    LZ4: _unlz4, BITSHUFFLE: _unbitshuffle, ZSTD: _unzstd,
}  # fmt: skip
_ENCODERS: dict[int, Callable[[Any, Filter, Pipeline], Any]] = {
    SHUFFLE: _shuffle, FLETCHER32: _add_fletcher32, DEFLATE: _deflate, ZSTD: _zstd, LZ4: _lz4, BLOSC: _blosc,
}  # fmt: skip


@cache
def prefer_plugins() -> None:
    """Take hdf5plugin's filters rather than any found by HDF5_PLUGIN_PATH.

    netCDF4 sets that variable to plugins built for its own copy of the library, whose Blosc then fails in ours.
    """
    import hdf5plugin

    with suppress(RuntimeError):  # A dataset is open that uses one: it works, then.
        hdf5plugin.register(("blosc", "zstd", "lz4"), force=True)
