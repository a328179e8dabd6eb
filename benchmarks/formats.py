"""How fast volumes are read, written and converted, beside the libraries that people use today.

Here: the whole table: HDF5, N5 and Zarr, conversion.
Not here: the rows (hdf5_cases, store_cases, conversion_peer).

    python -m benchmarks.formats [--quick] [--json FILE]
"""

import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import h5py

from benchmarks import hdf5_cases, store_cases
from benchmarks.scan import folder, scan
from benchmarks.table import TARGET, Row, options, report, shorter, unavailable
from pellucid.formats.protocol import Voxels

ROOT = Path(__file__).parent.parent
MEMORY_TARGET_BYTES = 2**30


def main() -> None:
    given = options("Reading, writing and converting volumes.")
    planes, repeats = (256, 1) if given.is_quick else (2048, 7)
    voxels = scan(planes)
    with folder() as path:
        rows = hdf5_cases.rows(voxels, path, repeats)
    with folder() as path:
        rows += store_cases.rows(voxels[: planes // 8], path, min(repeats, 3))
    large = scan(512) if given.is_quick else scan(4096)
    with folder() as path:
        rows += conversion(large, path, min(repeats, 3))
    size = f"HDF5 {voxels.nbytes / 2**20:.0f} MiB, stores {voxels.nbytes / 2**23:.0f} MiB uint16"
    report("formats", rows, f"{size}; conversion {large.nbytes / 2**20:.0f} MiB", given)


def conversion(voxels: Voxels, path: Path, repeats: int) -> list[Row]:
    """Chunked HDF5 to sharded Zarr v3 with a pyramid: time and peak memory, each run in a process of its own."""
    case = f"HDF5 to sharded Zarr v3 with pyramid, {voxels.nbytes / 2**20:.0f} MiB"
    with h5py.File(path / "scan.h5", "w") as file:
        file.create_dataset("data", data=voxels, **hdf5_cases.LAYOUTS["gzip"])
    ours, theirs = [], []
    for _ in range(repeats):
        ours.append(_run("ours", path))
        try:
            theirs.append(_run("dask", path))
        except subprocess.CalledProcessError as error:
            return [unavailable(case, "dask + zarr-python", error.stderr.splitlines()[-1])]
    seconds, memory = (statistics.median(values) for values in zip(*ours, strict=True))
    peer_seconds, peer_memory = (statistics.median(values) for values in zip(*theirs, strict=True))
    return [
        shorter(case, "s", seconds, "dask + zarr-python", peer_seconds),
        shorter(case, "MiB", memory / 2**20, "dask + zarr-python", peer_memory / 2**20, "peak memory"),
        shorter(case, "MiB", memory / 2**20, TARGET, MEMORY_TARGET_BYTES / 2**20, "peak memory"),
    ]


def _run(who: str, path: Path) -> tuple[float, ...]:
    target = path / "out.zarr"
    shutil.rmtree(target, ignore_errors=True)
    command = [sys.executable, "-m", "benchmarks.conversion_peer", who, str(path / "scan.h5"), str(target)]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return tuple(float(word) for word in printed.split())


if __name__ == "__main__":
    main()
