"""A training that ends before it is complete, because its job does.

Here: TimeLimitReached.
Not here: the limit (options), saving (loop).
"""

from pellucid.errors import PellucidError
from pellucid.learn.training.curve import LearningCurve

EXIT_CODE = 75
"""Of commands whose work is not complete: "try again later", as in sysexits.h."""


class TimeLimitReached(PellucidError):
    """The training was saved and will continue."""

    exit_code = EXIT_CODE

    def __init__(self, curve: LearningCurve) -> None:
        super().__init__(
            f"The time limit was reached after {curve.step:,} of {curve.steps:,} steps, which are saved.",
            remedy="Run the same command again to continue.",
        )
