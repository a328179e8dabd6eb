"""HDF5 beside h5py, and beside plain preadv by as many processes.

Here: the rows of HDF5: reading into an array, reading into shared memory, writing.
Not here: chunk stores (store_cases), the table (formats).
"""

import mmap
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np

from benchmarks.table import Row, faster, interleave
from pellucid.formats.hdf5.parallel.shared_io import read_shared, write_parallel
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.volume.volume import open_volume

CHUNK = (64, 128, 128)
PROCESSES = 2
LAYOUTS: dict[str, Mapping[str, Any]] = {
    "contiguous": {},
    "chunked": {"chunks": CHUNK},
    "gzip": {"chunks": CHUNK, "compression": "gzip", "compression_opts": 1, "shuffle": True},
    "zstd": {"chunks": CHUNK, "shuffle": True, **hdf5plugin.Zstd(clevel=1)},
}


def rows(voxels: Voxels, folder: Path, repeats: int) -> list[Row]:
    found: list[Row] = []
    for layout, options in LAYOUTS.items():
        path = folder / "scan.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("data", data=voxels, **options)
        found += _reading(layout, path, voxels, repeats)
        path.unlink()
    return found + _writing(voxels, folder, repeats)


def _reading(layout: str, path: Path, voxels: Voxels, repeats: int) -> list[Row]:
    """Into an array that is in memory already, and into fresh shared memory: the peer gets the same kind."""
    _check(path, voxels)
    target = np.zeros_like(voxels)
    functions: dict[str, Callable[[], object]] = {
        "ours array": lambda: _read(path, target),
        "h5py array": lambda: _h5py(path, target),
        "ours shared": lambda: read_shared(path, "data", processes=PROCESSES).close(),
        "h5py shared": lambda: _h5py_shared(path, voxels),
    }
    if layout in ("contiguous", "chunked"):
        functions["preadv"] = lambda: _preadv(path, voxels.nbytes)
    speeds = {name: voxels.nbytes / 1e6 / seconds for name, seconds in interleave(functions, repeats).items()}
    found = [
        faster(f"HDF5 {layout}, into {what}", "MB/s", speeds[f"ours {kind}"], "h5py", speeds[f"h5py {kind}"])
        for kind, what in (("array", "an array"), ("shared", "shared memory"))
    ]
    if "preadv" in speeds:
        peer = f"preadv, {PROCESSES} processes"
        case = f"HDF5 {layout}, into shared memory"
        found.append(faster(case, "MB/s", speeds["ours shared"], peer, speeds["preadv"]))
    return found


def _check(path: Path, voxels: Voxels) -> None:
    with read_shared(path, "data", processes=PROCESSES) as shared:
        if not (np.array_equal(_read(path, np.zeros_like(voxels)), voxels) and np.array_equal(shared.array, voxels)):
            raise SystemExit(f"{path.name}: voxels are not read back as they were written")


def _read(path: Path, target: Voxels) -> Voxels:
    with open_volume(f"{path}:/data") as volume:
        return volume.read(out=target)


def _h5py(path: Path, target: Voxels) -> None:
    with h5py.File(path) as file:
        file["data"].read_direct(target)


def _h5py_shared(path: Path, voxels: Voxels) -> None:
    z, y, x = voxels.shape
    with SharedArray.create((z, y, x), voxels.dtype) as shared:
        _h5py(path, shared.array)


def _preadv(path: Path, nbytes: int) -> None:
    """As many bytes from the same file into shared memory, with nothing around it."""
    memory = os.memfd_create("benchmark")
    os.ftruncate(memory, nbytes)
    children = [_fork(path, memory, nbytes * i // PROCESSES, nbytes * (i + 1) // PROCESSES) for i in range(PROCESSES)]
    for child in children:
        os.waitpid(child, 0)
    os.close(memory)


def _fork(path: Path, memory: int, start: int, stop: int) -> int:
    child = os.fork()
    if child:
        return child
    file = os.open(path, os.O_RDONLY)
    view = memoryview(mmap.mmap(memory, 0))
    while start < stop:
        start += os.preadv(file, [view[start : min(stop, start + 2**24)]], start)
    os._exit(0)


def _writing(voxels: Voxels, folder: Path, repeats: int) -> list[Row]:
    def ours() -> None:
        (folder / "ours.h5").unlink(missing_ok=True)
        write_parallel(folder / "ours.h5", "data", voxels, CHUNK, "gzip", PROCESSES)

    def theirs() -> None:
        with h5py.File(folder / "h5py.h5", "w") as file:
            file.create_dataset("data", data=voxels, **LAYOUTS["gzip"])

    times = interleave({"ours": ours, "h5py": theirs}, repeats)
    megabytes = voxels.nbytes / 1e6
    return [faster("HDF5 gzip, write", "MB/s", megabytes / times["ours"], "h5py", megabytes / times["h5py"])]
