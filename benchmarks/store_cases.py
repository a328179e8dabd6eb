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
from pellucid.box import Box
from pellucid.formats.chunked.zarr_metadata import BLOSC_LEVEL, GZIP_LEVEL, ZSTD_LEVEL
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level, Voxels
from pellucid.formats.registry import open_writer
from pellucid.volume.volume import open_volume

CHUNK, SHARD = (64, 128, 128), (256, 256, 256)
THREADS = 2
CODECS = ("gzip", "zstd", "blosc")


@dataclass(frozen=True)
class Case:
    """One store: how ours and the peer write and read it."""

    title: str
    peer: str
    ours_path: Path
    peer_path: Path
    codec: str
    shard: tuple[int, int, int] | None = None


def rows(voxels: Voxels, folder: Path, repeats: int) -> list[Row]:
    found: list[Row] = []
    for codec in CODECS:
        n5 = Case(f"N5 {codec}", "z5py", folder / "ours.n5", folder / "peer.n5", codec)
        found += _compare(n5, voxels, _z5py, repeats)
        zarr2 = Case(f"Zarr v2 {codec}", "zarr-python", folder / "ours.zarr2", folder / "peer.zarr2", codec)
        found += _compare(zarr2, voxels, _zarr_python, repeats)
        zarr3 = Case(
            f"Zarr v3 sharded {codec}", "zarr-python", folder / "ours.zarr", folder / "peer.zarr", codec, SHARD
        )
        found += _compare(zarr3, voxels, _zarr_python, repeats)
    return found


Peer = Callable[[Case, Voxels], tuple[Callable[[], object], Callable[[], object]]]


def _compare(case: Case, voxels: Voxels, peer: Peer, repeats: int) -> list[Row]:
    try:
        write, read = peer(case, voxels)
    except ImportError as error:
        return [unavailable(case.title, case.peer, str(error))]
    ours_write, ours_read = _ours(case, voxels)
    megabytes = voxels.nbytes / 1e6
    written = interleave({"ours": ours_write, "peer": write}, repeats)
    taken = interleave({"ours": ours_read, "peer": read}, repeats)
    _same(case, voxels, ours_read(), read())
    for path in (case.ours_path, case.peer_path):
        shutil.rmtree(path)
    return [
        faster(f"{case.title}, {what}", "MB/s", megabytes / times["ours"], case.peer, megabytes / times["peer"])
        for what, times in (("write", written), ("read", taken))
    ]


def _same(case: Case, voxels: Voxels, ours: object, theirs: object) -> None:
    for name, read in (("ours", ours), (case.peer, theirs)):
        if not np.array_equal(np.asarray(read), voxels):
            raise SystemExit(f"{case.title}: {name} does not read back what was written")


def _ours(case: Case, voxels: Voxels) -> tuple[Callable[[], object], Callable[[], object]]:
    z, y, x = voxels.shape
    layout = Layout((Level((z, y, x), CHUNK),), voxels.dtype, shard=case.shard, codec=case.codec)
    location = Location(str(case.ours_path))

    def write() -> None:
        writer = open_writer(location, layout)
        writer.write(Box.whole((z, y, x)), voxels)
        writer.finish()
        writer.close()

    def read() -> Voxels:
        with open_volume(location) as volume:
            return volume.read()

    return write, read


def _z5py(case: Case, voxels: Voxels) -> tuple[Callable[[], object], Callable[[], object]]:
    import z5py

    options: dict[str, dict[str, Any]] = {
        "gzip": {"level": GZIP_LEVEL},
        "zstd": {"level": ZSTD_LEVEL},
        "blosc": {"codec": "zstd", "clevel": BLOSC_LEVEL, "shuffle": 1},
    }

    def write() -> None:
        shutil.rmtree(case.peer_path, ignore_errors=True)
        with z5py.File(str(case.peer_path), mode="w", use_zarr_format=False) as file:
            file.create_dataset(
                "s0", data=voxels, chunks=CHUNK, compression=case.codec, n_threads=THREADS, **options[case.codec]
            )

    def read() -> Voxels:
        with z5py.File(str(case.peer_path), mode="r") as file:
            dataset = file["s0"]
            dataset.n_threads = THREADS
            read_back: Voxels = dataset[:]
            return read_back

    return write, read


def _zarr_python(case: Case, voxels: Voxels) -> tuple[Callable[[], object], Callable[[], object]]:
    import zarr

    zarr.config.set({"threading.max_workers": THREADS})
    version = 3 if case.shard else 2

    def write() -> None:
        shutil.rmtree(case.peer_path, ignore_errors=True)
        array = zarr.create_array(
            str(case.peer_path), shape=voxels.shape, dtype=voxels.dtype, chunks=CHUNK, shards=case.shard,
            compressors=_zarr_codec(case.codec, version), zarr_format=version,
        )  # fmt: skip
        array[:] = voxels

    return write, lambda: zarr.open_array(str(case.peer_path), mode="r")[:]


def _zarr_codec(codec: str, version: int) -> object:
    import numcodecs
    from zarr import codecs

    three = {
        "gzip": lambda: codecs.GzipCodec(level=GZIP_LEVEL),
        "zstd": lambda: codecs.ZstdCodec(level=ZSTD_LEVEL),
        "blosc": lambda: codecs.BloscCodec(cname="zstd", clevel=BLOSC_LEVEL, shuffle="shuffle"),
    }
    two = {
        "gzip": lambda: numcodecs.GZip(level=GZIP_LEVEL),
        "zstd": lambda: numcodecs.Zstd(level=ZSTD_LEVEL),
        "blosc": lambda: numcodecs.Blosc(cname="zstd", clevel=BLOSC_LEVEL, shuffle=1),
    }
    return (three if version == 3 else two)[codec]()
