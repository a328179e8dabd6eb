"""What a ray accumulates: colour and opacity, front to back.

Here: Accumulated, adding a sample to it, and what lies behind.
Not here: the way of the ray (rays, composite), light (shading).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.label_sampling import label_in
from pellucid.fields.kernels.sampling import Grid, table_row, value_in
from pellucid.rendering.kernels.light_rays import FoundLight, light_before, no_light
from pellucid.rendering.kernels.rays import FAR, LayerStruct, ViewStruct
from pellucid.rendering.kernels.shading import light_on, shaded

OPAQUE = wp.constant(0.996)


@wp.struct
class Accumulated:
    """What a ray has seen so far: colour multiplied by opacity, opacity, and where half of it was reached; the light
    that was found last."""

    color: wp.vec3
    opacity: wp.float32
    depth: wp.float32
    light: FoundLight


@wp.func
def empty():
    gathered = Accumulated()
    gathered.depth = FAR
    gathered.light = no_light()
    return gathered


@wp.func
def seen_before(view: ViewStruct, row: wp.int32, column: wp.int32):
    """What a ray saw of other parts of the volume, before it comes to this one."""
    gathered = empty()
    if view.before.shape[0] > 0:
        before = view.before[row, column]
        gathered.color = wp.vec3(before[0], before[1], before[2])
        gathered.opacity = before[3]
        gathered.depth = view.before_depth[row, column]
        gathered.light = light_before(view, row, column)
    return gathered


@wp.func
def accumulate(gathered: Accumulated, color: wp.vec3, opacity: wp.float32, distance: wp.float32):
    """Behind what was seen before comes something of a colour and an opacity."""
    weight = (1.0 - gathered.opacity) * opacity
    if gathered.opacity < 0.5 and gathered.opacity + weight >= 0.5:
        gathered.depth = distance
    gathered.color = gathered.color + color * weight
    gathered.opacity = gathered.opacity + weight
    return gathered


@wp.func
def over_opaque(gathered: Accumulated, scenery: wp.vec4):
    """What a ray gathered, and behind it what was drawn before."""
    behind = scenery * (1.0 - gathered.opacity)
    color = gathered.color
    return wp.vec4(color[0] + behind[0], color[1] + behind[1], color[2] + behind[2], gathered.opacity + behind[3])


@wp.func
def classified(layer: LayerStruct, value: wp.float32):
    return layer.table[table_row(value, layer.value_low, layer.value_scale, layer.table.shape[0])]


@wp.func
def sampled(layer: LayerStruct, here: Grid, at: wp.vec3):
    """The value at a point; of labels, the nearest voxel's."""
    if layer.is_labels != 0:
        return label_in(here, at)
    return value_in(here, at)


@wp.func
def add_sample(
    gathered: Accumulated, layer: LayerStruct, here: Grid, direction: wp.vec3, at: wp.vec3, distance: wp.float32
):
    """One sample of a volume: its colour, lit, and its opacity. here: the voxels of its cell."""
    entry = classified(layer, value_in(here, at))
    if entry[3] <= 0.0:
        return gathered
    weight = entry[3] * (1.0 - gathered.opacity)
    gathered.light = light_on(gathered.light, layer, direction, at, weight)
    base = wp.vec3(entry[0], entry[1], entry[2])
    color = shaded(layer, here, direction, at, base, gathered.light)
    return accumulate(gathered, color, entry[3], distance)
