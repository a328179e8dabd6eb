"""How a super-resolution network is trained.

Here: SuperResolutionOptions.
Not here: samples and losses (objective). Nothing here needs PyTorch.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from pellucid.box import Shape
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.learn.superres.degradation import Degradation
from pellucid.learn.training.options import LearningOptions

CPU_WIDTH, GPU_WIDTH = 4, 32
CPU_PATCH, GPU_PATCH = (32, 32, 32), (64, 64, 64)
SLICES = 8
"""Of a sample from thick slices."""


@dataclass(frozen=True)
class SuperResolutionOptions:
    """degradation: what is undone. width: filters of the generator's first layer; 96 as printed, 0 for one that suits
    the device. patch: fine voxels of a sample. l1: the first stage, by the mean absolute difference. gan: the second
    stage, with a discriminator, which begins where the first ended; None leaves it out. adversarial: weight of the
    discriminator's judgement beside the difference. held_out: the share of the slices, at the end, that the network is
    scored with. is_anisotropic: the volumes have slices as thick as those that the network will restore: it learns
    within them, along y and x, what it does along z."""

    degradation: Degradation = field(default_factory=Degradation)
    width: int = 0
    patch: Shape | None = None
    l1: LearningOptions = LearningOptions(steps=3000, batch=4, epoch_steps=250, rate=5e-4)  # noqa: RUF009
    gan: LearningOptions | None = None
    adversarial: float = 0.01
    held_out: float = 0.15
    is_anisotropic: bool = False

    def __post_init__(self) -> None:
        if self.is_anisotropic and self.degradation.factor[1:] != (1, 1):
            raise InvalidInput(
                f"Thick slices are restored along z alone, not by {self.degradation.factor} (z, y, x).",
                remedy="Use a factor such as 4,1,1.",
            )
        if self.width < 0 or not 0 < self.held_out <= 0.5 or not self.adversarial > 0:
            raise InvalidInput(
                f"Invalid options: width {self.width}, {self.held_out} held out, weight {self.adversarial}.",
                remedy="Use a width from 1, hold out more than 0 and at most 0.5, and a weight above 0.",
            )

    def fitted(self, device: str) -> "SuperResolutionOptions":
        is_cpu = device == "cpu"
        width, patch = (
            self.width or (CPU_WIDTH if is_cpu else GPU_WIDTH),
            self.patch or (CPU_PATCH if is_cpu else GPU_PATCH),
        )
        if self.is_anisotropic and self.patch is None:
            patch = (SLICES, *patch[1:])
        whole = tuple(max(f, n // f * f) for n, f in zip(patch, self.volume_factor, strict=True))
        return replace(self, width=width, patch=whole)  # type: ignore[arg-type]

    @property
    def volume_factor(self) -> Shape:
        """What the edges of samples are multiples of, (z, y, x) of the volumes that are learnt from. Of thick slices, y
        or x is degraded."""
        factor = self.degradation.factor
        return (1, factor[0], factor[0]) if self.is_anisotropic else factor

    def oriented(self, voxels: Voxels) -> Voxels:
        """A part of a volume (..., z, y, x) as the network sees it, with the axis that is restored first of the three:
        of thick slices, (..., y, x, z)."""
        return np.moveaxis(voxels, -3, -1) if self.is_anisotropic else voxels
