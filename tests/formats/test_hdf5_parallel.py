"""HDF5 by several processes: the same voxels, and nothing left behind whoever is killed."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import pytest

from pellucid.box import Box
from pellucid.errors import (
    Corrupted,
    DatasetMissing,
    InvalidInput,
    OutputExists,
    SelectionNeeded,
    Truncated,
    WorkerLost,
    WrongDimensions,
)
from pellucid.formats.hdf5.parallel.shared_io import read_shared, write_parallel
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from tests.waiting import TIMEOUT_S, wait_until

SHAPE = (21, 34, 300)
CHUNK = (8, 16, 160)
BOXES = [None, Box((3, 5, 7), (19, 33, 291)), Box((0, 17, 0), (21, 30, 300)), Box((20, 0, 160), (21, 1, 161))]
STORAGES: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "chunks": {"chunks": CHUNK},
    "narrow chunks": {"chunks": (8, 16, 20)},
    "frames": {"chunks": (1, *SHAPE[1:])},
    "gzip": {"chunks": CHUNK, "compression": "gzip", "shuffle": True},
    "zstd": {"chunks": CHUNK, "compression": hdf5plugin.Zstd()},
    "bitshuffle lz4": {"chunks": CHUNK, "compression": hdf5plugin.Bitshuffle()},
}


def voxels_of(dtype: str = "uint16", shape: tuple[int, ...] = SHAPE) -> Voxels:
    return np.random.default_rng(5).integers(0, 200, shape).astype(dtype)


def stored(path: Path, voxels: Voxels, **options: Any) -> Path:
    with h5py.File(path, "w") as file:
        file.create_dataset("data", data=voxels, **options)
    return path


def children() -> set[int]:
    """Processes, zombies included, that this one has started and not yet seen the end of."""
    text = " ".join(listed.read_text() for listed in Path("/proc/self/task").glob("*/children"))
    return {int(number) for number in text.split()}


@pytest.mark.parametrize("dtype", ["uint16", ">u2"])
@pytest.mark.parametrize("storage", STORAGES)
def test_every_storage_gives_the_same_voxels(tmp_path: Path, storage: str, dtype: str) -> None:
    voxels = voxels_of(dtype)
    path = stored(tmp_path / "a.h5", voxels, **STORAGES[storage])
    before = children()
    for box in BOXES if dtype == "uint16" else BOXES[1:2]:
        with read_shared(path, "data", box, processes=2) as shared:
            assert shared.dtype == np.uint16
            np.testing.assert_array_equal(shared.array, voxels[box.slices] if box else voxels)
    assert children() <= before


@pytest.mark.parametrize("processes", [1, 3, 50])
def test_the_number_of_processes_changes_nothing(tmp_path: Path, processes: int) -> None:
    path = stored(tmp_path / "a.h5", voxels_of(), chunks=CHUNK)
    with read_shared(path, processes=processes) as shared:
        np.testing.assert_array_equal(shared.array, voxels_of())


def test_many_rows_and_absent_chunks(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        dataset = file.create_dataset("data", (2, 2500, 300), "u2", chunks=(2, 2500, 200), fillvalue=9)
        dataset[:, :, 200:] = voxels_of(shape=(2, 2500, 100))
    with read_shared(tmp_path / "a.h5") as shared:
        assert (shared.array[:, :, :200] == 9).all()
        np.testing.assert_array_equal(shared.array[:, :, 200:], voxels_of(shape=(2, 2500, 100)))


def test_time_and_channel(tmp_path: Path) -> None:
    voxels = voxels_of(shape=(2, 3, 5, 6, 150))
    for options in ({}, {"chunks": (2, 2, 2, 3, 130)}, {"chunks": (2, 2, 2, 3, 130), "compression": "gzip"}):
        path = stored(tmp_path / "a.h5", voxels, **options)
        with read_shared(f"{path}:t=1,c=2") as shared:
            np.testing.assert_array_equal(shared.array, voxels[1, 2])
    with pytest.raises(SelectionNeeded, match="2 time steps and 3 channels"):
        read_shared(path)


def test_other_formats_are_read_too(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", voxels_of())
    with read_shared(tmp_path / "a.npy", processes=2) as shared:
        np.testing.assert_array_equal(shared.array, voxels_of())


@pytest.mark.parametrize("storage", ["contiguous", "gzip"])
def test_a_killed_reader_is_replaced(tmp_path: Path, storage: str) -> None:
    voxels = voxels_of(shape=(40, 512, 512))
    path = stored(tmp_path / "a.h5", voxels, **({**STORAGES[storage], "chunks": CHUNK} if storage == "gzip" else {}))
    killed: list[int] = []

    def kill_two(worker: int) -> None:
        if len(killed) < 2 and worker not in killed:
            killed.append(worker)
            os.kill(worker, signal.SIGKILL)

    before = children()
    with read_shared(path, processes=2, watch=kill_two) as shared:
        np.testing.assert_array_equal(shared.array, voxels)
    assert len(killed) == 2
    assert children() <= before


def test_a_piece_that_costs_every_reader_is_given_up(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.h5", voxels_of())
    before = children()
    with pytest.raises(WorkerLost, match=r"while reading .*a.h5: it was stopped by signal 9"):
        read_shared(path, watch=lambda worker: os.kill(worker, signal.SIGKILL))
    assert children() <= before


OWNER = """
import sys
from pellucid.formats.hdf5.parallel.shared_io import read_shared
def tell(worker):
    print(worker, flush=True)
    sys.stdin.readline()
read_shared(sys.argv[1], processes=2, watch=tell)
"""


def holders_of_memory() -> set[int]:
    found = set()
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if "memfd:pellucid" in str(link.readlink()):
                found.add(int(link.parts[2]))
        except OSError:
            continue
    return found


NAMES_OF_OTHERS = (".org.chromium", ".com.google", "__KMP_REGISTERED_LIB", "sem.")
"""How names begin that browsers, OpenMP and process pools use, which may run beside this test."""


def shared_memory_names() -> set[str]:
    """In use on this machine, as far as a reader could have made them."""
    return {path.name for path in Path("/dev/shm").iterdir() if not path.name.startswith(NAMES_OF_OTHERS)}


def test_nothing_is_left_of_a_killed_owner(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.h5", voxels_of(shape=(40, 512, 512)))
    names = shared_memory_names()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True,
    )  # fmt: skip
    assert owner.stdin and owner.stdout
    workers: list[int] = []
    while len(set(workers)) < 2:  # every piece is announced; let the owner go on until it has both workers
        workers.append(int(owner.stdout.readline()))
        if len(set(workers)) < 2:
            owner.stdin.write("\n")
            owner.stdin.flush()
    watched = [os.pidfd_open(worker) for worker in set(workers)]
    owner.kill()
    owner.wait()
    for descriptor in watched:
        assert select.select([descriptor], [], [], TIMEOUT_S)[0], "a worker outlives its owner"
        os.close(descriptor)
    assert not holders_of_memory() & {*workers, owner.pid}
    wait_until(lambda: shared_memory_names() <= names)
    owner.stdin.close()
    owner.stdout.close()


def test_errors_come_back_from_the_workers(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.h5", voxels_of(), chunks=CHUNK, compression="gzip")
    with h5py.File(path, "a") as file:
        file["data"].id.write_direct_chunk((0, 0, 0), b"nonsense")
    before = children()
    with pytest.raises(Corrupted, match=r"a.h5 is corrupted: a chunk could not be decoded"):
        read_shared(path)
    with pytest.raises(DatasetMissing, match="no dataset '/other'"):
        read_shared(path, "other")
    with pytest.raises(InvalidInput, match="is outside"):
        read_shared(path, box=Box((0, 0, 0), (1, 1, 301)))
    with pytest.raises(InvalidInput, match="at least 1"):
        read_shared(path, processes=-1)
    assert children() <= before


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.h5", voxels_of(shape=(40, 512, 512)))
    with pytest.raises(Truncated, match="is truncated"):
        read_shared(path, processes=1, watch=lambda worker: os.truncate(path, 1 << 20))


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd", "lz4", "blosc"])
@pytest.mark.parametrize("processes", [1, 3])
def test_written_by_several_processes(tmp_path: Path, codec: str, processes: int) -> None:
    before = children()
    write_parallel(tmp_path / "out.h5", "/entry/data", voxels_of(), CHUNK, codec, processes)
    with h5py.File(tmp_path / "out.h5") as file:
        assert file["entry/data"].chunks == CHUNK
        np.testing.assert_array_equal(file["entry/data"][()], voxels_of())
    assert children() <= before
    assert [found.name for found in tmp_path.iterdir()] == ["out.h5"]


def test_a_shared_array_can_be_written(tmp_path: Path) -> None:
    with SharedArray.create((3, 4, 5), ">f4") as shared:
        shared.array[...] = np.arange(60).reshape(3, 4, 5)
        write_parallel(tmp_path / "out.h5", "data", shared)
        with h5py.File(tmp_path / "out.h5") as file:
            np.testing.assert_array_equal(file["data"][()], shared.array)
    with pytest.raises(OutputExists):
        write_parallel(tmp_path / "out.h5", "data", voxels_of())
    with pytest.raises(WrongDimensions):
        write_parallel(tmp_path / "flat.h5", "data", np.zeros((2, 2)))


WRITER = """
import os, signal, sys
import numpy as np
from pellucid.formats.hdf5.parallel import shared_io
shared_io._ParallelEncoder._store = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
shared_io.write_parallel(sys.argv[1], "data", np.zeros((64, 64, 64), "u2"), (16, 16, 16))
"""


def test_a_killed_writer_leaves_no_file(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", WRITER, str(tmp_path / "out.h5")]
    assert subprocess.run(command, env=environment, check=False).returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []
