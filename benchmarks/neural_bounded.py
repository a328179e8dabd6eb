"""How many bytes does a neural field with a strict error bound take, beside SPERR with the same bound?

    python -m benchmarks.neural_bounded [--quick] [--json FILE] [--parts FOLDER] [--until SECONDS]

A field of the size that --size would give, and the residual that keeps every voxel within the bound; their bytes apart.
Real scans are taken from ../shared/data; those that are absent are left out by name. Every result is kept in
FOLDER/neural_bounded.json as soon as it is there: another run leaves it out.
"""

import argparse
import json
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.entry_points import with_entry_points
from benchmarks.neural_codecs import sperr
from benchmarks.neural_volumes import SCANS, is_there, write_volume
from benchmarks.table import Options, Row, report, shorter, unavailable
from pellucid.formats.neural_field.residual import coding_bound
from pellucid.neural.compression import CompressionOptions, compress

BOUNDS = (2.0, 8.0)
"""Grey values of scans; thousandths of the range of the smooth volume."""
FIELD_BYTES = (32_768, 131_072)


@dataclass(frozen=True)
class Case:
    """bound: as in BOUNDS. size: of the base."""

    volume: str
    bound: float
    size: int
    steps: int | None = None


def main() -> None:
    parser = argparse.ArgumentParser(description="Neural fields with an error bound beside SPERR.")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, under 60 s on 2 cores")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    parser.add_argument("--parts", type=Path, metavar="FOLDER", help="where results are kept (default: nowhere)")
    parser.add_argument("--until", type=float, default=float("inf"), metavar="SECONDS", help="start nothing later")
    given = parser.parse_args()
    names = ("smooth32",) if given.quick else (*SCANS, "smooth256")
    sizes, steps = ((16_384,), 60) if given.quick else (FIELD_BYTES, None)
    cases = [Case(name, bound, size, steps) for name in names for bound in BOUNDS for size in sizes]
    with tempfile.TemporaryDirectory() as folder:
        with_entry_points(Path(folder) / "site")
        kept = (given.parts or Path(folder)) / "neural_bounded.json"
        found = measured(cases, kept, Path(folder), time.monotonic() + given.until)
    rows = [unavailable(name, "ours", "absent") for name in names if not is_there(name)]
    rows += [row for case in cases for row in found.get(str(case), [])]
    report("neural_bounded", rows, f"fields of {sizes} bytes", Options(given.quick, given.json))


def measured(cases: list[Case], kept: Path, folder: Path, deadline: float) -> dict[str, list[Row]]:
    """Rows by case; those that are kept already are not measured again."""
    found: dict[str, list[Row]] = {}
    if kept.exists():
        found = {name: [Row(**row) for row in rows] for name, rows in json.loads(kept.read_text()).items()}
    wanted = [case for case in cases if is_there(case.volume) and str(case) not in found]
    for name in {case.volume for case in wanted}:
        write_volume(name, folder / f"{name}.npy")
    workers = 4 if torch.cuda.is_available() else 1
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        work = partial(bounded_rows, folder=folder, deadline=deadline)
        futures = {pool.submit(work, case): case for case in wanted}
        for future in as_completed(futures):
            if rows := future.result():
                found[str(futures[future])] = rows
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps({name: [asdict(row) for row in some] for name, some in found.items()}))
    return found


def bounded_rows(case: Case, folder: Path, deadline: float) -> list[Row]:
    """The whole file beside SPERR's bytes, and of what it consists. Nothing after the deadline."""
    if time.monotonic() > deadline:
        return []
    source = folder / f"{case.volume}.npy"
    array = np.load(source)
    bound = case.bound if array.dtype.kind != "f" else case.bound / 1000 * float(np.ptp(array))
    path = folder / f"{case.volume}-{case.bound:g}-{case.size}.plf"
    ours = compress(source, path, CompressionOptions(size=case.size, max_error=bound, steps=case.steps))
    theirs, error = _sperr_within(array, bound)
    name = f"{case.volume}, every voxel within {bound:.3g}, base of {case.size // 1000} kB"
    peer = f"SPERR, within {error:.3g}"
    return [
        shorter(name, "kB", ours.file_bytes / 1000, peer, theirs / 1000, "bytes of the file"),
        Row(f"{name}: base", "bytes", "kB", ours.field_bytes / 1000, "", None, None),
        Row(f"{name}: residual", "bytes", "kB", ours.residual_bytes / 1000, "", None, None),
    ]


def _sperr_within(array: Any, bound: float) -> tuple[int, float]:
    """Bytes, and the largest error of its voxels."""
    count, decode = sperr(array.astype(np.float32), coding_bound(bound, array.dtype))
    decoded = decode()
    values = np.rint(decoded) if array.dtype.kind in "iu" else decoded
    return count, float(np.abs(values.astype(float) - array).max())


if __name__ == "__main__":
    main()
