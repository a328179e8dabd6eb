"""What is learnt: the networks, their samples and their losses.

Here: Objective and SampleSource, the two things that the loop needs; TrainingJob, from which every process makes its
own Objective.
Not here: how it is learnt (loop), particular objectives (denoise).
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import numpy as np
from torch import Tensor, nn

from pellucid.formats.protocol import Voxels
from pellucid.learn.training.options import LearningOptions

Sample = tuple[Voxels, ...]
Batch = tuple[Tensor, ...]
Parts = Mapping[str, nn.Module]


class SampleSource(Protocol):
    """Samples by their number. Several threads may draw at once."""

    def draw(self, number: int, random: np.random.Generator) -> Sample:
        """Arrays whose shapes are the same for all samples. The same number and state of ``random`` give the same
        sample: so batches do not depend on threads, on GPUs, or on an interruption."""


class Objective(Protocol):
    """Networks that learn from samples. parts: by name, each with an optimiser of its own."""

    @property
    def parts(self) -> dict[str, nn.Module]: ...

    @property
    def samples(self) -> SampleSource: ...

    def losses(self, batch: Batch) -> Iterator[tuple[str, Tensor]]:
        """The name of a part and its loss, for each part in turn. The part has learnt before the next loss is
        computed."""

    def validate(self, parts: Parts) -> dict[str, float]:
        """Numbers that say how good the averaged networks are, on samples that are held out; lower is better for the
        first of them."""

    def preview(self, parts: Parts) -> dict[str, Voxels]:
        """Images (y, x) of what the averaged networks do, by name."""

    def export(self, parts: Parts, folder: Path) -> None:
        """Write the averaged networks as ONNX, with what is needed to use them."""


class TrainingJob(Protocol):
    """A training as plain values that can be sent to another process. inputs: locations that are read."""

    @property
    def options(self) -> LearningOptions: ...

    @property
    def inputs(self) -> tuple[str, ...]: ...

    def open(self, device: str) -> AbstractContextManager[Objective]:
        """Make the networks, with random weights that follow from the seed, and open the samples."""
