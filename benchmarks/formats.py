"""How fast volumes are read, written and converted, beside the libraries that people use today.

Here: the whole table: HDF5, N5 and Zarr, conversion.
Not here: the rows (hdf5_cases, store_cases, conversion_peer).

    python -m benchmarks.formats [--quick] [--json FILE]
"""

import shutil
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
    planes, repeats = (512, 1) if given.is_quick else (2048, 3)
    large = scan(planes)
    voxels, small = large[: planes // 2], large[: planes // 8]
    with folder() as path:
        rows = hdf5_cases.rows(voxels, path, repeats)
    with folder() as path:
        rows += store_cases.rows(small, path, repeats)
    with folder() as path:
        rows += conversion(large, path)
    sizes = (f"{name} {part.nbytes / 2**20:.0f} MiB" for name, part in (("HDF5", voxels), ("stores", small)))
    report("formats", rows, f"{', '.join(sizes)} uint16; conversion {large.nbytes / 2**20:.0f} MiB", given)


def conversion(voxels: Voxels, path: Path) -> list[Row]:
    """Chunked HDF5 to sharded Zarr v3 with a pyramid: time and peak memory, each once, in a process of its own."""
    case = f"HDF5 to sharded Zarr v3 with pyramid, {voxels.nbytes / 2**20:.0f} MiB"
    with h5py.File(path / "scan.h5", "w") as file:
        file.create_dataset("data", data=voxels, **hdf5_cases.LAYOUTS["gzip"])
    (seconds, memory), peer = _run("ours", path), "dask + zarr-python"
    rows = [shorter(case, "MiB", memory / 2**20, TARGET, MEMORY_TARGET_BYTES / 2**20, "peak memory")]
    try:
        peer_seconds, peer_memory = _run("dask", path)
    except subprocess.CalledProcessError as error:
        return [*rows, unavailable(case, peer, error.stderr.splitlines()[-1])]
    return [
        shorter(case, "s", seconds, peer, peer_seconds),
        shorter(case, "MiB", memory / 2**20, peer, peer_memory / 2**20, "peak memory"),
        *rows,
    ]


def _run(who: str, path: Path) -> tuple[float, ...]:
    target = path / "out.zarr"
    shutil.rmtree(target, ignore_errors=True)
    command = [sys.executable, "-m", "benchmarks.conversion_peer", who, str(path / "scan.h5"), str(target)]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return tuple(float(word) for word in printed.split())


if __name__ == "__main__":
    main()
