"""How long does a program wait for its viewer, and for the first image of its array?

    python -m benchmarks.viewer_program [--quick] [--json FILE]

A viewer is started, kernels compiled already. An array of 1 GiB (quick: 128 MiB) is handed over and an image of it
taken, of which one frame, the same image again, is left out. Beside it in turns: memcpy of the same array, into
memory that is there and, as copy() does, into fresh memory. Four of those are the target. The first two arrays get
fresh memory in the viewer, too, which shows the one while the other comes; those after them get that again.
Seconds of processor time, of the program and of the viewer's processes, hardly change when others use the machine.
"""

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.table import TARGET, Row, options, report, shorter
from pellucid.client.launch import start
from pellucid.client.viewer import Viewer
from pellucid.formats.protocol import Voxels
from pellucid.volume.sample_volume import sample

START_S = 3.0
COPIES = 4
FRESH = 2
"""Arrays that a viewer has no memory for yet: the one that it shows, and the next."""
SIZE = (1280, 720)


@dataclass(frozen=True)
class Taken:
    """Seconds on the clock, and of processor time of everybody who took part."""

    clock_s: float
    processor_s: float


def main() -> None:
    given = options("A viewer, as a program sees it.")
    repeats = 5 if given.is_quick else 9
    array = array_of(2**27 if given.is_quick else 2**30)
    rows = started(repeats)
    with start() as viewer:
        viewer.render_volume(array[:64, :64, :64])
        viewer.screenshot(*SIZE)
        rows += handed_over(viewer, array, repeats)
    what = f"{array.nbytes >> 20} MiB of {array.dtype}, {SIZE[0]} × {SIZE[1]}"
    report("viewer_program", rows, f"{what}, medians; load of the machine {os.getloadavg()[1]:.0f}", given)


def array_of(nbytes: int) -> Voxels:
    """A sample, repeated until it is so large."""
    part = (sample(128) >> 8).astype(np.uint8)
    edge = round(nbytes ** (1 / 3) / 128)
    array: Voxels = np.tile(part, (edge, edge, edge))
    return array


def started(repeats: int) -> list[Row]:
    taken = []
    for _ in range(repeats):
        before, began = time.process_time(), time.perf_counter()
        viewer = start()
        clock_s = time.perf_counter() - began
        taken.append(Taken(clock_s, time.process_time() - before + processor_s(viewer)))
        viewer.shutdown()
    case = "pellucid.start() to ready, warm"
    return [
        shorter(case, "s", _median(taken, "clock_s"), TARGET, START_S),
        Row(case, "processor time", "s", _median(taken, "processor_s"), "", None, None),
    ]


def handed_over(viewer: Viewer, array: Voxels, repeats: int) -> list[Row]:
    """Three things in turns, so that a disturbed moment disturbs all alike."""
    there = np.zeros_like(array)
    copies, fresh, images = [], [], []
    for _ in range(repeats):
        copies.append(measured(viewer, lambda: np.copyto(there, array)))
        fresh.append(measured(viewer, array.copy))
        images.append(first_image(viewer, array))
    case = "render_volume to first image, less one frame"
    return [
        *rows_of(f"the first: {case}", images[:FRESH], f"{COPIES} × memcpy into fresh memory", fresh, COPIES),
        *rows_of(f"then: {case}", images[FRESH:], f"{COPIES} × memcpy into memory that is there", copies, COPIES),
    ]


def first_image(viewer: Viewer, array: Voxels) -> Taken:
    first, again = measured(viewer, lambda: shown(viewer, array)), measured(viewer, lambda: viewer.screenshot(*SIZE))
    return Taken(first.clock_s - again.clock_s, first.processor_s - again.processor_s)


def shown(viewer: Viewer, array: Voxels) -> None:
    viewer.render_volume(array)
    viewer.screenshot(*SIZE)


def measured(viewer: Viewer, function: Callable[[], object]) -> Taken:
    before, began = time.process_time() + processor_s(viewer), time.perf_counter()
    function()
    clock_s = time.perf_counter() - began
    return Taken(clock_s, time.process_time() + processor_s(viewer) - before)


def processor_s(viewer: Viewer) -> float:
    """What the viewer and its Workers have taken so far."""
    pid = viewer.pid
    return sum(
        (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
        for number, words in processes()
        if pid in (number, int(words[1]))
    )


def processes() -> list[tuple[int, list[str]]]:
    """Every process by number, and what the kernel says of it behind its name."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            found.append((int(path.parent.name), path.read_text().rpartition(")")[2].split()))
        except OSError:  # It has ended meanwhile.
            continue
    return found


def rows_of(case: str, taken: list[Taken], peer: str, peers: list[Taken], times: int = 1) -> list[Row]:
    """Medians, on the clock and of processor time."""
    clock, processor = _median(taken, "clock_s"), _median(taken, "processor_s")
    return [
        shorter(case, "s", clock, peer, times * _median(peers, "clock_s")),
        shorter(case, "s", processor, peer, times * _median(peers, "processor_s"), "processor time"),
    ]


def _median(taken: list[Taken], name: str) -> float:
    return float(statistics.median(getattr(one, name) for one in taken))


if __name__ == "__main__":
    main()
