"""The definition of light on surfaces, in plain NumPy.

Here: Blinn-Phong by a gradient or a normal.
Not here: how much light arrives (reference.light_rays), what is lit (reference.volumes, reference.geometry).
"""

from dataclasses import dataclass

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera
from pellucid.rendering.drawing.light_rays import FLAT, GLINT, TURN
from pellucid.rendering.light import Light

FIRM = 1e3
"""From here on all is surface but what rounding leaves of a gradient: of a mesh's normals, of labels."""


@dataclass(frozen=True)
class Sun:
    """A light, the way to it in the world, and the part of it that arrives, at all points or at each of them."""

    light: Light
    towards: Voxels
    arrives: Voxels | float = 1.0

    @classmethod
    def over(cls, light: Light, camera: Camera) -> "Sun":
        """Nothing is in its way."""
        return cls(light, light.towards(camera))


def lit(base: Voxels, gradient: Voxels, directions: Voxels, sun: Sun, firmness: float = np.inf) -> Voxels:
    """Blinn-Phong on the side that the eye sees; the smaller the gradient, the more light comes from everywhere.

    Beside voxels that are NaN or infinite there is no gradient.
    """
    light = sun.light
    gradient = np.where(np.isfinite(gradient).all(axis=1, keepdims=True), gradient, 0) * min(firmness, FIRM)
    length = np.linalg.norm(gradient, axis=1)
    normal = gradient / np.maximum(length, FLAT)[:, None]
    half = sun.towards - directions
    half = half / np.maximum(np.linalg.norm(half, axis=1), 1e-12)[:, None]
    side = np.clip(0.5 - TURN * np.sum(normal * directions, axis=1), 0, 1)
    falling, facing = normal @ sun.towards, 2 * side - 1
    diffuse = side * np.maximum(falling, 0) + (1 - side) * np.maximum(-falling, 0)
    mirrored = np.maximum(np.sign(facing) * np.sum(normal * half, axis=1), 0) ** light.shininess
    specular = mirrored * np.clip(GLINT * facing * falling, 0, 1)
    surface = np.where(length < FLAT, 0, np.minimum(length, 1) if firmness < FIRM else 1)
    brightness = light.ambient + light.diffuse * sun.arrives * (1 + surface * (diffuse - 1))
    shine = light.specular * sun.arrives * specular * surface
    shaded: Voxels = base * brightness[:, None] + shine[:, None]
    return shaded
