"""The process in which the memory of a network is measured.

Here: run windows of growing size, and print the most memory that was in use after each, in bytes, as a JSON list.
Not here: who starts it (memory).
"""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pellucid.device.hardware import choose
from pellucid.infer.runtime import RuntimeRequest, open_runtime


def peak_bytes() -> int:
    """The largest resident memory so far. Not from getrusage, which begins with that of the process that started it."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


def used_on(device: str) -> Callable[[], int]:
    """What is in use on a GPU; runtimes keep what they allocated, so this is their largest need so far."""
    gpu = choose(device)
    return lambda: gpu.total_bytes - gpu.free_bytes()


def main() -> None:
    request = json.load(sys.stdin)
    used = peak_bytes if request["device"] == "cpu" else used_on(request["device"])
    start = used()
    runtime = open_runtime(RuntimeRequest(Path(request["model"]).read_bytes(), request["device"]))
    session = used()
    found = [session - start]
    for shapes in request["shapes"]:
        runtime.run({name: np.zeros(shape, request["types"][name]) for name, shape in shapes.items()})
        found.append(used() - session)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
