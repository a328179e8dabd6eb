"""What was requested for workers, beside what they used: as sentences, as JSON, and as a plot over time.

Here: UsageReport.
Not here: measuring it (usage).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from pellucid.engines.parsl.site import WorkerKind
from pellucid.engines.parsl.usage import Sample, Usage, WorkerName, joined
from pellucid.errors import InvalidInput
from pellucid.formats.local_files import write_whole

MAX_ROWS = 32
LABEL, WIDTH, HEIGHT, GAP, TOP = 170, 250, 44, 24, 56
GIB = 2**30


@dataclass(frozen=True)
class UsageColumn:
    """One column of the plot. used, requested: of a sample and of its worker, in the unit; None: not known."""

    title: str
    unit: str
    used: Callable[[Sample], float | None]
    requested: Callable[[WorkerKind], float]


MEASURES = (
    UsageColumn("CPU", "cores", lambda sample: sample.cores, lambda kind: float(kind.cores)),
    UsageColumn("Memory", "GiB", lambda sample: sample.memory_bytes / GIB, lambda kind: kind.memory_bytes / GIB),
    UsageColumn("GPU", "share of its time", lambda sample: sample.gpu, lambda kind: 1.0 if kind.gpus else 0.0),
)


@dataclass(frozen=True)
class UsageReport:
    """usage: of every block, on workers of these kinds."""

    kinds: Sequence[WorkerKind]
    usage: Sequence[Usage]

    def sentences(self) -> list[str]:
        """For each kind of workers, how much of what was requested was used while they worked."""
        return [self._sentence(kind) for kind in self.kinds if self._of_kind(kind)]

    def write(self, path: Path) -> None:
        """.svg: the plot; .json: every sample."""
        if path.suffix == ".json":
            facts = {"requested": [asdict(kind) for kind in self.kinds], "used": [asdict(one) for one in self.usage]}
            write_whole(path, json.dumps(facts, default=str) + "\n")
        else:
            write_whole(path, self.plot())

    def plot(self) -> str:
        """An SVG picture: a row for each worker, time to the right, what was requested as a red line."""
        workers, kinds = self.by_worker(), {kind.name: kind for kind in self.kinds}
        shown = sorted(workers)[:MAX_ROWS]
        measures = [one for one in MEASURES if any(one.requested(kinds[worker.kind]) for worker in shown)]
        times = [moment for one in workers.values() for sample in one for moment in (sample.began, sample.ended)]
        began, ended = min(times, default=0.0), max(times, default=1.0)
        lines = [_heading(measures, len(workers) - len(shown), ended - began)]
        for row, worker in enumerate(shown):
            lines.append(
                _text(8, TOP + row * (HEIGHT + GAP) + HEIGHT / 2, f"{worker.host} {worker.kind} {worker.rank}")
            )
            for column, measure in enumerate(measures):
                cell = _Cell(
                    LABEL + column * (WIDTH + GAP), TOP + row * (HEIGHT + GAP), began, max(ended - began, 1e-3)
                )
                lines.append(cell.drawn(measure, kinds[worker.kind], workers[worker]))
        size = (LABEL + len(measures) * (WIDTH + GAP), TOP + len(shown) * (HEIGHT + GAP))
        return _svg(size, lines)

    def by_worker(self) -> dict[WorkerName, list[Sample]]:
        found: dict[WorkerName, list[Sample]] = {}
        for one in self.usage:
            found.setdefault(one.worker, []).extend(one.samples)
        return {worker: sorted(samples, key=lambda one: one.began) for worker, samples in found.items()}

    def _of_kind(self, kind: WorkerKind) -> dict[WorkerName, list[Sample]]:
        return {worker: samples for worker, samples in self.by_worker().items() if worker.kind == kind.name}

    def _sentence(self, kind: WorkerKind) -> str:
        workers = self._of_kind(kind)
        sums = [joined(samples) for samples in workers.values()]
        cores, memory = sum(one.cores for one in sums) / len(sums), max(one.memory_bytes for one in sums)
        parts = [f"{cores:.2f} of {kind.cores} cores each"]
        if kind.memory_bytes:
            parts.append(f"at most {memory / GIB:.2f} of {kind.memory_bytes / GIB:.2f} GiB")
        shares = [one.gpu for one in sums if one.gpu is not None]
        if shares:
            parts.append(f"{100 * sum(shares) / len(shares):.0f} % of the time of a GPU")
        plural = "s" if len(workers) > 1 else ""
        return f"{len(workers)} worker{plural} ({kind.name}) used {', '.join(parts)}."


def check_usage_file(path: Path) -> None:
    if path.suffix not in (".svg", ".json"):
        raise InvalidInput(
            f"{path} is not a valid name for a usage report.", remedy="Use a name ending in .svg or .json."
        )


@dataclass(frozen=True)
class _Cell:
    """Where one worker's use of one resource is drawn."""

    left: float
    top: float
    began: float
    seconds: float

    def drawn(self, measure: UsageColumn, kind: WorkerKind, samples: Sequence[Sample]) -> str:
        requested = measure.requested(kind)
        used = [(sample, value) for sample in samples if (value := measure.used(sample)) is not None]
        top = max([requested, *(value for _, value in used), 1e-9]) * 1.05
        bars = [
            f'<rect x="{self._x(sample.began):.1f}" y="{self._y(value, top):.1f}" '
            f'width="{max(0.5, self._x(sample.ended) - self._x(sample.began)):.1f}" '
            f'height="{self.top + HEIGHT - self._y(value, top):.1f}" fill="#2a78b8"/>'
            for sample, value in used
        ]
        frame = f'<rect x="{self.left}" y="{self.top}" width="{WIDTH}" height="{HEIGHT}" fill="#eee"/>'
        if not requested:
            return frame + "".join(bars)
        line = f'<rect x="{self.left}" y="{self._y(requested, top):.1f}" width="{WIDTH}" height="1.5" fill="#c33"/>'
        label = _text(self.left, self.top - 4, f"{requested:.3g}", size=10)
        return frame + "".join(bars) + line + label

    def _x(self, moment: float) -> float:
        return self.left + WIDTH * (moment - self.began) / self.seconds

    def _y(self, value: float, top: float) -> float:
        return self.top + HEIGHT * (1 - value / top)


def _heading(measures: Sequence[UsageColumn], missing: int, seconds: float) -> str:
    left = f"; {missing} more workers are not shown" if missing else ""
    parts = [_text(8, 18, f"Requested (red) and used, over {seconds:.1f} s{left}", size=13)]
    parts += [
        _text(LABEL + n * (WIDTH + GAP), 36, f"{one.title} ({one.unit})", size=12) for n, one in enumerate(measures)
    ]
    return "".join(parts)


def _text(x: float, y: float, text: str, size: int = 11) -> str:
    return f'<text x="{x}" y="{y:.1f}" font-size="{size}">{escape(text)}</text>'


def _svg(size: tuple[float, float], lines: Sequence[str]) -> str:
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" font-family="sans-serif">'
    return "\n".join([opening, f'<rect width="{size[0]}" height="{size[1]}" fill="white"/>', *lines, "</svg>\n"])
