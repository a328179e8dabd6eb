"""The learning curve: what the loop measured, by step.

Here: LearningCurve, and its file, which other programs read while training runs.
Not here: images of it (report), TensorBoard's files (event_files). Nothing here needs PyTorch.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

from pellucid.formats.local_files import written_whole

MAX_POINTS = 400
"""Of each kind; the curve of a long training has a point for several steps."""


@dataclass
class LearningCurve:
    """steps: how many there will be. losses: a point every ``every`` steps, with the mean of each number since the
    last one. validations: a point after each epoch."""

    steps: int
    seconds: float = 0.0
    losses: list[dict[str, float]] = field(default_factory=list)
    validations: list[dict[str, float]] = field(default_factory=list)

    @property
    def every(self) -> int:
        return max(1, self.steps // MAX_POINTS)

    @property
    def loss_values(self) -> tuple[float, ...]:
        """The first number of each point of ``losses``."""
        return tuple(next(value for name, value in point.items() if name != "step") for point in self.losses)

    @property
    def step(self) -> int:
        """The last one in the curve."""
        return max((int(points[-1]["step"]) for points in (self.losses, self.validations) if points), default=0)

    def to_text(self) -> str:
        return json.dumps(vars(self))

    @classmethod
    def from_text(cls, text: str) -> "LearningCurve":
        return cls(**json.loads(text))

    def write(self, path: Path) -> None:
        with written_whole(path) as file:
            file.write(self.to_text().encode())


def read_curve(path: Path) -> LearningCurve | None:
    """The curve in a file; None where there is none."""
    try:
        return LearningCurve.from_text(path.read_text())
    except (OSError, ValueError, TypeError):
        return None
