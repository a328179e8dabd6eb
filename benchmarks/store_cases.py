"""N5 and Zarr beside z5py and zarr-python: the same voxels, codec, level and chunk shape, two threads each.

Here: the rows of the chunk stores.
Not here: HDF5 (hdf5_cases), the table (formats).
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.table import Row, faster, interleave, unavailable
from pellucid.box import Box, Shape
from pellucid.formats.chunked.chunk_codec import BLOSC_LEVEL, GZIP_LEVEL, ZSTD_LEVEL
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level, Voxels
from pellucid.formats.registry import open_writer
from pellucid.volume.volume import open_volume

CHUNK, SHARD = (64, 128, 128), (128, 256, 256)
THREADS = 2
CODECS = ("gzip", "zstd", "blosc")
Call = Callable[[], object]
Peer = Callable[["Store", str, Voxels, Path], tuple[Call, Call]]


@dataclass(frozen=True)
class Store:
    """One kind of store. version: of Zarr, 0 for N5."""

    title: str
    suffix: str
    version: int
    shard: Shape | None = None


STORES = (Store("N5", ".n5", 0), Store("Zarr v2", ".zarr2", 2), Store("Zarr v3 sharded", ".zarr", 3, SHARD))


def rows(voxels: Voxels, folder: Path, repeats: int) -> list[Row]:
    return [row for codec in CODECS for store in STORES for row in _compare(store, codec, voxels, folder, repeats)]


def _compare(store: Store, codec: str, voxels: Voxels, folder: Path, repeats: int) -> list[Row]:
    """Everybody writes a store of their own; then everybody reads ours, byte for byte the same work."""
    title, ours = f"{store.title} {codec}", folder / f"ours{store.suffix}"
    peers: dict[str, Peer] = {"z5py": _z5py}
    if store.version:
        peers["zarr-python"] = _zarr_python
    calls, missing = {"ours": _ours(store, codec, voxels, ours)}, []
    for name, peer in peers.items():
        try:
            calls[name] = peer(store, codec, voxels, ours)
        except ImportError as error:
            missing.append(unavailable(title, name, str(error)))
    found = []
    for what, index in (("write", 0), ("read", 1)):
        times = interleave({name: pair[index] for name, pair in calls.items()}, repeats)
        speeds = {name: voxels.nbytes / 1e6 / seconds for name, seconds in times.items()}
        found += [
            faster(f"{title}, {what}", "MB/s", speeds["ours"], _named(name, what, store, codec), speed)
            for name, speed in speeds.items()
            if name != "ours"
        ]
    for name, (_, read) in calls.items():
        if not np.array_equal(np.asarray(read()), voxels):
            raise SystemExit(f"{title}: {name} does not read what we wrote")
    for entry in folder.iterdir():
        shutil.rmtree(entry) if not entry.is_symlink() else entry.unlink()
    return found + missing


def _named(peer: str, what: str, store: Store, codec: str) -> str:
    # z5py 3.0 takes the level of blosc only for Zarr v3, and writes the others at level 5.
    is_other_level = peer == "z5py" and what == "write" and codec == "blosc" and store.version != 3
    return f"{peer} (at level 5)" if is_other_level else peer


def _ours(store: Store, codec: str, voxels: Voxels, path: Path) -> tuple[Call, Call]:
    z, y, x = voxels.shape
    layout = Layout((Level((z, y, x), CHUNK),), voxels.dtype, shard=store.shard, codec=codec)
    location = Location(str(path))

    def write() -> None:
        shutil.rmtree(path, ignore_errors=True)
        writer = open_writer(location, layout)
        writer.write(Box.whole((z, y, x)), voxels)
        writer.finish()
        writer.close()

    def read() -> Voxels:
        with open_volume(location) as volume:
            return volume.read()

    return write, read


def _z5py(store: Store, codec: str, voxels: Voxels, ours: Path) -> tuple[Call, Call]:
    import z5py

    kind: dict[str, Any] = {"use_zarr_format": bool(store.version), "zarr_format": store.version or 2}
    level = {"gzip": {"level": GZIP_LEVEL}, "zstd": {"level": ZSTD_LEVEL}}
    blosc = {"codec": "zstd", "shuffle": 1, ("level" if store.version == 3 else "clevel"): BLOSC_LEVEL}
    options: dict[str, Any] = {**level.get(codec, blosc), "compression": codec}
    if store.shard:
        options["shards"] = store.shard
    suffix, dataset = (".zarr", "0") if store.version else (".n5", "s0")
    own, link = ours.with_name(f"z5py{suffix}"), ours.with_name(f"link{suffix}")

    def write() -> None:
        shutil.rmtree(own, ignore_errors=True)
        with z5py.File(str(own), mode="w", **kind) as file:
            file.create_dataset("data", data=voxels, chunks=CHUNK, n_threads=THREADS, **options)

    def read() -> Voxels:
        if not link.exists():  # It knows a format by the end of its name.
            link.symlink_to(ours)
        with z5py.File(str(link), mode="r", **kind) as file:
            array = file[dataset]
            array.n_threads = THREADS
            read_back: Voxels = array[:]
            return read_back

    return write, read


def _zarr_python(store: Store, codec: str, voxels: Voxels, ours: Path) -> tuple[Call, Call]:
    import zarr

    zarr.config.set({"threading.max_workers": THREADS})
    own = ours.with_name("zarr-python.zarr")

    def write() -> None:
        shutil.rmtree(own, ignore_errors=True)
        array = zarr.create_array(
            str(own), shape=voxels.shape, dtype=voxels.dtype, chunks=CHUNK, shards=store.shard,
            compressors=_zarr_codec(codec, store.version), zarr_format=store.version,
        )  # fmt: skip
        array[:] = voxels

    return write, lambda: zarr.open_array(str(ours / "0"), mode="r")[:]


def _zarr_codec(codec: str, version: int) -> object:
    import numcodecs
    from zarr import codecs

    three: dict[str, Call] = {
        "gzip": lambda: codecs.GzipCodec(level=GZIP_LEVEL),
        "zstd": lambda: codecs.ZstdCodec(level=ZSTD_LEVEL),
        "blosc": lambda: codecs.BloscCodec(cname="zstd", clevel=BLOSC_LEVEL, shuffle="shuffle"),
    }
    two: dict[str, Call] = {
        "gzip": lambda: numcodecs.GZip(level=GZIP_LEVEL),
        "zstd": lambda: numcodecs.Zstd(level=ZSTD_LEVEL),
        "blosc": lambda: numcodecs.Blosc(cname="zstd", clevel=BLOSC_LEVEL, shuffle=1),
    }
    return (three if version == 3 else two)[codec]()
