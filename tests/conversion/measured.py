"""Converts a file with a stated budget, and prints the memory of this process before and at its peak, in bytes.

Here: nothing else; a process of its own, so that no other test's memory counts.
"""

import sys

import pellucid
from benchmarks.memory import peak_bytes
from pellucid.engines.engine import EngineOptions, make_engine

if __name__ == "__main__":
    source, target, budget_bytes = sys.argv[1:]
    with pellucid.convert(pellucid.open(source), f"{target}.warm-up.zarr", box=pellucid.Box((0, 0, 0), (8, 64, 64))):
        pass  # Libraries are loaded and their threads started: what comes now is the work's own.
    before = peak_bytes()
    engine = make_engine("local", EngineOptions(2, int(budget_bytes)))
    pellucid.convert(source, target, engine=engine, levels="auto", shard=(64, 256, 256)).close()
    print(before, peak_bytes())  # noqa: T201
