"""How a segmentation network is trained.

Here: SegmentOptions.
Not here: the samples and losses (objective). Nothing here needs PyTorch.
"""

from dataclasses import dataclass, replace

from pellucid.box import Shape
from pellucid.choices import check_choice
from pellucid.errors import InvalidInput
from pellucid.learn.training.options import LearningOptions

KINDS = ("2d", "2.5d", "3d")
TARGETS = ("boundaries", "classes")
CPU_WIDTH, GPU_WIDTH = 8, 32
PATCHES = {"2d": (1, 256, 256), "2.5d": (1, 256, 256), "3d": (64, 64, 64)}
CPU_PATCHES = {"2d": (1, 128, 128), "2.5d": (1, 128, 128), "3d": (32, 48, 48)}


@dataclass(frozen=True)
class SegmentOptions:
    """kind: 2d, 2.5d or 3d. target: boundaries between objects, or classes. ignored: label of voxels that are not used,
    such as those that are not labelled; None where all are. boundary: label of voxels that are boundaries
    themselves. neighbours: slices on either side, of 2.5D. width, patch: of the network and the samples; 0 and None
    for those that suit the device. held_out: the share of the slices, at the end, that the network is validated with.
    is_isotropic: whether samples may be turned about any axis."""

    kind: str = "3d"
    target: str = "boundaries"
    ignored: int | None = None
    boundary: int | None = None
    neighbours: int = 2
    width: int = 0
    depth: int = 3
    patch: Shape | None = None
    held_out: float = 0.1
    is_isotropic: bool = False
    learning: LearningOptions = LearningOptions(steps=3000, batch=4, epoch_steps=250)  # noqa: RUF009

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS)
        check_choice("target", self.target, TARGETS)
        if not 0 < self.held_out <= 0.5 or self.neighbours < 1 or self.width < 0:
            raise InvalidInput(
                f"Invalid options: {self.held_out} held out, {self.neighbours} neighbours, width {self.width}.",
                remedy="Hold out more than 0 and at most 0.5, and use at least 1 neighbour.",
            )

    @property
    def axes(self) -> int:
        return 3 if self.kind == "3d" else 2

    @property
    def channels(self) -> int:
        return 2 * self.neighbours + 1 if self.kind == "2.5d" else 1

    def fitted(self, device: str, shape: Shape) -> "SegmentOptions":
        """With a width and a patch for the device and the volume, in whole steps of the network."""
        is_cpu, step = device == "cpu", 2**self.depth
        patch = self.patch or (CPU_PATCHES if is_cpu else PATCHES)[self.kind]
        fitted = tuple(max(step, min(p, n) // step * step) for p, n in zip(patch, shape, strict=True))
        fitted = fitted if self.axes == 3 else (1, *fitted[1:])
        width = self.width or (CPU_WIDTH if is_cpu else GPU_WIDTH)
        return replace(self, width=width, patch=fitted)
