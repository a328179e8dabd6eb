"""What the image of a slice is made of: which volumes, where in the world, with which window.

Here: SlicePlan, and plan_slice, from the scene, the cross-hair and what a page has room for.
Not here: when slices are drawn and for whom (slice_views), drawing them (workers).
"""

from dataclasses import dataclass, replace

from pellucid.instance.protocol.client_messages import SliceView
from pellucid.instance.protocol.shared_types import Axis, Voxel
from pellucid.instance.scene.catalogue import Catalogue
from pellucid.rendering.scene import Scene, SliceLayer, VolumeLayer
from pellucid.rendering.slice_image import (
    Region,
    SliceImage,
    SliceRectangle,
    as_volume,
    axis_rectangle,
    oblique_rectangle,
)
from pellucid.rendering.slice_options import SliceOptions
from pellucid.rendering.transfer import TransferFunction

AXES: tuple[Axis, Axis, Axis] = ("z", "y", "x")
OBLIQUE = -1
"""The index of a slice that is across no axis."""
ValueRange = tuple[float, float]
SOLID = ((0.0, 1.0), (1.0, 1.0))


@dataclass(frozen=True)
class CrossHairPlace:
    """A voxel of a layer."""

    voxel: Voxel
    layer: int


@dataclass(frozen=True)
class SlicePlan:
    """What is drawn. index: of the slice; is_grey: whether it has no colours. wanted_region: as fractions of another
    slice at the same place, where it was asked for by that."""

    layers: tuple[VolumeLayer, ...]
    image: SliceImage
    index: int
    is_grey: bool
    wanted_region: Region | None = None


def plan_slice(scene: Scene, cut: CrossHairPlace, view: SliceView, catalogue: Catalogue) -> SlicePlan | None:
    """None where there is no such slice, or too little is known of its volume."""
    found = _cut(scene, cut, view, catalogue)
    if found is None:
        return None
    layer, options, place, index = found
    shown = _plain(layer, options, catalogue)
    labels = tuple(
        _labels(one)
        for one in scene.volumes
        if one.labels is not None and one.is_visible and one.source != layer.source
    )
    image = SliceImage(place, view.width, view.height, view.region, options.thickness, options.projection)
    return SlicePlan((shown, *labels), image, index, options.colors == "grey" and shown.labels is None and not labels)


def slice_place(scene: Scene, cut: CrossHairPlace, view: SliceView, catalogue: Catalogue) -> SliceRectangle | None:
    """Where a slice lies in the world."""
    found = _cut(scene, cut, view, catalogue)
    return None if found is None else found[2]


def _cut(
    scene: Scene, cut: CrossHairPlace, view: SliceView, catalogue: Catalogue
) -> tuple[VolumeLayer, SliceOptions, SliceRectangle, int] | None:
    """The volume that is cut, and how its slice is shown; where it lies, and which one it is."""
    if view.axis == "oblique":
        return None if not scene.slices else cut_oblique(scene.slices[0], catalogue)
    layer = scene.volumes[cut.layer] if cut.layer < len(scene.volumes) else None
    facts = None if layer is None else catalogue.facts(layer.source)
    if layer is None or facts is None:
        return None
    axis = AXES.index(view.axis)
    index = cut.voxel[axis]
    plane = facts.planes[axis].flipped(catalogue.flips(layer))
    return layer, layer.slice_options[axis], axis_rectangle(plane, index, facts, layer.transform), index


def cut_oblique(
    layer: SliceLayer, catalogue: Catalogue
) -> tuple[VolumeLayer, SliceOptions, SliceRectangle, int] | None:
    """The volume that an oblique slice cuts, how it is shown and where it lies; None while its volume is unknown."""
    facts = catalogue.facts(layer.source)
    if facts is None:
        return None
    volume = as_volume(layer)
    flips = catalogue.flips(volume)
    z, y, x = (plane.flipped(flips) for plane in facts.planes)
    return volume, layer.slice_options, oblique_rectangle(layer, facts, (z, y, x)), OBLIQUE


def _plain(layer: VolumeLayer, options: SliceOptions, catalogue: Catalogue) -> VolumeLayer:
    """A layer without what its slices do not depend on, such as its shading."""
    if layer.labels is not None:
        return _labels(layer)
    transfer = layer.transfer if options.colors == "transfer" else grey(_window(layer, options, catalogue))
    return VolumeLayer(layer.source, replace(transfer, opacities=SOLID), transform=layer.transform)


def _labels(layer: VolumeLayer) -> VolumeLayer:
    return VolumeLayer(layer.source, labels=layer.labels, transform=layer.transform)


def _window(layer: VolumeLayer, options: SliceOptions, catalogue: Catalogue) -> ValueRange:
    """The values that are black and white."""
    facts = catalogue.facts(layer.source)
    matter = (facts.low, facts.high) if facts is not None and facts.low < facts.high else None
    return options.window or matter or layer.transfer.value_range


def grey(window: ValueRange) -> TransferFunction:
    """From black to white."""
    return TransferFunction(((0.0, (0.0, 0.0, 0.0)), (1.0, (1.0, 1.0, 1.0))), SOLID, window)
