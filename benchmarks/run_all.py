"""Every benchmark, one after another, all of the same commit.

    python -m benchmarks.run_all [--again] [--quick]

Here: which scripts are benchmarks, that the source stays the same while they run, and which need not run again.
Not here: what a script measures, its table (table).

What was interrupted goes on: a script that has finished at the commit measured is left out, unless --again is given.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.table import RESULTS, commit, table_name
from pellucid.device import devices

CALLS_REPORT = re.compile(r"^ +report\(", re.MULTILINE)
FOLDER = Path(__file__).parent
FINISHED = FOLDER.parent / "build" / "benchmarks.json"
"""The commit at which each table was finished. The table alone does not say so: some are written as they grow."""

NEEDS_CARD = frozenset({"learn_overlap", "learn_speed", "neural_speed", "reconstruct_steps", "render_cuda"})
"""Without a CUDA card there is nothing that these could measure."""
TRAINS = frozenset(
    {"learn_denoise", "learn_segment", "learn_superres", "neural", "neural_bounded", "neural_ensemble", "neural_large"}
)
"""Trainings take minutes on a card, hours or days without one: there they run with --quick only, to see that they
work."""


def names(*, has_card: bool, is_quick: bool) -> list[str]:
    """The scripts that write a table on this machine."""
    left_out = frozenset[str]() if has_card else NEEDS_CARD if is_quick else NEEDS_CARD | TRAINS
    scripts = [path for path in sorted(FOLDER.glob("*.py")) if CALLS_REPORT.search(path.read_text())]
    return [path.stem for path in scripts if path.stem not in left_out]


def run(scripts: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """The scripts that failed, or during which the source changed."""
    start, failed = commit(), list[str]()
    print(f"== {len(scripts)} benchmarks at {start}: {', '.join(scripts)}", flush=True)
    for number, name in enumerate(scripts, 1):
        table = RESULTS / table_name(name, is_quick="--quick" in arguments)
        if is_finished(table, start):
            print(f"== {name}: measured already at {start}", flush=True)
            continue
        print(f"== {name}, {number} of {len(scripts)}", flush=True)
        status = measure(name, arguments)
        if commit() != start:
            return [*failed, f"the source changed from {start} to {commit()} during {name}: run all of them again"]
        if status != 0:
            failed.append(f"{name} failed with status {status}")
        else:
            note_finished(table, start)
    return failed


def measure(name: str, arguments: Sequence[str]) -> int:
    """Run a script in a process of its own; its exit status."""
    began = time.monotonic()
    ended = subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *arguments], check=False)
    print(f"== {name}: {time.monotonic() - began:.0f} s", flush=True)
    return ended.returncode


def is_finished(table: Path, at: str) -> bool:
    """Whether the table was completed at that commit. Changes that are not committed have no name: never with them."""
    has_name = at != "unknown" and not at.endswith("+")
    return has_name and finished().get(table.name) == at and table.is_file() and f"Commit: {at}." in table.read_text()


def note_finished(table: Path, at: str) -> None:
    FINISHED.parent.mkdir(parents=True, exist_ok=True)
    FINISHED.write_text(json.dumps({**finished(), table.name: at}, indent=1) + "\n")


def finished() -> dict[str, str]:
    """The commit at which each table was finished, by its file name."""
    return dict(json.loads(FINISHED.read_text())) if FINISHED.is_file() else {}


def main() -> None:
    arguments = sys.argv[1:]
    if "--again" in arguments:
        arguments.remove("--again")
        FINISHED.unlink(missing_ok=True)
    has_card = any(device.is_cuda for device in devices())
    failed = run(names(has_card=has_card, is_quick="--quick" in arguments), arguments)
    for line in failed:
        print(f"run_all: {line}", file=sys.stderr)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
