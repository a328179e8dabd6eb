"""What the page has to know about the volume before it shows anything.

Here: facts about the volume, its histogram, and the choices there are.
Not here: the pictures (session).
"""

from dataclasses import dataclass
from typing import get_args

from pellucid.instance.protocol import OfferedShading
from pellucid.rendering.colors import color_maps
from pellucid.rendering.scene import Mode
from pellucid.volume.volume import Volume

BINS = 256


@dataclass(frozen=True)
class Description:
    """Shape and spacing are in (z, y, x) order. counts: voxels in equal bins over value_range."""

    name: str
    shape: tuple[int, int, int]
    spacing: tuple[float, float, float]
    unit: str
    dtype: str
    value_range: tuple[float, float]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Choices:
    """What there is to choose from. color_maps: colours (red, green, blue, 0 to 1) at equal distances, by name."""

    modes: tuple[str, ...]
    shadings: tuple[str, ...]
    color_maps: dict[str, list[tuple[float, float, float]]]


def describe(volume: Volume) -> Description:
    histogram = volume.histogram(BINS)
    low, high = float(histogram.edges[0]), float(histogram.edges[-1])
    counts = tuple(int(count) for count in histogram.counts)
    name = volume.location.path.rstrip("/").rpartition("/")[2]
    return Description(name, volume.shape, volume.spacing, volume.unit, volume.dtype.name, (low, high), counts)


def choices() -> Choices:
    return Choices(get_args(Mode), get_args(OfferedShading), color_maps())
