"""Light: where it comes from, and how strongly it is reflected.

Here: Light, and the way of its rays for a camera; from colours to light.
Not here: what it meets in a volume (light_rays), how bright a sample is (reference, kernels.shading).
"""

from dataclasses import dataclass

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera, Vector
from pellucid.rendering.number_checks import check_direction, check_finite

FROM_ABOVE_LEFT: Vector = (0.5, -0.65, -1.0)
FROM_THE_EYE: Vector = (0.0, 0.0, -1.0)


GAMMA = 2.2


def linear(colors: Voxels) -> Voxels:
    """The light that colours as they are shown stand for."""
    light: Voxels = np.maximum(colors, 0.0) ** GAMMA
    return light


@dataclass(frozen=True)
class Light:
    """Where light comes from. direction: from the light into the scene, in the world; None: the light moves with the
    camera.

    camera_direction: the same to the right, upwards and towards the viewer, for a light that moves with the camera; by
    default it comes from above left, and (0, 0, -1) is a headlight.
    """

    direction: Vector | None = None
    ambient: float = 0.25
    diffuse: float = 0.75
    specular: float = 0.25
    shininess: float = 24.0
    camera_direction: Vector = FROM_ABOVE_LEFT

    def __post_init__(self) -> None:
        if self.direction is not None:
            check_direction("A light's direction", self.direction)
        check_direction("A light's direction from the camera", self.camera_direction)
        strengths = (self.ambient, self.diffuse, self.specular, self.shininess)
        check_finite("Light", *strengths)
        if min(strengths) < 0:
            raise InvalidInput("Light strengths and shininess must not be negative.", remedy="Use values of 0 or more.")

    def towards(self, camera: Camera) -> Voxels:
        """Unit vector from the scene to the light, in the world.

        >>> HEADLIGHT.towards(Camera((0.0, 0.0, 4.0))).tolist()
        [0.0, 0.0, 1.0]
        """
        if self.direction is not None:
            way = np.asarray(self.direction, float)
        else:
            right, up, forward = camera.axes()
            x, y, z = self.camera_direction
            way = x * right + y * up - z * forward
        towards: Voxels = 0.0 - way / np.linalg.norm(way)
        return towards


KEY_LIGHT = Light()
HEADLIGHT = Light(camera_direction=FROM_THE_EYE)
