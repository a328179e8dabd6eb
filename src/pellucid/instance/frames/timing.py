"""How long every stage of a frame takes.

Here: FrameTiming, which keeps the last frames of each stage.
Not here: measuring (sender, the page).
"""

import time
from collections import deque
from collections.abc import Callable

import numpy as np

from pellucid.instance.protocol.http_bodies import StageSummary

KEPT = 600
STAGES = ("input", "render", "encode", "wire", "decode", "paint")


class FrameTiming:
    """Milliseconds by stage, and frames per second over the last two seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._stages: dict[str, deque[float]] = {stage: deque(maxlen=KEPT) for stage in STAGES}
        self._frames_at: deque[float] = deque(maxlen=KEPT)
        self.frames = 0
        self.dropped = 0

    def add(self, stage: str, milliseconds: float) -> None:
        self._stages[stage].append(milliseconds)

    def frame(self) -> None:
        self.frames += 1
        self._frames_at.append(self._clock())

    @property
    def frames_per_second(self) -> float:
        recent = [at for at in self._frames_at if at > self._clock() - 2]
        return len(recent) / 2

    def summary(self) -> dict[str, StageSummary]:
        return {
            stage: StageSummary(float(np.median(times)), float(np.percentile(times, 95)))
            for stage, times in self._stages.items()
            if times
        }
