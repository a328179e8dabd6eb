"""Light on a surface and in a volume, as kernels see it.

Here: how bright a sample is: by its gradient, in shadow, under an open sky.
Not here: how much light reaches a place (light_grid), shadings of users (user_shading).
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.sampling import Grid, gradient_in
from pellucid.rendering.drawing.illumination import DISTANCE, EVERY, FLAT, OPEN_SKY
from pellucid.rendering.kernels.rays import SHADINGS, LayerStruct, LightStruct

wp.set_module_options({"fast_math": True})

SPARSE = wp.constant(float(EVERY))
SKY = wp.constant(OPEN_SKY)
LEVEL = wp.constant(FLAT)
STEEPEST = wp.constant(1.0e18)
BEFORE = wp.constant(DISTANCE)
GRADIENT = wp.constant(SHADINGS["gradient"])
SHADOW = wp.constant(SHADINGS["shadow"])
OCCLUSION = wp.constant(SHADINGS["occlusion"])


@wp.func
def lit_surface(light: LightStruct, normal: wp.vec3, direction: wp.vec3, base: wp.vec3):
    """Blinn-Phong, both sides alike. normal, direction (of the ray): unit length."""
    towards = light.towards
    if light.is_headlight != 0:
        towards = -direction
    half = wp.normalize(towards - direction)
    brightness = light.ambient + light.diffuse * wp.abs(wp.dot(normal, towards))
    shine = light.specular * wp.pow(wp.abs(wp.dot(normal, half)), light.shininess)
    return base * brightness + wp.vec3(shine, shine, shine)


@wp.func
def lit_along(layer: LayerStruct, slope: wp.vec3, direction: wp.vec3, base: wp.vec3):
    """Blinn-Phong by a gradient in voxels; the smaller it is, the more light comes from everywhere."""
    flat = base * (layer.light.ambient + layer.light.diffuse)
    normal = wp.transpose(layer.to_voxel) * slope * layer.firmness
    length = wp.length(normal)
    # Beside voxels that are NaN or infinite there is no gradient, and no comparison with it is true.
    if not (length > LEVEL and length < STEEPEST):
        return flat
    return wp.lerp(flat, lit_surface(layer.light, normal / length, direction, base), wp.min(length, 1.0))


@wp.func
def lit(layer: LayerStruct, here: Grid, direction: wp.vec3, at: wp.vec3, base: wp.vec3):
    """Blinn-Phong by the gradient at a point."""
    return lit_along(layer, gradient_in(here, at), direction, base)


@wp.func
def brightness_at(brightness: wp.array3d(dtype=wp.float32), at: wp.vec3):
    """The light at a place, trilinear between those where it is known."""
    spot = wp.vec3(at[0] / SPARSE, at[1] / SPARSE, at[2] / SPARSE)
    x = wp.clamp(wp.int32(spot[0]), 0, wp.max(brightness.shape[2] - 2, 0))
    y = wp.clamp(wp.int32(spot[1]), 0, wp.max(brightness.shape[1] - 2, 0))
    z = wp.clamp(wp.int32(spot[2]), 0, wp.max(brightness.shape[0] - 2, 0))
    total = wp.float32(0.0)
    for corner in range(8):
        i = wp.min(x + (corner & 1), brightness.shape[2] - 1)
        j = wp.min(y + ((corner >> 1) & 1), brightness.shape[1] - 1)
        k = wp.min(z + (corner >> 2), brightness.shape[0] - 1)
        u = wp.clamp(spot[0] - wp.float32(x), 0.0, 1.0)
        v = wp.clamp(spot[1] - wp.float32(y), 0.0, 1.0)
        w = wp.clamp(spot[2] - wp.float32(z), 0.0, 1.0)
        weight = wp.where((corner & 1) != 0, u, 1.0 - u) * wp.where((corner & 2) != 0, v, 1.0 - v)
        total += brightness[k, j, i] * weight * wp.where(corner > 3, w, 1.0 - w)
    return total


@wp.func
def light_before(layer: LayerStruct, direction: wp.vec3, at: wp.vec3):
    """The light before a point, as eye and light see it: places of the coarse grid inside a wall would leave their
    pattern."""
    before = at + (layer.towards_light - wp.normalize(layer.to_voxel * direction)) * BEFORE
    return brightness_at(layer.brightness, before)


@wp.func
def in_shadow(layer: LayerStruct, direction: wp.vec3, at: wp.vec3, base: wp.vec3):
    """A colour in what reaches it of one light."""
    return base * (layer.light.ambient + layer.light.diffuse * light_before(layer, direction, at))


@wp.func
def open_sky(layer: LayerStruct, direction: wp.vec3, at: wp.vec3):
    """The part of the light from everywhere that a point gets."""
    return wp.min(SKY * light_before(layer, direction, at), 1.0)


@wp.func
def shaded(layer: LayerStruct, here: Grid, direction: wp.vec3, at: wp.vec3, base: wp.vec3):
    """A colour in the light that falls on it."""
    if layer.shading == GRADIENT:
        return lit(layer, here, direction, at, base)
    if layer.shading == SHADOW:
        return in_shadow(layer, direction, at, base)
    if layer.shading == OCCLUSION:
        return lit(layer, here, direction, at, base) * open_sky(layer, direction, at)
    return base
