"""What every benchmark prints: one table of ratios, with machine, size and commit.

Here: Row, interleaved timing, the table on screen, in benchmarks/results/ and as JSON, the common options.
Not here: what is measured (one script per question).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import inf, isfinite, isnan, nan
from pathlib import Path

from pellucid import settings
from pellucid.device import devices

RESULTS = Path(__file__).parent / "results"
TARGET = "target"
ENOUGH_S = 5.0
MEASURED = ("src", "benchmarks/*.py", "clients", "web/src")


@dataclass(frozen=True)
class Row:
    """One comparison. ratio: above 1 means that ours is better, whatever the metric; None where there is no peer."""

    case: str
    metric: str
    unit: str
    ours: float | None
    peer: str
    peer_value: float | None
    ratio: float | None


def faster(case: str, unit: str, ours: float, peer: str, peer_value: float) -> Row:
    """A row where more is better: a speed or a speed-up."""
    return Row(case, "speed", unit, ours, peer, peer_value, ours / peer_value)


def shorter(case: str, unit: str, ours: float, peer: str, peer_value: float, metric: str = "time") -> Row:
    """A row where less is better: a time or an amount of memory."""
    return Row(case, metric, unit, ours, peer, peer_value, peer_value / ours)


def unavailable(case: str, peer: str, why: str) -> Row:
    """A peer that could not be measured: a row that says so, never a silent gap."""
    return Row(case, f"not measured: {why}", "", None, peer, None, None)


def interleave(functions: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each function, as in_turn."""
    return in_turn({name: partial(seconds_of, function) for name, function in functions.items()}, repeats)


def seconds_of(function: Callable[[], object]) -> float:
    """Once, as it is: for what takes many seconds. Not a number where it fails."""

    def timed() -> float:
        start = time.perf_counter()
        function()
        return time.perf_counter() - start

    return attempt(timed)


def in_turn(measures: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, float]:
    """The median of what each returns; they take turns, so that a disturbed moment disturbs all alike.

    Each runs once more before, and that does not count: caches, kernels and lazy imports are not the question. What
    takes long is repeated less: after ENOUGH_S of its own, others go on without it. What fails is not a number.
    """
    found: dict[str, list[float]] = {name: [] for name in measures}
    spent = {name: 0.0 if isfinite(attempt(measure)) else inf for name, measure in measures.items()}
    for _ in range(repeats):
        for name, measure in measures.items():
            if spent[name] < ENOUGH_S:
                start = time.perf_counter()
                found[name].append(attempt(measure))
                spent[name] += time.perf_counter() - start
    return {name: statistics.median(values or [nan]) for name, values in found.items()}


def attempt(measure: Callable[[], float]) -> float:
    """What it returns; not a number where it fails, so that everything else is still measured."""
    try:
        return measure()
    except Exception:  # noqa: BLE001 - of other software, whatever it raises
        traceback.print_exc()
        return nan


@dataclass(frozen=True)
class Options:
    """What every benchmark takes on its command line."""

    is_quick: bool
    json_path: Path | None


def options(description: str, arguments: Sequence[str] | None = None) -> Options:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="smaller sizes, under 60 s on 2 cores")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    given = parser.parse_args(arguments)
    return Options(given.quick, given.json)


def report(name: str, rows: Sequence[Row], size: str, given: Options, results: Path = RESULTS) -> None:
    """Print the table, save it as results/NAME.md (NAME-quick.md for a quick run), and the rows as JSON if asked.

    name: that of the script; size: what was worked on, in words. On a machine with a GPU the file's name ends in -cuda,
    beside the table without. Rows with what failed say so, and the script ends with an error after its table is saved.
    """
    failed = [row for row in rows if any(isinstance(value, float) and isnan(value) for value in _values(row))]
    rows = [unavailable(row.case, row.peer, "it failed") if row in failed else row for row in rows]
    text = f"# {name}\n\n{heading(size)}\n\n{markdown(rows)}\n"
    print(text)
    results.mkdir(parents=True, exist_ok=True)
    (results / table_name(name, is_quick=given.is_quick)).write_text(text)
    if given.json_path is not None:
        given.json_path.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    if failed:
        sys.exit(f"{name}: {', '.join(f'{row.case} ({row.peer})' for row in failed)} failed; see above.")


def table_name(name: str, *, is_quick: bool) -> str:
    """The file of a script's table, on this machine."""
    on_card = any(device.is_cuda for device in devices())
    return f"{name}{'-cuda' if on_card else ''}{'-quick' if is_quick else ''}.md"


def heading(size: str) -> str:
    cpu, *cards = devices()
    machine = f"{cpu.label}, {len(os.sched_getaffinity(0))} cores, {settings.total_memory_bytes() / 2**30:.0f} GiB"
    gpus = ", ".join(f"{card.label} {card.total_bytes / 2**30:.0f} GiB" for card in cards) or "no GPU"
    python = ".".join(map(str, sys.version_info[:3]))
    return f"Machine: {machine}; {gpus}; Python {python}. Size: {size}. Commit: {commit()}."


def commit() -> str:
    """The last commit that changed what is measured, with a plus sign where files differ from it. Documentation and the
    tables themselves may be committed between two benchmarks."""
    root = Path(__file__).parent.parent
    try:
        last = _git(root, "log", "-1", "--format=%h", "--", *MEASURED)
        changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", *MEASURED)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{last}+" if changed else last


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=True).stdout.strip()


def markdown(rows: Sequence[Row]) -> str:
    """A table whose columns line up, so that it reads in a terminal too."""
    cells = [["case", "metric", "unit", "ours", "peer", "its value", "ratio"]]
    cells += [[row.case, row.metric, row.unit, *map(_text, _values(row))] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) + " |" for line in cells
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def _values(row: Row) -> tuple[float | str | None, ...]:
    return (row.ours, row.peer, row.peer_value, row.ratio)


def _text(value: float | str | None) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
