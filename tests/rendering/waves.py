"""A volume that is uneven everywhere, so that no part of an image can be mistaken for another."""

import numpy as np

from pellucid.box import Shape
from pellucid.formats.protocol import Voxels


def waves(shape: Shape) -> Voxels:
    """In uint8, with the shape (z, y, x)."""
    z, y, x = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
    values = 125 + 80 * np.sin(z / 3) * np.cos(y / 4) * np.sin(x / 5) + 40 * np.sin((x + y + z) / 9)
    return np.asarray(values.astype(np.uint8))
