"""The first image: right without touching anything.

Here: a window and a transfer function from the histogram (air transparent), labels in their colours, and a camera that
sees all of it.
Not here: which side of a scan is up (orientation), what a person chooses afterwards (scene).
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.rendering.annotations import Annotations
from pellucid.rendering.automatic.orientation import (
    View,
    front_in_world,
    is_mirrored,
    standing_of,
    up_in_world,
    upright_axis,
    view_direction,
)
from pellucid.rendering.camera import Camera, framing_boxes
from pellucid.rendering.labels import Labels
from pellucid.rendering.presets.builtin import PRESETS, check_preset, is_preset_file, preset_from_file
from pellucid.rendering.presets.color_maps import color_points
from pellucid.rendering.scene import Scene, ShadingName, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.statistics import BRICK, BrickRanges, Histogram
from pellucid.volume.subsample import subsampled
from pellucid.volume.volume import Volume

BINS = 1024
COARSE_BINS = 64
DARKEST_PERCENT, BRIGHTEST_PERCENT = 0.1, 99.9
DARK_PEAK, DARK_VALLEY = 0.4, 0.5
FOOT = 0.02
VALLEY = 0.5
NOISE = 0.08
BRIGHTENING = 1.5
"""Bent towards the air: most of a sample is far darker than its brightest grain."""
FINE_BRICK, FINE_BYTES = 8, 2**28
LABEL_BYTES, SAME_NEIGHBOURS = 4, 0.7
LEAST_AIR = 0.15
"""A scan whose darkest peak holds fewer of the voxels is taken to be filled with material."""


def automatic_scene(
    volume: Volume,
    preset: str | None = None,
    *,
    up: str | None = None,
    view: View = "corner",
    aspect: float = 1.0,
    is_turning: bool = False,
) -> Scene:
    """A scene that shows what is in a volume.

    preset: a built-in preset, a colour map, or a file of another program; by default warm colours for a sample in air,
    and grey for a block of material. up: the axis that points up in the image, such as "z" or "-y"; by default what the
    file states, otherwise away from where the sample leaves the scan, otherwise -z: slice 0 is at the top. aspect:
    width of the image divided by its height. is_turning: whether the camera is far enough away to rotate around the
    volume.
    """
    if preset is not None:
        check_preset(preset)
    if preset is None and holds_labels(volume):
        return _labels_scene(volume, automatic_camera(volume, 0.0, up, view, aspect, is_turning=is_turning))
    # Of a large array in memory only some voxels are read: counting all of them would take too long.
    seen = subsampled(volume)
    histogram = seen.histogram(BINS)
    air = air_threshold(histogram)
    transfer = automatic_transfer(histogram, preset)
    shading: ShadingName = "none" if air is None else "gradient"
    if preset in PRESETS:
        shading = PRESETS[preset].shading
    layer = VolumeLayer(str(volume.location.absolute), transfer, shading=shading, transform=standing_of(volume))
    camera = automatic_camera(seen, air, up or upright_axis(seen, air), view, aspect, is_turning=is_turning)
    return Scene((layer,), camera, annotations=Annotations(unit=_unit(volume)))


def holds_labels(volume: Volume) -> bool:
    """Whether the numbers are names: wide integers, and in the middle slice nearly always the neighbour's."""
    if volume.dtype.kind not in "iu" or volume.dtype.itemsize < LABEL_BYTES:
        return False
    middle = volume[volume.shape[0] // 2]
    one, next_one = middle[:, :-1], middle[:, 1:]
    is_named = (one != 0) & (next_one != 0)
    return bool(is_named.any()) and float((one == next_one)[is_named].mean()) > SAME_NEIGHBOURS


def _labels_scene(volume: Volume, camera: Camera) -> Scene:
    labels, standing = Labels(opacity=1.0), standing_of(volume)
    layer = VolumeLayer(str(volume.location.absolute), labels=labels, transform=standing)
    return Scene((layer,), camera, annotations=Annotations(unit=_unit(volume)))


def automatic_camera(
    volume: Volume,
    air: float | None = None,
    up: str | None = None,
    view: View = "corner",
    aspect: float = 1.0,
    *,
    is_turning: bool = False,
) -> Camera:
    """A camera that sees everything above ``air``; as it comes, from the front, a little from the right and above."""
    direction, upwards = view_direction(view, up or up_in_world(volume), front_in_world(volume))
    return framing_boxes(_filled_boxes(volume, air), direction, upwards, aspect, is_turning=is_turning)


def _unit(volume: Volume) -> str:
    """What one unit of the world is: voxels where the file knows nothing else."""
    return volume.unit or ("voxels" if set(volume.spacing) == {1.0} else "")


def automatic_transfer(histogram: Histogram, preset: str | None = None) -> TransferFunction:
    """Air transparent, the rest rising from a haze to solid; where there is no air, a solid block."""
    low, high = _window(histogram)
    air = air_threshold(histogram)
    start = 0.0 if air is None else min(max((air - low) / (high - low), 0.0), 0.9)
    if preset in PRESETS:
        return PRESETS[preset].transfer(start, (low, high))
    if preset is not None and is_preset_file(preset):
        return preset_from_file(Path(preset), (low, high))
    if air is None:
        return TransferFunction(color_points(preset or "gray"), ((0.0, 0.8), (1.0, 0.8)), (low, high))
    middle = start + 0.3 * (1 - start)
    opacities = ((0.0, 0.0), (start, 0.0), (middle, 0.25), (1.0, 0.9))
    colors = tuple((start + (1 - start) * at**BRIGHTENING, color) for at, color in color_points(preset or "bone"))
    # Air is black where it is not transparent: in projections.
    black = ((0.0, (0.0, 0.0, 0.0)),) if start > 0 else ()
    return TransferFunction((*black, *colors), opacities, (low, high))


def linear_transfer(
    automatic: TransferFunction, preset: str | None, value_range: tuple[float, float]
) -> TransferFunction:
    """The colours of an automatic transfer function, but spread linearly over a range: no threshold for air."""
    if preset in PRESETS:
        return PRESETS[preset].transfer(0.0, value_range)
    if preset is not None and is_preset_file(preset):
        return replace(automatic, value_range=value_range)
    if automatic.opacities[0][1] > 0.0:  # A volume without air.
        return replace(automatic, value_range=value_range)
    (_, first), *others = color_points(preset or "bone")
    darkest = first if preset else (0.0, 0.0, 0.0)
    return TransferFunction(((0.0, darkest), *others), ((0.0, 0.0), (1.0, 0.9)), value_range)


def air_threshold(histogram: Histogram) -> float | None:
    """The value that parts air, or whatever dark the scan is mostly filled with, from the rest; None without air.

    Air is a peak among the dark values, with a valley still among them, and enough voxels before that. The threshold is
    the foot of the peak, and a little more for its noise.
    """
    if _is_constant(histogram):
        return None
    counts, edges = _coarse(histogram)
    peak = int(counts[: round(DARK_PEAK * len(counts))].argmax())
    behind = counts[peak:]
    is_foot = behind < FOOT * counts[peak]
    is_valley = (behind < VALLEY * counts[peak]) & (behind <= np.append(behind[1:], np.inf))
    found = np.nonzero(is_foot | is_valley)[0]
    if (
        not len(found)
        or peak + found[0] > DARK_VALLEY * len(counts)
        or counts[: peak + found[0]].sum() < LEAST_AIR * counts.sum()
    ):
        return None
    foot, extent = float(edges[peak + found[0]]), float(edges[-1] - edges[0])
    return min(foot + NOISE * extent, float(edges[-2]))


def _coarse(histogram: Histogram) -> tuple[Voxels, Voxels]:
    """Few bins over the window, smoothed: whole numbers spread over many bins leave gaps that are no valleys."""
    edges = np.linspace(*_window(histogram), COARSE_BINS + 1)
    below = np.concatenate([[0], np.cumsum(histogram.counts)])
    counts = np.diff(np.interp(edges, histogram.edges, below))
    return np.convolve(counts, (0.25, 0.5, 0.25), "same"), edges


def _window(histogram: Histogram) -> tuple[float, float]:
    """From dark to bright, without the few voxels that lie far outside.

    Where nearly all voxels have one value, the few others are what is to be seen; if there are none, it is grey.
    """
    first, last = float(histogram.edges[0]), float(histogram.edges[-1])
    if _is_constant(histogram):
        around = max(last - first, abs(first))
        return first - around, first + around
    low, high = histogram.percentile(DARKEST_PERCENT), histogram.percentile(BRIGHTEST_PERCENT)
    one_bin = float(histogram.edges[1] - histogram.edges[0])
    return (low, high) if high - low > one_bin else (first, last)


def _is_constant(histogram: Histogram) -> bool:
    return int(np.count_nonzero(histogram.counts)) <= 1


def _filled_boxes(volume: Volume, air: float | None) -> Voxels:
    """(n, 2, 3): low and high corners, (x, y, z) in world units, of boxes that hold everything above ``air``."""
    whole = np.array([[(0, 0, 0), volume.shape]], float)
    edge = FINE_BRICK if volume.nbytes <= FINE_BYTES else BRICK  # Large ones: what the histogram has found out already.
    boxes = whole if air is None else _filled_bricks(volume.brick_ranges(edge), air, volume.shape)
    boxes = boxes if len(boxes) else whole
    if is_mirrored(volume):
        boxes[..., 2] = volume.shape[2] - boxes[:, ::-1, 2]
    world: Voxels = (boxes * volume.spacing)[..., ::-1]
    return world


def _filled_bricks(ranges: BrickRanges, air: float, shape: tuple[int, int, int]) -> Voxels:
    """The first and the last filled brick of every row: all that can touch the border of an image."""
    is_filled = ranges.highest > air
    z, y = np.nonzero(is_filled.any(axis=2))
    first = is_filled[z, y].argmax(axis=1)
    last = is_filled.shape[2] - 1 - is_filled[z, y, ::-1].argmax(axis=1)
    low = np.stack([np.tile(z, 2), np.tile(y, 2), np.concatenate([first, last])], axis=1) * ranges.brick
    return np.stack([low, np.minimum(low + ranges.brick, shape)], axis=1).astype(float)
