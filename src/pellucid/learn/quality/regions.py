"""Signal and noise in regions: material, and air beside it.

Here: Region, parse_region, choose_regions, signal_to_noise.
Not here: whole volumes (shell_correlation).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from pellucid.box import Box, Shape
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels

EDGES = (8, 12, 16, 24, 32)
"""Of boxes that are tried along y and x."""
MAX_DEPTH = 8
FLAT_SHARE = 0.3
"""Of all boxes: those with the least variation."""
MATERIAL, AIR = "material", "air"


@dataclass(frozen=True)
class Region:
    """A box with a name."""

    name: str
    box: Box


def parse_region(text: str, shape: Shape) -> Region:
    """``air=0:8,10:40,10:40``.

    >>> parse_region("air=0:2,:,1:3", (4, 4, 4))
    Region(name='air', box=Box(start=(0, 0, 1), stop=(2, 4, 3)))
    """
    name, separator, box = text.partition("=")
    if not separator or not name:
        raise InvalidInput(f"Invalid region {text!r}.", remedy="Write NAME=z0:z1,y0:y1,x0:x1, such as air=0:8,:,0:20.")
    return Region(name, Box.parse(box, shape))


def choose_regions(voxels: Voxels) -> tuple[Region, Region]:
    """A box of material and one of air: of the boxes that vary least, the brightest and the darkest.

    voxels: (z, y, x), with as little noise as possible.
    """
    depth, height, width = voxels.shape
    edge = max((one for one in EDGES if one <= min(height, width) // 6), default=EDGES[0])
    thickness = min(depth, MAX_DEPTH)
    boxes = [
        Box((z, y, x), (z + thickness, y + edge, x + edge))
        for z in range(0, depth - thickness + 1, thickness)
        for y in range(0, height - edge + 1, edge)
        for x in range(0, width - edge + 1, edge)
        if _is_inside(y + edge / 2, x + edge / 2, edge, (height, width))
    ]
    if len(boxes) < 2:
        raise InvalidInput(
            f"A volume of {voxels.shape} (z, y, x) is too small to choose regions.", remedy="Name them yourself."
        )
    means = np.array([float(voxels[box.slices].mean()) for box in boxes])
    spreads = np.array([float(voxels[box.slices].std()) for box in boxes])
    flat = np.argsort(spreads)[: max(2, int(FLAT_SHARE * len(boxes)))]
    bright, dark = flat[np.argmax(means[flat])], flat[np.argmin(means[flat])]
    return Region(MATERIAL, boxes[bright]), Region(AIR, boxes[dark])


def _is_inside(y: float, x: float, edge: int, shape: tuple[int, int]) -> bool:
    """Whether a box is in the circle that all views of a scan see."""
    radius = min(shape) / 2 - edge
    return (y - shape[0] / 2) ** 2 + (x - shape[1] / 2) ** 2 <= radius**2


def signal_to_noise(read: Callable[[Box], Voxels], regions: Mapping[str, Box]) -> float:
    """(mean of material - mean of air) / standard deviation of air."""
    material, air = (read(regions[name]).astype(np.float64) for name in (MATERIAL, AIR))
    spread = float(air.std())
    return (float(material.mean()) - float(air.mean())) / spread if spread else float("inf")
