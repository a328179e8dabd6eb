"""How a network is trained.

Here: LearningOptions, with the schedule of the rate; LearningControl, which changes where and how long, not the result.
Not here: the loop (loop), what is learnt (objective). Nothing here needs PyTorch.
"""

import math
from dataclasses import dataclass

from pellucid.choices import check_choice
from pellucid.errors import InvalidInput

OPTIMISERS = ("adam", "sgd")
PRECISIONS = ("auto", "float32", "bfloat16")


@dataclass(frozen=True)
class LearningOptions:
    """steps: of the optimiser. batch: samples of a step, over all GPUs. epoch_steps: after which the network is
    validated. optimiser: adam, or sgd with momentum. rate: largest learning rate; it rises during ``warmup`` steps
    and falls to 0 as half a cosine. clip: largest norm of the gradients. averaging: how much of the averaged weights
    stays in each step. precision: bfloat16 where the GPU has it ("auto"). accumulation: parts of a batch that are
    computed one after the other, and their gradients added, which takes less memory.
    """

    steps: int = 2000
    batch: int = 16
    epoch_steps: int = 100
    optimiser: str = "adam"
    rate: float = 1e-3
    warmup: int = 50
    clip: float = 1.0
    averaging: float = 0.998
    seed: int = 0
    precision: str = "auto"
    accumulation: int = 1

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "epoch_steps", "accumulation"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"Invalid {name}: {getattr(self, name)}.", remedy="Use a whole number from 1.")
        for name in ("rate", "clip"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise InvalidInput(f"Invalid {name}: {value}.", remedy="Use a number above 0.")
        if not 0 <= self.averaging < 1:
            raise InvalidInput(f"Invalid averaging: {self.averaging}.", remedy="Use a number from 0 to below 1.")
        if not 0 <= self.seed < 2**63:
            raise InvalidInput(f"Invalid seed: {self.seed}.", remedy="Use a whole number from 0 to 2^63 - 1.")
        if self.batch % self.accumulation:
            raise InvalidInput(
                f"A batch of {self.batch} cannot be divided into {self.accumulation} parts.",
                remedy="Choose a batch that is a multiple of the number of parts.",
            )
        check_choice("optimiser", self.optimiser, OPTIMISERS)
        check_choice("precision", self.precision, PRECISIONS)

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 0.

        >>> options = LearningOptions(steps=110, warmup=10, rate=1.0)
        >>> [round(options.rate_at(step), 3) for step in (0, 9, 10, 60, 109)]
        [0.1, 1.0, 1.0, 0.5, 0.0]
        """
        warmup = min(self.warmup, self.steps // 2)
        if step < warmup:
            return self.rate * (step + 1) / warmup
        return self.rate * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (self.steps - warmup)))


@dataclass(frozen=True)
class LearningControl:
    """device: auto, cpu, cuda, cuda:1 or mps. gpus: how many train together; each computes a part of every batch.
    time_limit_s: after which training is saved and ends, to be continued by the same call. threads: of PyTorch on the
    CPU; 0 leaves them as they are. loaders: threads that prepare batches.
    """

    device: str = "auto"
    gpus: int = 1
    time_limit_s: float = math.inf
    threads: int = 0
    loaders: int = 2

    def __post_init__(self) -> None:
        if self.gpus < 1 or self.loaders < 1 or not self.time_limit_s > 0:
            raise InvalidInput(
                f"Invalid control: {self.gpus} GPUs, {self.loaders} loaders, {self.time_limit_s} s.",
                remedy="Use at least one GPU and loader, and a time above 0.",
            )
