"""Frame: an image of a Scene, with its statistics.

Here: Frame; save_image, for it and for other images.
Not here: making it (renderer).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pellucid.engines.output_check import check_output
from pellucid.errors import InvalidInput
from pellucid.fields.bricks.visibility import VisibleBricks
from pellucid.formats.local_files import written_whole
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels


@dataclass(frozen=True)
class FrameStatistics:
    """What an image shows of its scene, and what it took.

    times_s: seconds by stage: load (volumes and scenery to the device), prepare, draw, read (what was seen too coarsely
    and drawn again), finish. full_resolution: the fraction of what is visible that is drawn from level 0.
    visible_bricks: for each volume of the scene, what of it is seen, in order of importance. scale: rows drawn for each
    row of the image, below 1 where it was enlarged. images: how many were put together to smooth it. is_along_rays:
    whether a neural field was evaluated where rays sample it, instead of being decoded to bricks. paths: of light,
    followed for every pixel of a cinematic image; missing_paths: how many are still to come.
    """

    device: str
    times_s: dict[str, float] = field(default_factory=dict)
    full_resolution: float = 1.0
    visible_bricks: tuple[VisibleBricks, ...] = ()
    scale: float = 1.0
    images: int = 1
    is_along_rays: bool = False
    paths: int = 0
    missing_paths: int = 0

    @property
    def is_exact(self) -> bool:
        """Whether every pixel was drawn, from nothing but voxels of level 0, with all paths of light."""
        return self.scale == 1 and self.full_resolution == 1 and self.missing_paths == 0


@dataclass(frozen=True)
class Frame:
    """rgba: (height, width, 4) uint8, not multiplied by its opacity. depth: (height, width) float32, world units from
    the eye to where half of the opacity is reached, inf where nothing is. sources: what was drawn."""

    rgba: Voxels
    depth: Voxels
    statistics: FrameStatistics
    sources: tuple[str, ...] = ()

    def save(self, path: str | Path) -> None:
        """Write a PNG, or any other format that the name asks for."""
        check_output(Location(str(path)), self.sources, may_join_slices=True)
        save_image(self.rgba, Path(path))


def save_image(pixels: Voxels, path: Path) -> None:
    """Write (height, width[, 3 or 4]) uint8 in the format that the name asks for, in one step."""
    from PIL import Image

    kind = Image.registered_extensions().get(path.suffix.lower())
    if kind not in Image.SAVE:
        raise InvalidInput(f"{path} is not a valid image name.", remedy="Use a name that ends in .png or .jpg.")
    with written_whole(path) as file:
        Image.fromarray(pixels).save(file, kind)


def full_resolution(seen: Sequence[VisibleBricks]) -> float:
    """The part of what is visible of several volumes that was drawn from their level 0."""
    missing = sum(bricks.missing_weight for bricks in seen)
    return 1.0 - missing / sum(bricks.total_weight for bricks in seen) if missing else 1.0


def to_rgba8(color: Voxels, background: tuple[float, float, float, float]) -> Voxels:
    """From (h, w, 4) float, colours multiplied by opacity, over the background, to 8 bits."""
    red, green, blue, opacity = background
    behind = np.array([red * opacity, green * opacity, blue * opacity, opacity], np.float32)
    over = color + (1 - color[..., 3:]) * behind
    plain = over[..., :3] / np.maximum(over[..., 3:], 1e-6)
    bytes_ = np.concatenate([plain, over[..., 3:]], axis=-1).clip(0, 1) * 255
    rounded: Voxels = (bytes_ + 0.5).astype(np.uint8)
    return rounded


def enlarged(rgba: Voxels, size: tuple[int, int]) -> Voxels:
    """(h, w, 4) bytes at a larger size: colours between the nearest four pixels, each as much as it is opaque."""
    from PIL import Image

    height, width = size
    if rgba.shape[:2] == size:
        return rgba
    return np.asarray(Image.fromarray(rgba).resize((width, height), Image.Resampling.BILINEAR))


def enlarged_depth(depth: Voxels, size: tuple[int, int]) -> Voxels:
    """(h, w) at a larger size: that of the nearest pixel, because there is nothing between two depths."""
    rows, columns = (((np.arange(n) + 0.5) * m / n).astype(int) for n, m in zip(size, depth.shape, strict=True))
    return depth if depth.shape == size else depth.take(rows, 0).take(columns, 1)
