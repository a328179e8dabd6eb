"""One whole volume in a hardware texture, with light followed through it, on CUDA alone.

Here: the kernel.
Not here: how it goes along a ray, volumes in bricks (composite_texture), following light (light_rays).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.sampling import FieldStruct, Grid
from pellucid.fields.textures.texture_kernels import texture_at, texture_gradient
from pellucid.rendering.kernels.composite_texture import (
    FAINT,
    Run,
    State,
    add_color,
    composite_textured_with,
    entry_at,
)
from pellucid.rendering.kernels.light_rays import FoundLight
from pellucid.rendering.kernels.rays import LayerStruct, Ray
from pellucid.rendering.kernels.shading import needs_gradient, shaded_along
from pellucid.rendering.kernels.textured.light_rays import find_light_in_texture

wp.set_module_options({"fast_math": True})


@wp.func
def lit_through_whole_run(layer: LayerStruct, here: Grid, ray: Ray, run: Run, state: State, found: FoundLight):
    """Samples in the light that comes through the volume to each visible one."""
    k = run.k
    while k < run.end and state[3] > FAINT:
        distance = wp.float32(k) * run.step + run.jitter * run.step
        entry = entry_at(run, texture_at(run.texture, run.origin + run.speed * distance), layer.table)
        if entry[3] > 0.0:
            at = ray.origin + ray.speed * distance
            found.spent += entry[3] * state[3]
            if found.spent >= layer.light_rays.share:
                found = find_light_in_texture(layer, layer.field.whole, ray.direction, at)
            slope = wp.vec3()
            if needs_gradient(layer):
                slope = texture_gradient(layer.field.whole, at)
            base = wp.vec3(entry[0], entry[1], entry[2])
            state = add_color(state, shaded_along(layer, slope, ray.direction, base, found), entry[3], distance)
        k += 1
    return state, found


@wp.func
def whole_grid(field: FieldStruct, cell: wp.vec3i, weight: wp.float32):
    """What locate finds where there are no bricks."""
    return field.whole


# Compiled alone: the others seldom need it.
composite_lit_through_whole = composite_textured_with(
    lit_through_whole_run, 12, whole_grid, module="unique", module_options={"fast_math": True}
)
