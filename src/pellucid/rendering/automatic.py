"""The first picture: right without touching anything.

Here: a window and a transfer function from the histogram (air transparent), and a camera that sees all of it.
Not here: what a person chooses afterwards (scene).
"""

import numpy as np

from pellucid.rendering.camera import Camera, framing
from pellucid.rendering.colors import color_points
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.statistics import Histogram
from pellucid.volume.volume import Volume

BINS = 1024
BRIGHTEST_PERCENT = 99.9
FOOT = 0.01
NOISE = 0.06


def automatic_scene(volume: Volume, preset: str = "bone") -> Scene:
    """A scene that shows what is in a volume."""
    transfer = automatic_transfer(volume.histogram(BINS), preset)
    layer = VolumeLayer(str(volume.location.absolute), transfer)
    return Scene((layer,), automatic_camera(volume))


def automatic_camera(volume: Volume) -> Camera:
    """From the front, a little from the right and from above; z points up."""
    z, y, x = (n * s for n, s in zip(volume.shape, volume.spacing, strict=True))
    return framing((0.0, 0.0, 0.0), (x, y, z), direction=(0.55, -1.0, 0.35), up=(0.0, 0.0, 1.0))


def automatic_transfer(histogram: Histogram, preset: str = "bone") -> TransferFunction:
    """Air transparent, the rest rising from a haze to solid."""
    low = histogram.percentile(0.1)
    high = max(histogram.percentile(BRIGHTEST_PERCENT), low + (histogram.edges[1] - histogram.edges[0]))
    threshold = min(max((air_threshold(histogram) - low) / (high - low), 0.0), 0.9)
    middle = threshold + 0.3 * (1 - threshold)
    opacities = ((0.0, 0.0), (threshold, 0.0), (middle, 0.25), (1.0, 0.9))
    return TransferFunction(color_points(preset, threshold), opacities, (low, high))


def air_threshold(histogram: Histogram) -> float:
    """The value that parts air, or whatever the scan is mostly filled with, from the rest.

    Where the most frequent value is a dark one: the foot of its peak, and a little more for its noise. Where it is not,
    there is no air, and a tenth of the voxels are left out so that the inside shows at all.
    """
    peak = int(histogram.counts.argmax())
    if peak > len(histogram.counts) // 2:
        return histogram.percentile(10)
    beyond = np.nonzero(histogram.counts[peak:] < FOOT * histogram.counts[peak])[0]
    foot = peak + int(beyond[0]) if len(beyond) else peak
    extent = histogram.percentile(BRIGHTEST_PERCENT) - float(histogram.edges[0])
    return float(histogram.edges[foot]) + NOISE * extent
