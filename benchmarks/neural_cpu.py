"""How good is a small neural field after a minute on a CPU, beside the same model after 50,000 steps on a GPU?

    python -m benchmarks.neural_cpu [--quick] [--json FILE] [--parts FOLDER] [--only references]

`compress --time 60s --device cpu` with 2^16 parameters on real scans, and their PSNR over all voxels. What 50,000 steps
reach is measured on a GPU, of our model and of AMGSRN as published: --only references leaves it in
FOLDER/neural_cpu.json, from where a run without a GPU takes it; else AMGSRN at 131 kB stands beside it, from the stored
table of benchmarks.neural. (A frame through bricks: neural_drawing.)
"""

import argparse
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.entry_points import with_entry_points
from benchmarks.neural_entries import AMGSRN
from benchmarks.neural_published import Published, write_published
from benchmarks.neural_volumes import is_there, write_volume
from benchmarks.table import RESULTS, TARGET, Options, Row, report, unavailable
from pellucid.neural.compression import CompressionOptions, compress

NAMES, NAMES_GPU = ("bonsai",), ("bonsai", "engine", "spm152")
"""Each takes more than a minute. On a GPU, references are measured for all."""
STORED = RESULTS / "neural-quality-cuda.md"
SMALL, SECONDS, STEPS = 1 << 16, 60.0, 50_000
QUICK_SECONDS, QUICK_STEPS = 3.0, 60
LOST_DB = 1.0
"""That the minute may be behind the 50,000 steps."""


def main() -> None:
    parser = argparse.ArgumentParser(description="A minute of training on a CPU.")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, under 60 s on 2 cores")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    parser.add_argument("--parts", type=Path, metavar="FOLDER", help="where references are kept (default: nowhere)")
    parser.add_argument("--only", choices=("references",), help="write no table")
    given = parser.parse_args()
    names = (
        ["smooth32"]
        if given.quick
        else [name for name in (NAMES_GPU if torch.cuda.is_available() else NAMES) if is_there(name)]
    )
    with tempfile.TemporaryDirectory() as folder:
        with_entry_points(Path(folder) / "site")
        kept = (given.parts or Path(folder)) / "neural_cpu.json"
        found = json.loads(kept.read_text()) if kept.exists() else {}
        if torch.cuda.is_available():
            for name in names:
                if name not in found:
                    found[name] = references(name, Path(folder), is_quick=given.quick)
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    kept.write_text(json.dumps(found) + "\n")
        if given.only is None:
            rows = [row for name in names for row in rows_of(name, found, Path(folder), is_quick=given.quick)]
            size = f"{SMALL:,} parameters, {QUICK_SECONDS if given.quick else SECONDS:.0f} s"
            rows = rows or [unavailable("all", "ours", "no scans")]
            report("neural_cpu", rows, size, Options(given.quick, given.json))


def references(name: str, folder: Path, *, is_quick: bool) -> dict[str, float]:
    """PSNR after 50,000 steps, by model."""
    source, decoded = folder / f"{name}.npy", folder / "decoded.npy"
    write_volume(name, source)
    steps = QUICK_STEPS if is_quick else STEPS
    write_published(source, Published("amgsrn", SMALL, steps), decoded)
    found = {"AMGSRN as published": psnr(np.load(source), np.load(decoded))}
    decoded.unlink()
    options = CompressionOptions(parameters=SMALL, steps=steps)
    return found | {"the same model": compress(source, folder / f"{name}.plf", options).quality.psnr}


def psnr(voxels: Any, found: Any) -> float:
    error = np.square(voxels.astype(np.float64) - found).mean()
    return float(20 * np.log10(float(np.ptp(voxels))) - 10 * np.log10(error))


def rows_of(name: str, found: dict[str, dict[str, float]], folder: Path, *, is_quick: bool) -> list[Row]:
    source = folder / f"{name}.npy"
    write_volume(name, source)
    seconds = QUICK_SECONDS if is_quick else SECONDS
    options = CompressionOptions(parameters=SMALL, seconds=seconds, device="cpu", overwrite=True)
    made = compress(source, folder / f"{name}.plf", options)
    own, steps = made.quality.psnr, made.training.steps
    rows = [Row(f"{name}, {steps:,} steps in {made.training.seconds:.0f} s", "PSNR", "dB", own, "", None, None)]
    if name not in found:
        rows += [Row(name, "PSNR", "dB", own, peer, reached, own / reached) for peer, reached in stored(name).items()]
    for peer, reached in found.get(name, {}).items():
        rows.append(Row(name, "PSNR", "dB", own, f"{peer}, {STEPS:,} steps on a GPU", reached, own / reached))
        rows.append(Row(f"{name}: behind {peer}", "PSNR", "dB", reached - own, TARGET, LOST_DB, None))
    return rows


def stored(volume: str) -> dict[str, float]:
    """The PSNR of AMGSRN as published, which was trained on a GPU for at most 50,000 steps, by how it was."""
    text = STORED.read_text() if STORED.exists() else ""
    commit = re.search(r"Commit: .*?(\w+)\.$", text, re.MULTILINE)
    cells = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    return {
        f"{method}, {nbytes} bytes, {steps} steps on a GPU (stored at {commit[1] if commit else 'no commit'})": float(
            psnr
        )
        for _, name, method, nbytes, psnr, *_, steps, _ in (line for line in cells if len(line) == 12)
        if name == volume and method == AMGSRN
    }


if __name__ == "__main__":
    main()
