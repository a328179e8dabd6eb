"""What a coarser microscope would have seen: fewer voxels along some axes.

Here: Degradation; cubic interpolation back, the usual way without a network.
Not here: networks. Nothing here needs PyTorch.
"""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from pellucid.box import Shape
from pellucid.choices import check_choice
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels

MODES = ("average", "subsample")


@dataclass(frozen=True)
class Degradation:
    """factor: fine voxels for a coarse one, along (z, y, x). mode: average, over all of them; or subsample, the first
    of the two in the middle."""

    factor: Shape = (4, 1, 1)
    mode: str = "average"

    def __post_init__(self) -> None:
        check_choice("degradation", self.mode, MODES)
        if any(n not in (1, 2, 4) for n in self.factor) or max(self.factor) == 1:
            raise InvalidInput(
                f"The factor {self.factor} (z, y, x) is not supported.",
                remedy="Use 1, 2 or 4 along z, y and x, such as 4,1,1.",
            )

    def apply(self, voxels: Voxels) -> Voxels:
        """(z, y, x), whose edges are multiples of the factor.

        >>> Degradation().apply(np.arange(8.0).reshape(8, 1, 1)).ravel().tolist()
        [1.5, 5.5]
        >>> Degradation(mode="subsample").apply(np.arange(8.0).reshape(8, 1, 1)).ravel().tolist()
        [1.0, 5.0]
        """
        if self.mode == "subsample":
            z, y, x = ((n - 1) // 2 for n in self.factor)
            return voxels[z :: self.factor[0], y :: self.factor[1], x :: self.factor[2]]
        edges = [part for n, f in zip(voxels.shape, self.factor, strict=True) for part in (n // f, f)]
        return voxels.reshape(edges).mean(axis=(1, 3, 5), dtype=np.float32)

    def interpolate(self, coarse: Voxels, order: int = 3) -> Voxels:
        """Fine voxels by spline interpolation at their exact places. order: 1 linear, 3 cubic."""
        places = []
        for length, factor in zip(coarse.shape, self.factor, strict=True):
            middle = (factor - 1) / 2 if self.mode == "average" else (factor - 1) // 2
            places.append((np.arange(length * factor) - middle) / factor)
        fine = coarse.astype(np.float32)
        for axis, along in enumerate(places):
            if self.factor[axis] > 1:
                fine = _resampled(fine, axis, along, order)
        return fine


def _resampled(voxels: Voxels, axis: int, places: Voxels, order: int) -> Voxels:
    """Splines along one axis, mirrored at its ends."""
    moved = np.moveaxis(voxels, axis, 0)
    flat = moved.reshape(len(moved), -1)
    weights = _weights(places, len(moved), order)
    fine = (weights.astype(np.float32) @ flat).reshape(len(places), *moved.shape[1:])
    return np.moveaxis(fine, 0, axis)


def _weights(places: Voxels, length: int, order: int) -> Voxels:
    """(fine, coarse): what every coarse voxel contributes to a fine one."""
    columns = [ndimage.map_coordinates(unit, places[None], order=order, mode="mirror") for unit in np.eye(length)]
    return np.stack(columns, axis=1)
