"""How many bytes does a neural field with a strict error bound take, beside SPERR with the same bound?

    python -m benchmarks.neural_bounded [--quick] [--json FILE] [--parts FOLDER] [--until SECONDS]
                                        [--sizes BYTES ...]

The field that --max-error chooses, or one of each of --sizes, and the residual that keeps every voxel within the bound;
their bytes apart. Real scans are taken from ../shared/data; those that are absent are left out by name. Every result is
kept in the file FOLDER/neural_bounded.json as soon as it is there: another run leaves it out. Fields of --sizes that
benchmarks.neural left in FOLDER/fields are not trained again.
"""

import argparse
import json
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.entry_points import with_entry_points
from benchmarks.neural_codecs import sperr
from benchmarks.neural_entries import OURS
from benchmarks.neural_jobs import Job
from benchmarks.neural_measuring import file_name
from benchmarks.neural_volumes import SCANS, is_there, write_volume
from benchmarks.table import Options, Row, report, shorter, unavailable
from pellucid.formats.neural_field.format import NeuralReader
from pellucid.formats.neural_field.residual import coding_bound
from pellucid.neural.compression import CompressionOptions, compress
from pellucid.neural.residual_coding import bounded_size, code_residual
from pellucid.volume.volume import open_volume

BOUNDS = (2.0, 8.0)
"""Grey values of scans; thousandths of the range of the smooth volume."""
CHOSEN = 0
"""The size that is chosen for a bound."""
SECTION_ENTRY = 96
"""Bytes that a section takes beside its own, in the header of a file and before the next one."""


@dataclass(frozen=True)
class Case:
    """bound: as in BOUNDS. size: of the base, or CHOSEN."""

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
    parser.add_argument("--sizes", nargs="+", type=int, metavar="BYTES", default=[CHOSEN], help="of the fields")
    given = parser.parse_args()
    names = ("smooth32",) if given.quick else (*SCANS, "smooth256")
    sizes, steps = ((16_384,), 60) if given.quick else (tuple(given.sizes), None)
    cases = [Case(name, bound, size, steps) for name in names for bound in BOUNDS for size in sizes]
    with tempfile.TemporaryDirectory() as folder:
        with_entry_points(Path(folder) / "site")
        kept = (given.parts or Path(folder)) / "neural_bounded.json"
        found = measured(cases, kept, Path(folder), time.monotonic() + given.until)
    rows = [unavailable(name, "ours", "absent") for name in names if not is_there(name)]
    rows += [row for case in cases for row in found.get(str(case), [])]
    fields = "chosen for each bound" if CHOSEN in sizes else f"of {sizes} bytes"
    report("neural_bounded", rows, f"fields {fields}", Options(given.quick, given.json))


def measured(cases: list[Case], kept: Path, folder: Path, deadline: float) -> dict[str, list[Row]]:
    """Rows by case; those that are kept already are not measured again."""
    found: dict[str, list[Row]] = {}
    if kept.exists():
        found = {name: [Row(**row) for row in rows] for name, rows in json.loads(kept.read_text()).items()}
    wanted = [case for case in cases if is_there(case.volume) and str(case) not in found]
    fields = kept.parent / "fields"
    for name in {case.volume for case in wanted}:
        write_volume(name, folder / f"{name}.npy")
    sized = {case: replace(case, size=case.size or chosen_size(case, folder)) for case in wanted}
    for base in {(case.volume, case.size, case.steps) for case in sized.values()}:
        if time.monotonic() < deadline:
            train_base(*base, folder, fields)
    workers = 4 if torch.cuda.is_available() else 1
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        work = partial(bounded_rows, folder=folder, fields=fields, deadline=deadline)
        futures = {pool.submit(work, case): own for own, case in sized.items()}
        for future in as_completed(futures):
            if rows := future.result():
                found[str(futures[future])] = rows
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps({name: [asdict(row) for row in some] for name, some in found.items()}))
    return found


def field_path(fields: Path, volume: str, size: int) -> Path:
    return fields / f"{file_name(Job(volume, OURS, size))}.plf"


def chosen_size(case: Case, folder: Path) -> int:
    with open_volume(folder / f"{case.volume}.npy") as volume:
        return bounded_size(volume, bound_of(case, np.dtype(volume.dtype), volume.value_range))


def bound_of(case: Case, dtype: np.dtype[Any], value_range: tuple[float, float]) -> float:
    """In the units of a volume."""
    return case.bound if dtype.kind != "f" else case.bound / 1000 * (value_range[1] - value_range[0])


def train_base(volume: str, size: int, steps: int | None, folder: Path, fields: Path) -> None:
    """Train the field of a volume, unless it was kept."""
    path = field_path(fields, volume, size)
    if not path.exists():
        fields.mkdir(parents=True, exist_ok=True)
        compress(folder / f"{volume}.npy", path, CompressionOptions(size=size, steps=steps))


def bounded_rows(case: Case, folder: Path, fields: Path, deadline: float) -> list[Row]:
    """The whole file beside SPERR's bytes, and of what it consists. Nothing after the deadline."""
    base = field_path(fields, case.volume, case.size)
    if time.monotonic() > deadline or not base.exists():
        return []
    source = folder / f"{case.volume}.npy"
    array = np.load(source)
    bound = bound_of(case, array.dtype, (float(array.min()), float(array.max())))
    residual = residual_bytes(source, base, bound)
    theirs, error = _sperr_within(array, bound)
    name = f"{case.volume}, every voxel within {bound:.3g}, base of {case.size // 1000} kB"
    peer, field = f"SPERR, within {error:.3g}", base.stat().st_size
    return [
        shorter(name, "kB", (field + residual) / 1000, peer, theirs / 1000, "bytes of the file"),
        Row(f"{name}: base", "bytes", "kB", field / 1000, "", None, None),
        Row(f"{name}: residual", "bytes", "kB", residual / 1000, "", None, None),
    ]


def residual_bytes(source: Path, base: Path, bound: float) -> int:
    """Of what a field lacks, coded as ``compress --max-error`` codes it and checked on every voxel."""
    decoded = source.with_name(f"{base.stem}.decoded.npy")
    with open_volume(source) as volume, closing(NeuralReader(base)) as reader:
        if not decoded.exists():  # Other bounds need them too.
            np.save(decoded, reader.volume.values(volume.box))
        values = np.load(decoded)
        _, sections = code_residual(volume, lambda box: values[box.slices].copy(), bound)
    return sum(len(data) + SECTION_ENTRY for data in sections.values())


def _sperr_within(array: Any, bound: float) -> tuple[int, float]:
    """Bytes, and the largest error of its voxels."""
    count, decode = sperr(array.astype(np.float32), coding_bound(bound, array.dtype))
    decoded = decode()
    values = np.rint(decoded) if array.dtype.kind in "iu" else decoded
    return count, float(np.abs(values.astype(float) - array).max())


if __name__ == "__main__":
    main()
