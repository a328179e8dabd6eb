"""The quality of images while something moves, adapted to the connection.

Here: AdaptiveQuality, from the times of acknowledged frames.
Not here: what the device can draw in its time (workers.render.frame_size).
"""

from dataclasses import dataclass

SLOW_MS, FAST_MS = 120.0, 45.0
MEMORY = 0.7
"""How much of the smoothed time stays with every new one."""


@dataclass(frozen=True)
class QualityLevel:
    """jpeg: quality of JPEG. scale: of the image's edges; a quarter of the pixels is kept."""

    jpeg: int
    scale: float


LEVELS = (
    QualityLevel(85, 1.0),
    QualityLevel(70, 1.0),
    QualityLevel(60, 0.75),
    QualityLevel(50, 0.5),
    QualityLevel(40, 0.5),
)


class AdaptiveQuality:
    """Goes down a level when frames take long to arrive, and up when they do not.

    >>> quality = AdaptiveQuality()
    >>> for _ in range(4):
    ...     quality.add_sample(300.0)
    >>> quality.level.jpeg < 85
    True
    """

    def __init__(self) -> None:
        self._number = 0
        self._wire_ms: float | None = None

    @property
    def level(self) -> QualityLevel:
        return LEVELS[self._number]

    def add_sample(self, wire_ms: float) -> None:
        """A frame took so long from being sent to being acknowledged, decoding and painting left out."""
        before = wire_ms if self._wire_ms is None else self._wire_ms
        self._wire_ms = MEMORY * before + (1 - MEMORY) * wire_ms
        if self._wire_ms > SLOW_MS and self._number < len(LEVELS) - 1:
            self._number, self._wire_ms = self._number + 1, None
        elif self._wire_ms < FAST_MS and self._number > 0:
            self._number, self._wire_ms = self._number - 1, None
