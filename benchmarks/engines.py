"""How much faster are two workers of Parsl than one, and what does it cost to lose one?

    python -m benchmarks.engines [--quick] [--json FILE]

A task of 100 blocks that only computes, on workers of this machine that have started before. The peers are our
processes, and Parsl called without us.
"""

import os
import signal
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.busy_task import BusyTask, keep_busy
from benchmarks.table import TARGET, Row, options, report, shorter
from pellucid.engines.engine import EngineOptions, make_engine
from pellucid.engines.parsl.engine import ParslEngine
from pellucid.engines.parsl.session import session_of
from pellucid.engines.run import run
from pellucid.volume.blocks import split

BLOCKS = 100
MEMORY = 2**30
TARGET_RATIO = 1.7


def main() -> None:
    given = options("Engines: two workers beside one.")
    seconds = 0.05 if given.is_quick else 0.2
    with tempfile.TemporaryDirectory() as folder:
        rows = compare(BusyTask(seconds, folder))
    report("engines", rows, f"{BLOCKS} blocks of {seconds} s of processor time each", given)


def compare(task: BusyTask) -> list[Row]:
    measured(BusyTask(0.01, task.folder), "parsl", 2)  # Workers start.
    one, two = measured(task, "parsl", 1), measured(task, "parsl", 2)
    processes, plain = measured(task, "processes", 2), measured_parsl(task)
    killed = measured_with_kill(task)
    goal = f"time ({TARGET}: {TARGET_RATIO} times faster)"
    return [
        shorter("Parsl, two workers", "s", two, "Parsl, one worker", one, goal),
        shorter("Parsl, two workers", "s", two, "processes, two", processes),
        shorter("Parsl, two workers", "s", two, "Parsl without us, two workers", plain),
        shorter("Parsl, two workers, one killed on the way", "s", killed, "no worker killed", two),
    ]


def measured(task: BusyTask, engine: str, workers: int) -> float:
    start = time.perf_counter()
    results = list(run(task, split((BLOCKS, 1, 1), (1, 1, 1)), make_engine(engine, EngineOptions(workers, MEMORY))))
    if len(results) != BLOCKS:
        raise RuntimeError(f"{len(results)} of {BLOCKS} blocks came back")
    return time.perf_counter() - start


def measured_parsl(task: BusyTask) -> float:
    """The same work as Parsl's own apps, on the same workers."""
    engine = ParslEngine(EngineOptions(2, MEMORY))
    session = session_of(engine.site)
    start = time.perf_counter()
    futures = [session.submit_function(engine.site.kinds[0], keep_busy, task.seconds) for _ in range(BLOCKS)]
    for future in futures:
        future.result()
    return time.perf_counter() - start


def measured_with_kill(task: BusyTask) -> float:
    """A worker is killed after a third of the time; its block is done again by another."""
    for path in Path(task.folder).iterdir():
        path.unlink()
    timer = threading.Timer(task.seconds * BLOCKS / 6, kill_a_worker, (task,))
    timer.start()
    seconds = measured(task, "parsl", 2)
    timer.join()
    return seconds


def kill_a_worker(task: BusyTask) -> None:
    os.kill(int(next(Path(task.folder).iterdir()).name), signal.SIGKILL)


if __name__ == "__main__":
    main()
