"""One conversion in a process of its own, ours or the peer's: prints seconds and the peak of its memory in bytes.

Here: HDF5 to sharded Zarr v3 with a mean pyramid, by Pellucid and by dask with zarr-python.
Not here: the table (formats).

    python -m benchmarks.conversion_peer ours|dask SOURCE TARGET
"""

import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.memory import peak_bytes

CHUNK, SHARD, LEVELS = (64, 64, 64), (256, 256, 256), 4
OURS_MEMORY = 512 * 2**20


def ours(source: Path, target: Path) -> None:
    import pellucid
    from pellucid.engines.engine import EngineOptions, make_engine

    engine = make_engine("local", EngineOptions(2, OURS_MEMORY))
    requests: dict[str, Any] = {"levels": LEVELS, "chunk": CHUNK, "shard": SHARD, "codec": "zstd"}
    pellucid.convert(f"{source}:/data", target, engine=engine, **requests).close()


def dask(source: Path, target: Path) -> None:
    """The way dask's documentation does it: blocks of one shard, two threads, level after level."""
    import dask.array
    import h5py
    import numpy as np
    import zarr
    from dask.config import set as dask_set

    group = zarr.open_group(target, mode="w")
    with dask_set(scheduler="threads", num_workers=2), h5py.File(source) as file:
        voxels = dask.array.from_array(file["data"], chunks=SHARD)
        for level in range(LEVELS):
            out = group.create_array(
                str(level), shape=voxels.shape, chunks=CHUNK, shards=SHARD, dtype=voxels.dtype,
                compressors=zarr.codecs.ZstdCodec(level=1),
            )  # fmt: skip
            dask.array.store(voxels.rechunk(SHARD), out, lock=False)
            fine = dask.array.from_zarr(out)
            voxels = dask.array.coarsen(np.mean, fine, {0: 2, 1: 2, 2: 2}).round().astype(fine.dtype)


def main() -> None:
    who, source, target = sys.argv[1:]
    start = time.perf_counter()
    {"ours": ours, "dask": dask}[who](Path(source), Path(target))
    seconds = time.perf_counter() - start
    print(seconds, peak_bytes())


if __name__ == "__main__":
    main()
