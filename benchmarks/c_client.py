"""How fast does a C program show an array in a viewer, beside a Python program that shows the same?

    python -m benchmarks.c_client [--quick] [--json FILE]

One viewer; both programs hand the same voxels over in turns, and wait until the viewer has them: through shared memory,
and over TCP as from another machine. Both keep their array in ordinary memory. Retrieving is not what differs.
"""

import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.table import Row, options, report, shorter
from pellucid import progress
from pellucid.client.launch import start
from pellucid.client.viewer import Viewer
from pellucid.formats.protocol import Voxels

FOLDER = Path(__file__).parents[1] / "clients" / "c"
Turn = Callable[[], float]


def main() -> None:
    given = options("A viewer, as a C program sees it.")
    edge, repeats = (256, 7) if given.is_quick else (640, 3)
    array = np.arange(edge**3, dtype=np.float32).reshape(edge, edge, edge) % 1000
    with progress.use(progress.Silent()), tempfile.TemporaryDirectory() as folder, start(device="cpu") as viewer:
        program = built(Path(folder))
        rows = [compared(viewer, program, lane, array, repeats) for lane in ("shm", "tcp")]
    report("c_client", rows, f"{array.nbytes >> 20} MiB float32, median of {repeats}, taking turns", given)


def built(folder: Path) -> Path:
    command = ["make", "-C", str(FOLDER), f"BUILD={folder}", f"{folder}/viewer"]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "viewer"


def compared(viewer: Viewer, program: Path, lane: str, array: Voxels, repeats: int) -> Row:
    with from_c(viewer, program, lane, array) as c, from_python(viewer, lane, array) as python:
        turns: dict[str, Turn] = {"C": c, "Python": python}
        for turn in turns.values():
            turn()
        taken = [{name: turn() for name, turn in turns.items()} for _ in range(repeats)]
    c_s, python_s = (statistics.median(one[name] for one in taken) for name in turns)
    return shorter(f"render_volume through {lane}, whole call", "s", c_s, "Python to the same viewer", python_s)


@contextmanager
def from_c(viewer: Viewer, program: Path, lane: str, array: Voxels) -> Iterator[Turn]:
    """Seconds that the C program took, once for every line that it is given."""
    command = [str(program), "measure", viewer.url, lane, *map(str, array.shape), "1000"]
    with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:

        def turn() -> float:
            if child.stdin is None or child.stdout is None:
                raise RuntimeError("the C program has no pipes")
            child.stdin.write("\n")
            child.stdin.flush()
            seconds, way = child.stdout.readline().split()
            if way != lane:
                raise RuntimeError(f"the C program went through {way}")
            return float(seconds)

        yield turn
        child.kill()


@contextmanager
def from_python(viewer: Viewer, lane: str, array: Voxels) -> Iterator[Turn]:
    """The same from here. For TCP, this end is made to believe that it is on another machine."""

    def turn() -> float:
        begun = time.perf_counter()
        viewer.render_volume(array)
        seconds = time.perf_counter() - begun
        if viewer.last_transfer is None or viewer.last_transfer.lane != lane:
            raise RuntimeError(f"Python went another way: {viewer.last_transfer}")
        return seconds

    with patch("pellucid.transport.client.machine", lambda: "") if lane == "tcp" else nullcontext():
        yield turn


if __name__ == "__main__":
    main()
