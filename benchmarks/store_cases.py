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
from pellucid.formats.chunked.chunkcodec import BLOSC_LEVEL, GZIP_LEVEL, ZSTD_LEVEL
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level, Voxels
from pellucid.formats.registry import open_writer
from pellucid.volume.volume import open_volume

CHUNK, SHARD = (64, 128, 128), (128, 256, 256)
THREADS = 2
CODECS = ("gzip", "zstd", "blosc")
Call = Callable[[], object]


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
    title = f"{store.title} {codec}"
    peers: dict[str, Callable[[Store, str, Voxels, Path], tuple[Call, Call]]] = {"z5py": _z5py}
    if store.version:
        peers["zarr-python"] = _zarr_python
    calls, missing = {"ours": _ours(store, codec, voxels, folder / f"ours{store.suffix}")}, []
    for name, peer in peers.items():
        try:
            calls[name] = peer(store, codec, voxels, folder / f"{name}.{'zarr' if store.version else 'n5'}")
        except ImportError as error:
            missing.append(unavailable(title, name, str(error)))
    found = []
    for what, index in (("write", 0), ("read", 1)):
        times = interleave({name: pair[index] for name, pair in calls.items()}, repeats)
        speeds = {name: voxels.nbytes / 1e6 / seconds for name, seconds in times.items()}
        found += [
            faster(f"{title}, {what}", "MB/s", speeds["ours"], name, speed)
            for name, speed in speeds.items()
            if name != "ours"
        ]
    for name, (_, read) in calls.items():
        if not np.array_equal(np.asarray(read()), voxels):
            raise SystemExit(f"{title}: {name} does not read back what was written")
    for entry in folder.iterdir():
        shutil.rmtree(entry)
    return found + missing


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


def _z5py(store: Store, codec: str, voxels: Voxels, path: Path) -> tuple[Call, Call]:
    import z5py

    kind: dict[str, Any] = {"use_zarr_format": bool(store.version), "zarr_format": store.version or 2}
    level = {"gzip": {"level": GZIP_LEVEL}, "zstd": {"level": ZSTD_LEVEL}}
    blosc = {"codec": "zstd", "shuffle": 1, ("level" if store.version == 3 else "clevel"): BLOSC_LEVEL}
    options: dict[str, Any] = {**level.get(codec, blosc), "compression": codec}
    if store.shard:
        options["shards"] = store.shard

    def write() -> None:
        shutil.rmtree(path, ignore_errors=True)
        with z5py.File(str(path), mode="w", **kind) as file:
            file.create_dataset("data", data=voxels, chunks=CHUNK, n_threads=THREADS, **options)

    def read() -> Voxels:
        with z5py.File(str(path), mode="r", **kind) as file:
            dataset = file["data"]
            dataset.n_threads = THREADS
            read_back: Voxels = dataset[:]
            return read_back

    return write, read


def _zarr_python(store: Store, codec: str, voxels: Voxels, path: Path) -> tuple[Call, Call]:
    import zarr

    zarr.config.set({"threading.max_workers": THREADS})

    def write() -> None:
        shutil.rmtree(path, ignore_errors=True)
        array = zarr.create_array(
            str(path), shape=voxels.shape, dtype=voxels.dtype, chunks=CHUNK, shards=store.shard,
            compressors=_zarr_codec(codec, store.version), zarr_format=store.version,
        )  # fmt: skip
        array[:] = voxels

    return write, lambda: zarr.open_array(str(path), mode="r")[:]


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
