"""How a cinematic image is made.

Here: Cinematic, what a scene says about it.
Not here: the light of a lamp's direction (light), environments (environments), drawing (path_pass).
"""

from dataclasses import dataclass
from math import isfinite

from pellucid.errors import InvalidInput
from pellucid.rendering.number_checks import check_finite, check_shares

BUILT_IN = ("studio", "sky", "overcast")
MAX_SAMPLES = 65536
MAX_COLLISIONS = 4096
MAX_SEED = 1000


@dataclass(frozen=True)
class Cinematic:
    """How light is followed where a volume's shading is cinematic. samples: paths of every pixel.

    environment: studio, sky or overcast, or a file (.hdr, .exr) with all directions, its poles up and down; strength:
    of its light; turn_deg: turned about the vertical. lamp: strength of the scene's light, by its direction; lamp_deg:
    the angle that it is seen under, which makes shadows soft. surface: how far gradients make glossy surfaces, from 0
    (a cloud) to 1; roughness, coat: of these. anisotropy: whether clouds scatter light onwards (up to 1) or back (down
    to -1). scatterings: of one path, at the most. aperture: diameter of the lens as a share of the distance to the
    target; what lies elsewhere is blurred. focus: distance that is sharp, over that of the target. exposure: brightness
    of the image. is_denoised: whether what noise is left is filtered. seed: of chance; the same gives the same image.
    """

    samples: int = 256
    environment: str = "studio"
    strength: float = 1.0
    turn_deg: float = 0.0
    lamp: float = 1.0
    lamp_deg: float = 8.0
    surface: float = 1.0
    roughness: float = 0.35
    coat: float = 1.0
    anisotropy: float = 0.0
    scatterings: int = 24
    aperture: float = 0.0
    focus: float = 1.0
    exposure: float = 1.0
    is_denoised: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        check_finite("A cinematic strength, turn or exposure", self.strength, self.turn_deg, self.lamp, self.exposure)
        check_shares("A cinematic surface or coat", self.surface, self.coat)
        limits = {
            "samples": (1, MAX_SAMPLES),
            "scatterings": (1, MAX_COLLISIONS),
            "strength": (0.0, 1e6),
            "lamp": (0.0, 1e6),
            "exposure": (0.0, 1e6),
            "lamp_deg": (0.0, 180.0),
            "roughness": (0.02, 1.0),
            "anisotropy": (-0.99, 0.99),
            "aperture": (0.0, 1.0),
            "focus": (0.01, 100.0),
            "seed": (0, MAX_SEED),
        }
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not (isfinite(value) and low <= value <= high):
                raise InvalidInput(f"Invalid cinematic {name}: {value}.", remedy=f"Use {low:g} to {high:g}.")
