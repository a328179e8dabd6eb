"""How the slices beside the 3D image are shown.

Here: SliceOptions, of the slices across one axis.
Not here: which axis runs to the right (volume.slice_planes), planes inside the 3D image (scene.SliceLayer).
"""

from dataclasses import dataclass
from typing import Literal, get_args

from pellucid.errors import InvalidInput
from pellucid.rendering.number_checks import check_finite

SliceColors = Literal["grey", "transfer"]
SlabProjection = Literal["mean", "max", "min"]
MAX_THICKNESS = 512


@dataclass(frozen=True)
class SliceOptions:
    """How slices across one axis are shown. window: the values that are black and white; None: those that matter in the
    volume. colors: grey, or those of the transfer function, which has its own range of values. thickness: of so many
    slices the mean, the largest or the smallest value is shown, of an even number one more before it than behind it;
    labels are those of the slice itself."""

    window: tuple[float, float] | None = None
    colors: SliceColors = "grey"
    thickness: int = 1
    projection: SlabProjection = "mean"

    def __post_init__(self) -> None:
        if self.colors not in get_args(SliceColors):
            raise InvalidInput(f"Unknown slice colours {self.colors!r}.", remedy="Choose grey or transfer.")
        if self.projection not in get_args(SlabProjection):
            raise InvalidInput(f"Unknown projection {self.projection!r} of a slab.", remedy="Choose mean, max or min.")
        if not 1 <= self.thickness <= MAX_THICKNESS:
            what = f"Invalid thickness of a slab: {self.thickness} slices."
            raise InvalidInput(what, remedy=f"Use 1 to {MAX_THICKNESS}.")
        if self.window is not None:
            check_finite("A grey window", *self.window)
            if not self.window[0] < self.window[1]:
                low, high = self.window
                raise InvalidInput(f"Invalid grey window: {low} to {high}.", remedy="Use a low value below the high.")


ThreeSlices = tuple[SliceOptions, SliceOptions, SliceOptions]
"""Across z, y and x."""
AUTOMATIC: ThreeSlices = (SliceOptions(), SliceOptions(), SliceOptions())
