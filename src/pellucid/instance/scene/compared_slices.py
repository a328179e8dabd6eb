"""Slices of the other of two scenes that are compared, locked to those of the scene: at the same place of the world.

Here: SliceKey, plan_compared.
Not here: slices of the scene itself (slice_plans), when they are drawn and for whom (slice_views).
"""

from dataclasses import replace

import numpy as np

from pellucid.box import triple
from pellucid.instance.protocol.client_messages import SliceView
from pellucid.instance.protocol.shared_types import View
from pellucid.instance.scene.catalogue import Catalogue
from pellucid.instance.scene.slice_plans import AXES, OBLIQUE, CrossHairPlace, SlicePlan, plan_slice
from pellucid.rendering.scene import Scene
from pellucid.rendering.slice_image import Region, SliceAxis, SliceRectangle

SliceKey = tuple[View, SliceAxis]
"""Of which scene, and across which axis."""

BEYOND: Region = (2.0, 2.0, 3.0, 3.0)
"""A part of any slice that has nothing in it."""


def plan_compared(
    scenes: tuple[Scene, Scene], cut: CrossHairPlace, view: SliceView, catalogue: Catalogue
) -> SlicePlan | None:
    """The slice of the second scene where that of the first one lies; black where its volume does not reach. None where
    there is no such slice, or too little is known of its volume."""
    scene, other = scenes
    own = plan_slice(scene, cut, view, catalogue)
    layer = cut.layer if cut.layer < len(other.volumes) else 0
    first = plan_slice(other, CrossHairPlace((0, 0, 0), layer), view, catalogue)
    if own is None or first is None:
        return None
    place, is_there, planned = own.image.place, True, first
    if view.axis != "oblique":
        facts = catalogue.facts(other.volumes[layer].source)
        length = 0 if facts is None else facts.shape[AXES.index(view.axis)]
        index = steps_between(first.image.place, place)
        is_there = 0 <= index < length
        voxel = triple(max(0, min(index, length - 1)) if axis == view.axis else 0 for axis in AXES)
        planned = plan_slice(other, CrossHairPlace(voxel, layer), view, catalogue) or first
    region = same_region(place, view.region, planned.image.place) if is_there else BEYOND
    image = replace(planned.image, region=region)
    return replace(planned, image=image, index=planned.index if is_there else OBLIQUE, wanted_region=view.region)


def steps_between(first: SliceRectangle, place: SliceRectangle) -> int:
    """How many steps from a slice to the one that is nearest to the middle of another.

    >>> at = lambda z: SliceRectangle((0.0, 0.0, z), (4.0, 0.0, 0.0), (0.0, 4.0, 0.0), (0.0, 0.0, 0.5))
    >>> steps_between(at(1.0), at(3.1))
    4
    """
    between, step = np.subtract(place.at(0.5, 0.5), first.at(0.5, 0.5)), np.asarray(first.step)
    return int(np.floor(between @ step / (step @ step) + 0.5))


def same_region(place: SliceRectangle, region: Region, other: SliceRectangle) -> Region:
    """A region of a slice as fractions of another one, whose edges run the same way.

    >>> small = SliceRectangle((1.0, 0.0, 0.0), (2.0, 0.0, 0.0), (0.0, 4.0, 0.0), (0.0, 0.0, 1.0))
    >>> large = SliceRectangle((0.0, 0.0, 0.0), (4.0, 0.0, 0.0), (0.0, 8.0, 0.0), (0.0, 0.0, 1.0))
    >>> same_region(small, (0.0, 0.0, 1.0, 0.5), large)
    (0.25, 0.0, 0.75, 0.25)
    """
    left, top, right, bottom = region
    corners = np.array([place.at(left, top), place.at(right, bottom)]) - other.origin
    across, down = (np.asarray(edge) / np.dot(edge, edge) for edge in (other.right, other.down))
    (left, right), (top, bottom) = (map(float, corners @ way) for way in (across, down))
    return (left, top, right, bottom) if left < right and top < bottom else BEYOND
