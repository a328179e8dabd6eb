"""How good are images of a large volume that is turned while other programs keep the CPU busy?

Here: a scripted client over a real WebSocket, dragging, beside processes that calculate.
Not here: an idle machine (viewer).

    python -m benchmarks.viewer_busy [--quick] [--json FILE]

512³ voxels at 1280 × 720 on the CPU, beside none and beside four busy processes (quick: 256³). At least a quarter of
the pixels is kept; frames are dropped instead.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.table import TARGET, Row, faster, options, report
from benchmarks.viewer import CPU, Drags, Seen, p95, volume_in, watched
from pellucid.client.launch import start

SIZE = (1280, 720)
BUSY = "while True: pass"
MIN_SHARE = 0.25
EDGE, QUICK_EDGE = 512, 256


def main() -> None:
    given = options("A large volume that is turned on a busy CPU.")
    drags = Drags(3, 1.0, CPU.rate) if given.is_quick else Drags(6, 3.0, CPU.rate)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        source = volume_in(Path(folder), QUICK_EDGE if given.is_quick else EDGE)
        with start(roots=[source.parent], device="cpu") as viewer:
            viewer.load(source)
            for count in (0, 4):
                with busy_processes(count):
                    rows += rows_of(count, watched(viewer, SIZE, ["jpeg", "png"], drags))
    report("viewer_busy", rows, f"{source.name} at {SIZE[0]} × {SIZE[1]}, {drags.count} drags", given)


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """So many of them, each with a core's worth of work."""
    started = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def rows_of(count: int, seen: Seen) -> list[Row]:
    case = f"{count} busy processes"
    share = Row(f"{case}: pixels of a frame", "median", "", sorted(seen.shares)[len(seen.shares) // 2], "", None, None)
    return [
        faster(f"{case}: fewest pixels of a frame", "", min(seen.shares), TARGET, MIN_SHARE),
        share,
        Row(f"{case}: frames while dragging", "speed", "1/s", sum(seen.frames) / sum(seen.seconds), "-", None, None),
        Row(f"{case}: first image of a drag", "p95", "ms", p95(seen.first_ms), "-", None, None),
        Row(f"{case}: exact image after rest", "longest", "s", max(seen.exact_s), "-", None, None),
    ]


if __name__ == "__main__":
    main()
