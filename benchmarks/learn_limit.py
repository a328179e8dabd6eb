"""A training that takes longer than a benchmark may.

Here: ending_trainings_in.
Not here: what is trained (learn_denoise, learn_segment, learn_superres).
"""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pellucid.learn.training.state_folder import STATE, TrainingFolder

POLL_S = 1.0


@contextmanager
def ending_trainings_in(folder: Path, limit_s: float) -> Iterator[None]:
    """Every training in the folder ends so many seconds from now, and those that begin later at once; the networks are
    kept as they are then."""
    is_over = threading.Event()

    def end() -> None:
        is_over.wait(limit_s)
        while not is_over.is_set():
            for state in folder.rglob(STATE):
                TrainingFolder(state.parent).request_stop()
            is_over.wait(POLL_S)

    if math.isfinite(limit_s):
        threading.Thread(target=end, daemon=True).start()
    try:
        yield
    finally:
        is_over.set()
