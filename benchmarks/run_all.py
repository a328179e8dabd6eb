"""Every benchmark, one after another, all of the same commit.

    python -m benchmarks.run_all [--quick]

Here: which scripts are benchmarks, and that the source stays the same while they run.
Not here: what a script measures, its table (table).
"""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.table import commit
from pellucid.device import devices

CALLS_REPORT = re.compile(r"^ +report\(", re.MULTILINE)
FOLDER = Path(__file__).parent
NEEDS_CARD = frozenset({"large_surfaces", "learn_speed", "render_cuda", "neural_speed"})
"""Without a CUDA card there is nothing that these could measure."""


def names(has_card: bool) -> list[str]:
    """The scripts that write a table."""
    scripts = [path for path in sorted(FOLDER.glob("*.py")) if CALLS_REPORT.search(path.read_text())]
    return [path.stem for path in scripts if has_card or path.stem not in NEEDS_CARD]


def run(scripts: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """The scripts that failed, or during which the source changed."""
    start, failed = commit(), []
    for name in scripts:
        print(f"== {name}", flush=True)
        ended = subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *arguments], check=False)
        if ended.returncode != 0:
            failed.append(f"{name} failed with status {ended.returncode}")
        if commit() != start:
            return [*failed, f"the source changed from {start} to {commit()} during {name}: run all of them again"]
    return failed


def main() -> None:
    failed = run(names(any(device.is_cuda for device in devices())), sys.argv[1:])
    for line in failed:
        print(f"run_all: {line}", file=sys.stderr)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
