"""How fast does AMGSRN train on a GPU, and what does rounding its features cost?

    python -m benchmarks.neural_speed [--quick] [--json FILE] [--part time|rounding] [--parts FOLDER] [--until SECONDS]

The medium model on real scans: 50,000 steps as published, and the quick training that is to come within 0.3 dB of it in
5 s, one after the other; then what rounding costs, several at the same time. Every result is kept in
FOLDER/neural_speed.json as soon as it is there. Without a GPU there is nothing to measure.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from benchmarks.neural_volumes import SCANS, is_there, scans
from benchmarks.table import TARGET, Options, Row, report, unavailable
from pellucid.neural.cuda_training import CudaTrainer
from pellucid.neural.fitting import stored_network
from pellucid.neural.models import make_network
from pellucid.neural.samples import VolumeSamples
from pellucid.neural.training import TrainingOptions

MEDIUM = 1 << 20
QUICK_S, QUICK_STEPS, QUICK_BATCH = 4.8, 30_000, 1 << 16
"""Steps that are certainly not made in so many seconds."""
PUBLISHED_STEPS = 50_000
EXACT_STEPS = 12_000
ROUNDING, CODING_WEIGHT = 0.3, 0.1
"""The step relative to the root mean square of features, and the weight of the bits that they take."""
SMALLER, USED = 8.0, 0.985
"""Rounded a second time, a file is so many times smaller than float32 parameters, and takes so much of those bytes."""
AT_ONCE = 3
Rows = dict[str, list[Row]]


def main() -> None:
    parser = argparse.ArgumentParser(description="Training of neural fields on a GPU.")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, under 60 s on 2 cores")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    parser.add_argument("--part", choices=("time", "rounding", "table"), help="default: time, then rounding")
    parser.add_argument("--parts", type=Path, metavar="FOLDER", help="where results are kept (default: nowhere)")
    parser.add_argument("--until", type=float, default=float("inf"), metavar="SECONDS", help="start nothing later")
    given = parser.parse_args()
    names = [name for name in tuple(SCANS)[: 1 if given.quick else None] if is_there(name)]
    with tempfile.TemporaryDirectory() as folder:
        kept = (given.parts or Path(folder)) / "neural_speed.json"
        found = load(kept)
        if torch.cuda.is_available() and given.part != "table":
            measure(names, found, kept, given.part, time.monotonic() + given.until)
    rows = [row for name in sorted(found) for row in found[name]]
    rows = rows or [unavailable("training", "ours", "no GPU, or no scans")]
    report("neural_speed", rows, f"AMGSRN, {MEDIUM:,} parameters", Options(given.quick, given.json))


def load(kept: Path) -> Rows:
    """Rows that were measured before, by scan and question."""
    stored = json.loads(kept.read_text()) if kept.exists() else {}
    return {name: [Row(**row) for row in rows] for name, rows in stored.items()}


def save(kept: Path, found: Rows) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps({name: [asdict(row) for row in rows] for name, rows in found.items()}, indent=1) + "\n")


def measure(names: Sequence[str], found: Rows, kept: Path, part: str | None, deadline: float) -> None:
    """Those rows that are not there yet, and begin before the deadline."""
    for name in names if part in (None, "time") else ():
        if f"{name}, time" not in found and time.monotonic() < deadline:
            found[f"{name}, time"] = time_rows(name)
            save(kept, found)
    wanted = [name for name in names if part in (None, "rounding") and f"{name}, rounding" not in found]
    with ProcessPoolExecutor(AT_ONCE, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(partial(rounding_rows, name, deadline)): name for name in wanted}
        for future in as_completed(futures):
            if rows := future.result():
                found[f"{futures[future]}, rounding"] = rows
                save(kept, found)


def time_rows(name: str) -> list[Row]:
    """The published training, and the quick one."""
    array = scans([name])[0][1]
    long, long_s = train(array, schedule="plateau", steps=PUBLISHED_STEPS, transform_rate=2.5e-4)
    short, short_s = train(array, at_voxels=True, steps=QUICK_STEPS, batch=QUICK_BATCH, seconds=QUICK_S)
    return [
        Row(f"{name}: 50,000 steps as published", "PSNR", "dB", long, "", None, None),
        Row(f"{name}: the same in {long_s:.1f} s, quickly in", "time", "s", short_s, TARGET, 5.0, 5.0 / short_s),
        Row(f"{name}: lost by training quickly", "PSNR", "dB", long - short, TARGET, 0.3, None),
    ]


def rounding_rows(name: str, deadline: float) -> list[Row]:
    """What rounded features lose, and how much smaller their file is. Nothing after the deadline."""
    if time.monotonic() > deadline:
        return []
    array, rows = scans([name])[0][1], list[Row]()
    exact, _ = train(array, steps=EXACT_STEPS, at_voxels=True)
    relative = ROUNDING
    for _ in range(2):
        coded = list[int]()
        settings = {"steps": EXACT_STEPS, "rounding": relative, "coding_weight": CODING_WEIGHT}
        rounded, _ = train(array, coded, at_voxels=True, **settings)
        case = f"{name}: lost by rounding to {relative:.2g} of the RMS, {4 * MEDIUM / coded[0]:.2f} x smaller"
        rows.append(Row(case, "PSNR", "dB", exact - rounded, TARGET, 0.2, None))
        relative *= 2.0 ** (8 * (coded[0] - USED * 4 * MEDIUM / SMALLER) / MEDIUM)
    return rows


def train(
    array: Any, coded: list[int] | None = None, *, at_voxels: bool = False, **settings: Any
) -> tuple[float, float]:
    """PSNR and seconds of a training of the medium model. coded: is given its bytes in a file."""
    voxels = torch.from_numpy(array).cuda()
    extent = float(voxels.min()), float(voxels.max())
    network = make_network("amgsrn", MEDIUM, array.shape).cuda()
    trainer = CudaTrainer(network, VolumeSamples(voxels, extent), TrainingOptions(**settings), at_voxels=at_voxels)
    trainer.prepare()
    start = time.perf_counter()
    trainer.train()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    if coded is not None:
        coded.append(stored_network(network, trainer.rounding_steps)[1])
    error = trainer.values() - (voxels.float() - extent[0]) / (extent[1] - extent[0])
    return float(-10 * torch.log10(error.square().mean())), seconds


if __name__ == "__main__":
    main()
