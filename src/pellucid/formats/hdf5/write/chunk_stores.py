"""Where the chunks of an unfinished HDF5 output are kept.

Here: PlacedStore (uncompressed, written at their final place) and StagedStore (compressed, assembled at the end).
Not here: cutting boxes into chunks and compressing them (writer).

Both live in the folder ``NAME.chunks`` beside the output; the output's own name appears with ``complete``. After the
folder is made, a kill at any moment loses at most the chunk that was being written.
"""

import json
import os
import shutil
from math import prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from pellucid.box import Shape, grid_shape
from pellucid.errors import DiskFull, InvalidInput, NotWritable
from pellucid.formats.byte_sources import FileBytes, disk_full_errors
from pellucid.formats.hdf5.filters import Bytes
from pellucid.formats.hdf5.opening import staging_folder
from pellucid.formats.hdf5.write.plan import OutputPlan, create_file
from pellucid.formats.hdf5.write.segments import Segments

_PLAN = "plan.json"
_FILE = "volume.h5"


class ChunkStore(Protocol):
    """Chunks as they are stored, by level and place in the grid of chunks. Safe from threads and from processes."""

    def put(self, level: int, cell: Shape, stored: Any) -> None: ...

    def get(self, level: int, cell: Shape) -> Bytes | None: ...

    def complete(self) -> None: ...

    def close(self) -> None: ...


def open_store(output: Path, plan: OutputPlan, *, resume: bool) -> ChunkStore:
    """The store of a new output, or of one begun before with the same plan."""
    folder = staging_folder(output)
    if resume and (folder / _PLAN).exists():
        begun = json.loads((folder / _PLAN).read_text())
        if begun["plan"] != plan.as_json():
            raise InvalidInput(
                f"{output} was started with another shape, type, chunk or codec.",
                remedy=f"Run the same command as before, or delete {folder} and start again.",
            )
    else:
        begun = _begin(output, folder, plan)
    if plan.codec == "none":
        return PlacedStore(output, plan, begun["bases"])
    return StagedStore(output, plan)


def _begin(output: Path, folder: Path, plan: OutputPlan) -> dict[str, list[int]]:
    """Make the folder; the plan comes last, so that what was begun half is begun anew."""
    shutil.rmtree(folder, ignore_errors=True)
    with disk_full_errors(output):
        folder.mkdir(parents=True)
        bases = _allocate(output, folder / _FILE, plan) if plan.codec == "none" else []
        partial = folder / f"{_PLAN}.partial"
        partial.write_text(json.dumps({"plan": plan.as_json(), "bases": bases}))
        partial.replace(folder / _PLAN)
    return {"bases": bases}


def _allocate(output: Path, path: Path, plan: OutputPlan) -> list[int]:
    """Make the file with room for every chunk, and say where each level's first chunk lies."""
    itemsize = np.dtype(plan.dtype).itemsize
    needed = sum(prod(grid_shape(level.shape, level.chunk)) * prod(level.chunk) for level in plan.levels) * itemsize
    status = os.statvfs(path.parent)
    if status.f_bavail * status.f_frsize < needed:
        raise DiskFull(str(output))
    bases = []
    with create_file(path, plan, output) as file:
        for level in plan.levels:
            dataset = file[level.name].id
            bases.append(int(dataset.get_chunk_info_by_coord((0, 0, 0)).byte_offset))
            # Fixed size, no filter, room made at once: chunks then lie one after the other, and there is no index.
            last = dataset.get_chunk_info(dataset.get_num_chunks() - 1).byte_offset
            if last - bases[-1] != (dataset.get_num_chunks() - 1) * prod(level.chunk) * itemsize:
                raise NotWritable(str(output), "this version of the HDF5 library scatters its chunks")
    return bases


class PlacedStore:
    """Uncompressed chunks at their place in the HDF5 file: nothing but plain writes after its creation."""

    def __init__(self, output: Path, plan: OutputPlan, bases: list[int]) -> None:
        self._output = output
        self._plan = plan
        self._bases = bases
        self._file = FileBytes(staging_folder(output) / _FILE, writable=True)

    def put(self, level: int, cell: Shape, stored: Any) -> None:
        try:
            self._file.store(self._position(level, cell), memoryview(stored))
        except DiskFull as error:
            raise DiskFull(str(self._output)) from error

    def get(self, level: int, cell: Shape) -> Bytes | None:
        stored: Bytes = np.empty(self._plan.pipeline(level).chunk_bytes, np.uint8)
        self._file.fill(self._position(level, cell), stored.data)
        return stored

    def complete(self) -> None:
        staging = staging_folder(self._output)
        (staging / _FILE).replace(self._output)
        shutil.rmtree(staging)

    def close(self) -> None:
        self._file.close()

    def _position(self, level: int, cell: Shape) -> int:
        planned = self._plan.levels[level]
        index = int(np.ravel_multi_index(cell, grid_shape(planned.shape, planned.chunk)))
        return self._bases[level] + index * self._plan.pipeline(level).chunk_bytes


class StagedStore:
    """Compressed chunks in segments, put into the HDF5 file when all are there."""

    def __init__(self, output: Path, plan: OutputPlan) -> None:
        self._output = output
        self._plan = plan
        self._segments = Segments(staging_folder(output), output)

    def put(self, level: int, cell: Shape, stored: Any) -> None:
        self._segments.append((level, cell), stored)

    def get(self, level: int, cell: Shape) -> Bytes | None:
        return self._segments.get((level, cell))

    def complete(self) -> None:
        staging = staging_folder(self._output)
        with disk_full_errors(self._output):
            with create_file(staging / _FILE, self._plan, self._output) as file:
                datasets = [file[level.name].id for level in self._plan.levels]
                for (level, cell), stored in self._segments:
                    corner = tuple(i * n for i, n in zip(cell, self._plan.levels[level].chunk, strict=True))
                    datasets[level].write_direct_chunk(corner, stored)
            (staging / _FILE).replace(self._output)
        self._segments.close()
        shutil.rmtree(staging)

    def close(self) -> None:
        self._segments.close()
