"""What slows the denoising network down between chunks and chunks: memory, copies, or the threads that read and write?

    python -m benchmarks.learn_overlap [--quick] [--json FILE] [--batches 1 4]

On a GPU: what it costs to get a block's memory and to copy it; then how fast slices of a region go through the compiled
network, alone, and while other threads read and write chunks, on the usual number of threads and on fewer: all of them
take turns at the interpreter's lock. One slice at a time, as in a volume of 2048² slices; each further batch is
compiled again. Takes about a minute.
"""

import argparse
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.entry_points import with_entry_points
from benchmarks.learn_speed import _large_folder, _written, network_of
from benchmarks.table import Options, Row, report
from pellucid.box import Box
from pellucid.formats.chunked import chunks
from pellucid.formats.chunked.chunks import core_count
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level, Voxels
from pellucid.formats.registry import open_writer
from pellucid.volume.volume import open_volume

BLOCK = 64
RUN_S = 5.0
READERS, WRITERS = 2, 2
CHUNK_THREADS = (4, 2)
"""Of this process, that decode and encode chunks, instead of as many as it may use cores."""


def main() -> None:
    parser = argparse.ArgumentParser(description="The network beside threads that read and write.")
    parser.add_argument("--quick", action="store_true", help="smaller slices")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    parser.add_argument("--batches", type=int, nargs="+", default=[1], metavar="N", help="slices at a time")
    given = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("needs a CUDA device")
    edge = 512 if given.quick else 2048
    folder = Path(tempfile.mkdtemp(dir=_large_folder()))
    try:
        with_entry_points(folder / "site")
        rows = [*memory_rows(edge), *network_rows(folder, edge, given.batches)]
    finally:
        shutil.rmtree(folder)
    report("learn_overlap", rows, f"blocks of {BLOCK} × {edge}² uint16", Options(given.quick, given.json))


def memory_rows(edge: int) -> list[Row]:
    """Each twice: memory that was used before may be cheaper."""
    shape, held = (BLOCK, edge, edge), {}

    def keep(name: str, made: Any) -> None:
        held[name] = made

    steps: dict[str, Callable[[], object]] = {
        "fresh memory, filled": lambda: keep("fresh", np.full(shape, 1, np.uint16)),
        "pinned memory": lambda: keep("pinned", torch.empty(shape, dtype=torch.uint16, pin_memory=True)),
        "copying fresh to pinned": lambda: held["pinned"].copy_(torch.from_numpy(held["fresh"])),
        "pinned to the device": lambda: keep("there", held["pinned"].to("cuda", non_blocking=True)),
        "from the device to pinned": lambda: held["pinned"].copy_(held["there"], non_blocking=True),
        "copying pinned to fresh": lambda: np.array(held["pinned"].numpy()),
    }
    rows = []
    for run in ("first", "second"):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            torch.cuda.synchronize()
            rows.append(Row(f"{name}, {run}", "time", "s", time.perf_counter() - start, "-", None, None))
        held.clear()
    return rows


def network_rows(folder: Path, edge: int, batches: Sequence[int]) -> list[Row]:
    from pellucid.infer.runtime import RuntimeRequest
    from pellucid.learn.networks.torch_entry import open_torch

    runtime = open_torch(RuntimeRequest(network_of(folder / "net").model, "cuda"))
    if runtime is None:
        raise SystemExit("the network does not run on this device")
    region = torch.randint(900, 1100, (BLOCK, edge, edge), dtype=torch.int32, device="cuda").to(torch.uint16)
    rows = []
    for batch in batches:
        start = time.perf_counter()
        speed(runtime, region, batch, 0.0)
        rows.append(Row(f"{batch} at a time", "compiling", "s", time.perf_counter() - start, "-", None, None))
        found = speed(runtime, region, batch, RUN_S)
        rows.append(Row(f"{batch} at a time, alone", "speed", "M voxels/s", found, "-", None, None))
        for threads in (core_count(), *CHUNK_THREADS):
            busy = f"{threads} chunk threads busy"
            with chunk_threads(threads), busy_threads(folder, edge) as counts:
                before = list(counts)
                found = speed(runtime, region, batch, RUN_S)
                read, written = ((now - then) / RUN_S / 1e6 for now, then in zip(counts, before, strict=True))
            for metric, value in (("speed", found), ("read beside it", read), ("written beside it", written)):
                rows.append(Row(f"{batch} at a time, {busy}", metric, "M voxels/s", value, "-", None, None))
    return rows


@contextmanager
def chunk_threads(count: int) -> Iterator[None]:
    """So many threads decode and encode chunks."""
    before = chunks.chunk_threads
    with ThreadPoolExecutor(count) as pool:
        chunks.chunk_threads = lambda: pool  # type: ignore[assignment]
        try:
            yield
        finally:
            chunks.chunk_threads = before


def speed(runtime: Any, region: Any, batch: int, seconds: float) -> float:
    """M voxels of the result per second; at least one batch."""
    start, done = time.perf_counter(), 0
    for first in range(10**9):
        slices = [(first * batch + n) % (BLOCK - 11) for n in range(batch)]
        made = runtime.compute([torch.stack([region[z : z + 11].float() for z in slices])], is_compiled=True)[0]
        (made.clamp(0, 65535).round().to(torch.int32)).to(torch.uint16)
        done += made.numel()
        if first % 8 == 0:
            torch.cuda.synchronize()
        if time.perf_counter() - start >= seconds:
            break
    torch.cuda.synchronize()
    return done / (time.perf_counter() - start) / 1e6


@contextmanager
def busy_threads(folder: Path, edge: int) -> Iterator[list[int]]:
    """Threads that read and write chunks all the time; voxels read and written so far."""
    source, stop, counts = folder / "in.zarr", threading.Event(), [0, 0]
    if not source.exists():
        _written(source, (2 * BLOCK, edge, edge))
    voxels = np.random.default_rng(0).integers(900, 1100, (BLOCK, edge, edge), np.uint16)
    threads = [threading.Thread(target=_reading, args=(source, stop, counts)) for _ in range(READERS)]
    threads += [
        threading.Thread(target=_writing, args=(folder / f"o{n}.zarr", voxels, stop, counts)) for n in range(WRITERS)
    ]
    for thread in threads:
        thread.start()
    try:
        yield counts
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _reading(source: Path, stop: threading.Event, counts: list[int]) -> None:
    with open_volume(source) as volume:
        out = np.empty((BLOCK, *volume.shape[1:]), volume.dtype)
        while not stop.is_set():
            volume.read(Box((32, 0, 0), (32 + BLOCK, *volume.shape[1:])), out)
            counts[0] += out.size


def _writing(target: Path, voxels: Voxels, stop: threading.Event, counts: list[int]) -> None:
    layout = Layout((Level(voxels.shape, (32, 128, 128)),), voxels.dtype, codec="lz4")
    while not stop.is_set():
        shutil.rmtree(target, ignore_errors=True)
        with closing(open_writer(Location.parse(target), layout)) as writer:
            writer.write(Box.whole(voxels.shape), voxels)
            writer.finish()
        counts[1] += voxels.size


if __name__ == "__main__":
    main()
