"""The process in which the memory and the time of a network are measured.

Here: run windows of growing size; print the most memory that was in use after each, in bytes, and for other windows the
processor time of a voxel, as JSON.
Not here: who starts it (memory).
"""

import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.device.hardware import choose
from pellucid.infer.runtime import NetworkRuntime, RuntimeRequest, open_runtime

MIN_WINDOWS = 2
MAX_MEASURED_S = 5.0
"""Of processor time: after the first windows, one that would take more is not run for its memory."""
MAX_WINDOW_S = 1.0
"""Of processor time: a window that would take more is not measured."""
RUNS = 2
Shapes = Mapping[str, Sequence[int]]
"""Of each of the network's inputs."""


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
    found, took_s, before = [session - start], 0.0, 1
    for voxels, shapes in zip(request["voxels"], request["shapes"], strict=True):
        if len(found) > MIN_WINDOWS and took_s * voxels / before > MAX_MEASURED_S:
            break
        begin = time.process_time()
        runtime.run(_zeros(shapes, request["types"]))
        took_s, before = time.process_time() - begin, voxels
        found.append(used() - session)
    max_voxels = request["max_timed_bytes"] / max(1, found[-1]) * before
    sys.stdout.write(json.dumps({"bytes": found, "speeds": speeds(runtime, request, max_voxels)}))


def speeds(runtime: NetworkRuntime, request: Mapping[str, Any], max_voxels: float) -> list[tuple[int, float]]:
    """Voxels of each of the timed windows, and the processor time of a voxel. Not the time: other programs change that
    more. The first run of a window is not counted, which gets its memory."""
    found: list[tuple[int, float]] = []
    for voxels, shapes in request["timed"]:
        if voxels > max_voxels or (found and found[-1][1] * voxels > MAX_WINDOW_S):
            break
        inputs, taken = _zeros(shapes, request["types"]), []
        for _ in range(1 + RUNS):
            start = time.process_time()
            runtime.run(inputs)
            taken.append(time.process_time() - start)
        found.append((voxels, min(taken[1:]) / voxels))
    return found


def _zeros(shapes: Shapes, types: Mapping[str, str]) -> dict[str, Any]:
    return {name: np.zeros(shape, types[name]) for name, shape in shapes.items()}


if __name__ == "__main__":
    main()
