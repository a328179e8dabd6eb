"""Light on a surface and in a volume, as kernels see it.

Here: how bright a sample is: by its gradient, in shadow, under an open sky, and all of them together.
Not here: how much light reaches a place (light_rays), shadings of users (user_shading).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.sampling import Grid, gradient_in
from pellucid.rendering.drawing.light_rays import FLAT, GLINT, TURN
from pellucid.rendering.kernels.light_rays import OCCLUSION, SHADOW, FoundLight, find_light
from pellucid.rendering.kernels.rays import SHADINGS, LayerStruct, LightStruct

wp.set_module_options({"fast_math": True})

LEVEL = wp.constant(FLAT)
TURNING = wp.constant(TURN)
GLINTING = wp.constant(GLINT)
STEEPEST = wp.constant(1.0e18)
GRADIENT = wp.constant(SHADINGS["gradient"])
FULL = wp.constant(SHADINGS["full"])


@wp.func
def lit_surface(light: LightStruct, normal: wp.vec3, direction: wp.vec3, base: wp.vec3, shadow: wp.float32):
    """Blinn-Phong on the side that the eye sees. normal, direction (of the ray): unit length; shadow: the part of the
    light that arrives."""
    side = wp.clamp(0.5 - TURNING * wp.dot(normal, direction), 0.0, 1.0)
    falling = wp.dot(normal, light.towards)
    diffuse = side * wp.max(falling, 0.0) + (1.0 - side) * wp.max(-falling, 0.0)
    brightness = light.ambient + light.diffuse * shadow * diffuse
    facing = 2.0 * side - 1.0
    half = wp.normalize(light.towards - direction)
    mirrored = wp.pow(wp.max(wp.sign(facing) * wp.dot(normal, half), 0.0), light.shininess)
    shine = light.specular * shadow * mirrored * wp.clamp(GLINTING * facing * falling, 0.0, 1.0)
    return base * brightness + wp.vec3(shine, shine, shine)


@wp.func
def lit_along(layer: LayerStruct, slope: wp.vec3, direction: wp.vec3, base: wp.vec3, shadow: wp.float32):
    """Blinn-Phong by a gradient in voxels; the smaller it is, the more light comes from everywhere."""
    flat = base * (layer.light.ambient + layer.light.diffuse * shadow)
    normal = wp.transpose(layer.to_voxel) * slope * layer.firmness
    length = wp.length(normal)
    # Beside voxels that are NaN or infinite there is no gradient, and no comparison with it is true.
    if not (length > LEVEL and length < STEEPEST):
        return flat
    lit = lit_surface(layer.light, normal / length, direction, base, shadow)
    return wp.lerp(flat, lit, wp.min(length, 1.0))


@wp.func
def needs_gradient(layer: LayerStruct):
    """Whether a shading goes by the gradient."""
    return layer.shading == GRADIENT or layer.shading == OCCLUSION or layer.shading == FULL  # noqa: PLR1714


@wp.func
def shaded_along(layer: LayerStruct, slope: wp.vec3, direction: wp.vec3, base: wp.vec3, found: FoundLight):
    """A colour in the light that falls on it. slope: gradient in voxels; found: what the shading follows light for."""
    if needs_gradient(layer):
        return lit_along(layer, slope, direction, base, found.shadow) * found.sky
    if layer.shading == SHADOW:
        return base * (layer.light.ambient + layer.light.diffuse * found.shadow)
    return base


@wp.func
def light_on(found: FoundLight, layer: LayerStruct, direction: wp.vec3, at: wp.vec3, weight: wp.float32):
    """The light on a sample: what was found before, as long as little is lit by it."""
    if layer.shading < SHADOW:
        return found
    found.spent += weight
    if found.spent >= layer.light_rays.share:
        return find_light(layer, direction, at, weight)
    return found


@wp.func
def shaded(layer: LayerStruct, here: Grid, direction: wp.vec3, at: wp.vec3, base: wp.vec3, found: FoundLight):
    """A colour in the light that falls on it."""
    slope = wp.vec3()
    if needs_gradient(layer):
        slope = gradient_in(here, at)
    return shaded_along(layer, slope, direction, base, found)
