"""HDF5 read into shared memory, and written from memory, by several processes.

Here: read_shared and write_parallel.
Not here: the memory (shared_memory), the processes (piece_process), how the work is divided (division), reading in this
process on threads (hdf5).

The usual HDF5 library lets one thread work at a time; processes have a lock each. What is left behind after a kill of a
worker or of the caller is nothing: no process, no named memory, no half-written file.
"""

import os
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.box import Box, Shape, grid_shape
from pellucid.errors import InvalidInput, OutputExists, SelectionNeeded, WrongDimensions
from pellucid.formats import registry
from pellucid.formats.byte_sources import disk_full_errors
from pellucid.formats.hdf5.format import Hdf5Reader
from pellucid.formats.hdf5.parallel.division import ReadRequest, WorkDivision, divide
from pellucid.formats.hdf5.parallel.piece_process import DEPTH, PieceJob, run_pieces
from pellucid.formats.hdf5.parallel.worker_codecs import ChunkDecoder
from pellucid.formats.hdf5.read.arrays import slab_of
from pellucid.formats.hdf5.write.atomic_file import AtomicFile
from pellucid.formats.hdf5.write.plan import OutputPlan, create_file, plan_output
from pellucid.formats.location import Location
from pellucid.formats.protocol import Header, Layout, Level, Reader, Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.settings import current

DEFAULT_CHUNK = (64, 128, 128)


def read_shared(
    path: str | Path | Location,
    dataset: str = "",
    box: Box | None = None,
    processes: int | None = None,
    *,
    watch: Callable[[int], None] = lambda worker: None,
) -> SharedArray:
    """Read a dataset, or a box of it, into shared memory with several processes.

    path: of the file, also with ``:t=3,c=0``. dataset: its name in the file; not needed if the file has a single
    volume. processes: None for one per core. watch: called with the process id of a worker before each piece.
    """
    location = _located(path, dataset)
    reader = registry.open_reader(location)
    try:
        wanted = _wanted(reader.header, location, box)
        shared = SharedArray.create(wanted.box.shape, wanted.dtype)
        try:
            _fill(shared, reader, location, wanted, _Team(processes or current().threads, watch))
        except BaseException:
            shared.close()
            raise
        return shared
    finally:
        reader.close()


class _Team:
    """How many processes, and the function that is called with their ids."""

    def __init__(self, processes: int, watch: Callable[[int], None]) -> None:
        if processes < 1:
            raise InvalidInput(f"processes must be at least 1, not {processes}.", remedy="Use 1 or more.")
        self.processes = processes
        self.watch = watch


def _located(path: str | Path | Location, dataset: str) -> Location:
    location = Location.parse(path)
    name = f"/{dataset.strip('/')}" if dataset else location.dataset
    return Location(location.path, name, location.options).absolute


def _wanted(header: Header, location: Location, box: Box | None) -> ReadRequest:
    t, c = location.number("t"), location.number("c")
    if (t is None and header.times > 1) or (c is None and header.channels > 1):
        raise SelectionNeeded(location.path, header.times, header.channels)
    whole = Box.whole(header.levels[0].shape)
    if box is not None and not whole.contains(box):
        raise InvalidInput(
            f"The box {box} is outside a volume of {whole.shape} (z, y, x).", remedy=f"Choose a box within {whole}."
        )
    return ReadRequest(box or whole, header.dtype, t or 0, c or 0)


def _fill(shared: SharedArray, reader: Reader, location: Location, wanted: ReadRequest, team: _Team) -> None:
    division = divide(reader.arrays[0], wanted) if isinstance(reader, Hdf5Reader) else None
    division = division or _through_format(location, wanted)
    descriptors = (shared.descriptor,) if division.file is None else (shared.descriptor, division.file)
    setup = {
        **division.setup, "work": division.work, "memory": shared.descriptor, "file": division.file,
        "name": location.path, "shape": shared.shape, "dtype": shared.dtype.str,
    }  # fmt: skip
    job = PieceJob(
        f"reading {location}", location.path, setup, descriptors, len(division.pieces),
        prepare=lambda piece, slot: division.pieces[piece], watch=team.watch, here=_here(reader, setup, shared, wanted),
    )  # fmt: skip
    run_pieces(job, team.processes)


def _here(
    reader: Reader, setup: dict[str, Any], shared: SharedArray, wanted: ReadRequest
) -> Callable[[Any], object] | None:
    """How this process does a piece itself; plain copies are not worth it, their workers start at once."""
    if setup["work"] == "decode":
        return ChunkDecoder(setup)
    if setup["work"] == "copy":
        return None

    def read(piece: tuple[Shape, Shape]) -> None:
        box = Box(*piece)
        reader.read(box, shared.array[box.relative_to(wanted.box.start).slices], t=wanted.t, c=wanted.c)

    return read


def _through_format(location: Location, wanted: ReadRequest) -> WorkDivision:
    """Where only a library can read: slabs of the box, each process with a library of its own."""
    selection = {"t": wanted.t, "c": wanted.c}
    setup = {"location": str(location), "start": wanted.box.start, "selection": selection}
    slabs = wanted.box.tiles(slab_of(wanted.box, wanted.dtype.itemsize))
    return WorkDivision("read", setup, [(slab.start, slab.stop) for slab in slabs])


def write_parallel(
    path: str | Path,
    dataset: str,
    array: Voxels | SharedArray,
    chunk: Shape | None = None,
    codec: str = "gzip",
    processes: int | None = None,
) -> None:
    """Write a (z, y, x) array to a new chunked HDF5 file, compressed by several processes.

    The file has its final name only when it is complete.
    """
    voxels = array.array if isinstance(array, SharedArray) else array
    location = _located(path, dataset)
    if voxels.ndim != 3:
        raise WrongDimensions("The array", voxels.shape)
    if location.local.exists():
        raise OutputExists(location.path)
    z, y, x = voxels.shape
    layout = Layout((Level((z, y, x), chunk or DEFAULT_CHUNK),), voxels.dtype, codec=codec)
    plan = plan_output(location, layout)
    with AtomicFile(location.local) as unnamed:
        file = create_file(unnamed.file, plan, location.local)
        with disk_full_errors(location.local):
            with file:
                _ParallelEncoder(plan, voxels, file).run(location, _Team(processes or current().threads, _no_listener))
            unnamed.publish()


def _no_listener(worker: int) -> None:
    """The default watch function: it does nothing."""


class _ParallelEncoder:
    """Chunks go into slots of shared memory, come back compressed, and are stored by this process alone."""

    def __init__(self, plan: OutputPlan, voxels: Voxels, file: Any) -> None:
        self._voxels = voxels
        self._level = plan.levels[0]
        self._dtype = np.dtype(plan.dtype)
        self._pipeline = plan.pipeline(0)
        self._dataset = file[self._level.name].id
        self._cells = list(Box.whole(self._level.shape).cells(self._level.chunk))
        # Room for data that does not compress: every codec here adds less than an eighth.
        self._slot_bytes = _padded(self._pipeline.chunk_bytes * 17 // 8 + 65536)
        self._memory: Voxels = np.empty(0, np.uint8)

    def run(self, location: Location, team: _Team) -> None:
        count = min(team.processes, max(1, prod(grid_shape(self._level.shape, self._level.chunk))))
        with SharedArray.create((count * DEPTH, self._slot_bytes), np.uint8) as slots:
            self._memory = slots.array
            setup = {
                "work": "encode", "memory": slots.descriptor, "slot_bytes": self._slot_bytes,
                "filters": [(step.number, step.values) for step in self._pipeline.filters],
                "chunk_bytes": self._pipeline.chunk_bytes, "itemsize": self._pipeline.itemsize,
            }  # fmt: skip
            job = PieceJob(
                f"writing {location}", location.path, setup, (slots.descriptor,), len(self._cells),
                self._prepare, self._store, team.watch,
            )  # fmt: skip
            run_pieces(job, count)
            self._memory = np.empty(0, np.uint8)

    def _prepare(self, piece: int, slot: int) -> int:
        box = self._box(piece)
        part = box.intersect(Box.whole(self._level.shape))
        raw = self._memory[slot, : self._pipeline.chunk_bytes].view(self._dtype).reshape(self._level.chunk)
        if part != box:  # chunks at the border are stored at full size
            raw[...] = 0
        raw[part.relative_to(box.start).slices] = self._voxels[part.slices]
        return slot

    def _store(self, piece: int, slot: int, size: int) -> None:
        first = self._pipeline.chunk_bytes
        self._dataset.write_direct_chunk(self._box(piece).start, self._memory[slot, first : first + size])

    def _box(self, piece: int) -> Box:
        z, y, x = (i * n for i, n in zip(self._cells[piece], self._level.chunk, strict=True))
        return Box.whole(self._level.chunk).shift((z, y, x))


def _padded(size: int) -> int:
    page = os.sysconf("SC_PAGESIZE")
    return -(-size // page) * page
