"""How good is a small neural field after a minute on the CPU, beside one that a GPU has trained to its end?

    python -m benchmarks.neural_minute [--quick] [--json FILE]

``pellucid compress --time 60s`` with a small model (2^16 parameters) on the CPU. The peers were trained on a GPU, as
long as they improved, for at most 50,000 iterations: they are read from the stored table of benchmarks.neural, whose
commit is named.
"""

import re
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.neural_entries import AMGSRN, OURS
from benchmarks.neural_volumes import is_there, scans, smooth
from benchmarks.table import RESULTS, Row, options, report, unavailable
from pellucid.neural.compression import CompressionOptions, compress

SCAN = "bonsai"
PARAMETERS, SECONDS = 1 << 16, 60.0
QUICK_PARAMETERS, QUICK_SECONDS, QUICK_EDGE = 1 << 12, 5.0, 32
STORED = RESULTS / "neural-quality-cuda.md"


def main() -> None:
    given = options("A small neural field after a minute on the CPU.")
    has_scan = is_there(SCAN) and not given.is_quick
    name, voxels = scans([SCAN])[0] if has_scan else (f"smooth {QUICK_EDGE}³", smooth(QUICK_EDGE))
    parameters, seconds = (QUICK_PARAMETERS, QUICK_SECONDS) if given.is_quick else (PARAMETERS, SECONDS)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "volume.npy"
        np.save(source, voxels)
        chosen = CompressionOptions(parameters=parameters, seconds=seconds, device="cpu")
        made = compress(source, Path(folder) / "field.plf", chosen)
    case, psnr = f"{name}, {made.training.steps:,} steps in {seconds:g} s", made.quality.psnr
    rows = [Row(case, "PSNR", "dB", psnr, peer, value, psnr / value) for peer, value in stored(name).items()]
    rows = rows or [Row(case, "PSNR", "dB", psnr, "none", None, None), unavailable(case, AMGSRN, "it is not stored")]
    rows.append(Row(case, "bytes of the file", "kB", made.file_bytes / 1000, "none", None, None))
    rows.append(Row(case, "training", "s", made.training.seconds, "none", None, None))
    size = f"{made.parameters:,} parameters, {name}, on the CPU; of a GPU, stored at {stored_commit()}"
    report("neural_minute", rows, size, given)


def stored(volume: str) -> dict[str, float]:
    """The PSNR of fields of a volume that were trained on a GPU, by what trained them."""
    cells = [[cell.strip() for cell in line.split("|")] for line in stored_text().splitlines()]
    return {
        f"{method}, {nbytes} bytes, {steps} steps on a GPU": float(psnr)
        for _, name, method, nbytes, psnr, *_, steps, _ in (line for line in cells if len(line) == 12)
        if name == volume and method in (OURS, AMGSRN)
    }


def stored_commit() -> str:
    found = re.search(r"Commit: (.*)\.$", stored_text(), re.MULTILINE)
    return found[1] if found else "no commit"


def stored_text() -> str:
    return STORED.read_text() if STORED.exists() else ""


if __name__ == "__main__":
    main()
