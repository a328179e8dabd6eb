"""Grey and coloured images as PNG.

Here: png_bytes, to_bytes.
Not here: what is drawn (figure).
"""

import io

import numpy as np
from PIL import Image

from pellucid.formats.protocol import Voxels


def png_bytes(image: Voxels) -> bytes:
    """image: (y, x) or (y, x, 3) uint8."""
    content = io.BytesIO()
    Image.fromarray(image).save(content, "PNG")
    return content.getvalue()


def to_bytes(image: Voxels, window: tuple[float, float]) -> Voxels:
    """Values (y, x) as uint8: black below the window, white above it.

    >>> to_bytes(np.array([[-1.0, 0.5, 2.0]]), (0.0, 1.0)).tolist()
    [[0, 128, 255]]
    """
    low, high = window
    scaled = np.clip((image.astype(np.float32) - low) / max(high - low, 1e-30), 0, 1)
    return np.asarray(np.rint(scaled * 255), np.uint8)


def contrast(image: Voxels, percent: float = 0.5) -> tuple[float, float]:
    """A window that leaves out so many percent of the pixels at either end."""
    low, high = np.percentile(image, (percent, 100 - percent))
    return float(low), float(max(high, low + 1e-12))
