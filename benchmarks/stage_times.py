"""Where the time of a job goes: seconds that its threads spend in some methods.

Here: StageTimes, which wraps methods while a job runs.
Not here: the jobs (learn_speed).
"""

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class StageTimes:
    """seconds: of all threads, by the name of the stage. A stage that runs within another one counts in both."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._lock = threading.Lock()

    @contextmanager
    def of(self, methods: dict[str, tuple[Any, str]]) -> Iterator[None]:
        """methods: for each stage, the object or class, and the name of its method."""
        before = {stage: (owner, name, getattr(owner, name)) for stage, (owner, name) in methods.items()}
        for stage, (owner, name, method) in before.items():
            setattr(owner, name, self._timed(stage, method))
        try:
            yield
        finally:
            for owner, name, method in before.values():
                setattr(owner, name, method)

    def _timed(self, stage: str, method: Any) -> Any:
        def run(*arguments: Any, **named: Any) -> Any:
            start = time.perf_counter()
            try:
                return method(*arguments, **named)
            finally:
                with self._lock:
                    self.seconds[stage] += time.perf_counter() - start

        return run

    @property
    def text(self) -> str:
        return ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in self.seconds.items())
