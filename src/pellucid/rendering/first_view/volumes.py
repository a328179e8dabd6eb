"""The first image of a volume, without any settings.

Here: a transfer function from the histogram (air transparent), labels in their colours, a camera that sees all of it.
Not here: which values matter, and which are air (value_range), which side of a scan is up (orientation), what a user
chooses afterwards (scene).
"""

from dataclasses import replace
from math import inf
from pathlib import Path

from pellucid.rendering.annotations import Annotations
from pellucid.rendering.camera import Camera, framing_points
from pellucid.rendering.first_view.orientation import (
    View,
    facing,
    front_in_world,
    standing_of,
    up_in_world,
    upright_axis,
    view_direction,
)
from pellucid.rendering.first_view.shown_region import brighter_than, filled_corners
from pellucid.rendering.first_view.value_range import air_threshold, informative_histogram, value_window
from pellucid.rendering.labels import Labels
from pellucid.rendering.presets.builtin import PRESETS, check_preset, is_preset_file, preset_from_file
from pellucid.rendering.presets.color_maps import color_points
from pellucid.rendering.scene import Scene, ShadingName, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.statistics import Histogram
from pellucid.volume.subsample import subsampled
from pellucid.volume.volume import Volume

BRIGHTENING = 1.5
"""Bent towards the air: most of a sample is far darker than its brightest grain."""
LABEL_BYTES, SAME_NEIGHBOURS = 4, 0.7


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
        return _labels_scene(volume, automatic_camera(volume, (0.0, inf), up, view, aspect, is_turning=is_turning))
    # Of a large array in memory only some voxels are read: counting all of them would take too long.
    seen = subsampled(volume)
    histogram = informative_histogram(seen)
    air = air_threshold(histogram)
    transfer = automatic_transfer(histogram, preset)
    flat = facing(seen)
    shading: ShadingName = "none" if air is None or flat else "gradient"
    if preset in PRESETS:
        shading = PRESETS[preset].shading
    layer = VolumeLayer(str(volume.location.absolute), transfer, shading=shading, transform=standing_of(volume))
    stands = up if up or flat else upright_axis(seen, air)
    shown = None if air is None else (air, float(histogram.edges[-1]))
    camera = automatic_camera(volume, shown, stands, view, aspect, is_turning=is_turning)
    return Scene((layer,), camera, annotations=Annotations(unit=_unit(volume)))


def stack_scene(volume: Volume, *, aspect: float = 1.0) -> Scene:
    """A scene for a volume whose slices are images, such as projections: the first one, face on and grey."""
    transfer = automatic_transfer(informative_histogram(subsampled(volume)), has_air=False)
    layer = VolumeLayer(str(volume.location.absolute), transfer, shading="none", transform=standing_of(volume))
    camera = automatic_camera(volume, None, "-y", "front", aspect)
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
    # Of labels that are to be seen as values.
    transfer = automatic_transfer(informative_histogram(subsampled(volume)))
    layer = VolumeLayer(str(volume.location.absolute), transfer, labels=labels, transform=standing)
    return Scene((layer,), camera, annotations=Annotations(unit=_unit(volume)))


def automatic_camera(
    volume: Volume,
    shown: tuple[float, float] | None = None,
    up: str | None = None,
    view: View = "corner",
    aspect: float = 1.0,
    *,
    is_turning: bool = False,
) -> Camera:
    """A camera that sees what is shown; by default from the front, a little from the right and above.

    shown: everything above the first value. Single voxels above the second, away from all else, need not be seen.
    Without it, all of the volume.
    """
    if view == "corner" and up is None and (flat := facing(volume)):
        direction, upwards = flat
        shown = None  # Slices are images: all of them is to be seen.
    else:
        direction, upwards = view_direction(view, up or up_in_world(volume), front_in_world(volume))
    corners = filled_corners(volume, None if shown is None else brighter_than(*shown), standing_of(volume))
    return framing_points(corners, direction, upwards, aspect, is_turning=is_turning)


def _unit(volume: Volume) -> str:
    """What one unit of the world is: voxels where the file knows nothing else."""
    return volume.unit or ("voxels" if set(volume.spacing) == {1.0} else "")


def automatic_transfer(histogram: Histogram, preset: str | None = None, *, has_air: bool = True) -> TransferFunction:
    """Air transparent, the rest rising from a haze to solid; where there is no air, a solid block."""
    low, high = value_window(histogram)
    air = air_threshold(histogram) if has_air else None
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
