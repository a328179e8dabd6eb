"""How a scan is denoised.

Here: DenoiseOptions, and the presets.
Not here: the steps (pipeline). Nothing here needs PyTorch.
"""

from dataclasses import dataclass, replace

from pellucid.choices import check_choice
from pellucid.errors import InvalidInput
from pellucid.learn.training.options import LearningOptions

CPU_WIDTH, GPU_WIDTH = 16, 64
HELD_OUT = 0.1


@dataclass(frozen=True)
class DenoiseOptions:
    """sets: into which projections are split. neighbours: slices on either side of a slice that the network sees.
    slices: that it learns from, with those that are held out. held_out: the share of them that it is validated with.
    width: channels of the network's finest level; 0 for 64 on a GPU and 16 on a CPU. patch: edge of a sample, at most
    that of a slice. learning: the schedule.
    """

    sets: int = 4
    neighbours: int = 5
    slices: int = 200
    held_out: float = HELD_OUT
    width: int = 0
    patch: int = 256
    learning: LearningOptions = LearningOptions(steps=3000, batch=16, epoch_steps=250)  # noqa: RUF009

    def __post_init__(self) -> None:
        if self.sets < 2 or self.neighbours < 0 or self.slices < 2 or self.width < 0 or self.patch < 16:
            raise InvalidInput(
                f"Invalid options: {self.sets} sets, {self.neighbours} neighbours, {self.slices} slices, "
                f"width {self.width}, patches of {self.patch}.",
                remedy="Use at least 2 sets and 2 slices, and patches of at least 16 pixels.",
            )
        if not 0 < self.held_out <= 0.5:
            raise InvalidInput(f"Invalid share held out: {self.held_out}.", remedy="Use more than 0, at most 0.5.")

    @property
    def channels(self) -> int:
        return 2 * self.neighbours + 1

    def with_learning(self, **changes: object) -> "DenoiseOptions":
        """None keeps what the preset has."""
        chosen = {name: value for name, value in changes.items() if value is not None}
        return replace(self, learning=replace(self.learning, **chosen))  # type: ignore[arg-type]

    def fitted(self, device: str) -> "DenoiseOptions":
        """With a width for the device."""
        return replace(self, width=self.width or (CPU_WIDTH if device == "cpu" else GPU_WIDTH))


PRESETS = {
    "fast": DenoiseOptions(),
    "spring8": DenoiseOptions(
        slices=200,
        width=GPU_WIDTH,
        patch=2216,
        learning=LearningOptions(
            steps=2500, batch=2, epoch_steps=100, optimiser="sgd", rate=0.25, warmup=100, averaging=0.99, accumulation=2
        ),
    ),
}
"""fast: ours. spring8: patches, channels, epochs, batch and rate as published for SPring-8's tool; the optimiser is not
published, and SGD with momentum is our choice. The two patches of a batch are computed one after the other, which
takes half of the memory."""


def preset(name: str) -> DenoiseOptions:
    check_choice("preset", name, PRESETS)
    return PRESETS[name]
