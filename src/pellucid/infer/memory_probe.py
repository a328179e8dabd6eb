"""The process in which the memory of a network is measured.

Here: run windows of growing size, and print the largest resident memory after each, in bytes, as a JSON list.
Not here: who starts it (memory).
"""

import json
import resource
import sys
from pathlib import Path

import numpy as np

from pellucid.infer.runtime import RuntimeRequest, open_runtime


def peak_bytes() -> int:
    """The largest resident memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    request = json.load(sys.stdin)
    start = peak_bytes()
    runtime = open_runtime(RuntimeRequest(Path(request["model"]).read_bytes(), "cpu"))
    session = peak_bytes()
    found = [session - start]
    for shapes in request["shapes"]:
        runtime.run({name: np.zeros(shape, request["types"][name]) for name, shape in shapes.items()})
        found.append(peak_bytes() - session)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
