"""Samples of labels.

Here: the light on what a label names, adding a sample to what a ray gathers, and whether values are drawn at a point.
Not here: reading labels (fields.kernels.label_sampling), samples of values (accumulation, classification).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.label_sampling import label_gradient_in, label_in
from pellucid.fields.kernels.sampling import Grid
from pellucid.rendering.kernels.accumulation import Accumulated, accumulate, classified
from pellucid.rendering.kernels.rays import SHADINGS, LayerStruct
from pellucid.rendering.kernels.shading import lit_surface

UNLIT = wp.constant(SHADINGS["none"])
MASK = wp.constant(2)
"""is_labels of a layer that says where values of other volumes are drawn."""
ROUNDING = wp.constant(1.0e-5)
"""Per voxel: where a label is all around, its gradient is what rounding leaves, and no direction."""


@wp.func
def lit_label(layer: LayerStruct, here: Grid, direction: wp.vec3, at: wp.vec3, base: wp.vec3, label: wp.float32):
    """By how the label begins and ends around a point; inside, light comes from everywhere."""
    slope = label_gradient_in(here, at, label)
    if wp.length(slope) < ROUNDING:
        return base * (layer.light.ambient + layer.light.diffuse)
    normal = wp.normalize(wp.transpose(layer.to_voxel) * slope)
    return lit_surface(layer.light, normal, direction, base, 1.0)


@wp.func
def is_drawn_at(layer: LayerStruct, here: Grid, at: wp.vec3):
    """Whether the labels of a mask let values be drawn."""
    entry = classified(layer, label_in(here, at))
    return entry[3] > 0.0


@wp.func
def add_label(
    gathered: Accumulated, layer: LayerStruct, here: Grid, direction: wp.vec3, at: wp.vec3, distance: wp.float32
):
    """One sample of a volume of labels: its colour, lit, and its opacity. here: the voxels of its cell."""
    label = label_in(here, at)
    entry = classified(layer, label)
    if entry[3] <= 0.0:
        return gathered
    color = wp.vec3(entry[0], entry[1], entry[2])
    if layer.shading != UNLIT:
        color = lit_label(layer, here, direction, at, color, label)
    return accumulate(gathered, color, entry[3], distance)
