"""How far are renderings of a decoded volume from those of the original?

Here: image_quality, with the view that a volume opens with.
Not here: the quality of voxels (pellucid.neural.quality).
"""

import math
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

import pellucid
from pellucid.device import choose
from pellucid.rendering.renderer import Renderer

PIXELS = 1024
WINDOW = 7
Image = np.ndarray[Any, np.dtype[np.float32]]


def image_quality(original: Path, decoded: Path, pixels: int = PIXELS) -> tuple[float, float]:
    """PSNR and SSIM of an image, of colours 0 to 1."""
    first, second = rendering(original, original, pixels), rendering(original, decoded, pixels)
    error = float(np.mean((first - second) ** 2))
    return (math.inf if error == 0 else -10 * math.log10(error)), image_ssim(first, second)


@lru_cache(maxsize=2)
def rendering(original: Path, path: Path, pixels: int) -> Image:
    """The image of a file with the camera, colours and light that the original opens with."""
    with pellucid.open(original) as volume:
        scene = pellucid.automatic_scene(volume)
    layer = replace(scene.volumes[0], source=str(path.absolute()))
    renderer = Renderer(choose())
    try:
        frame = renderer.render(replace(scene, volumes=(layer,)), pixels, pixels)
    finally:
        renderer.close()
    rgba = np.asarray(frame.rgba, np.float32) / 255
    return np.asarray(rgba[..., :3] * rgba[..., 3:])


def image_ssim(first: Image, second: Image) -> float:
    """Mean structural similarity of all windows of the luminance.

    >>> image = np.random.default_rng(0).random((16, 16, 3)).astype(np.float32)
    >>> round(image_ssim(image, image), 6)
    1.0
    """
    a, b = (torch.from_numpy(one.astype(np.float64).mean(axis=2))[None, None] for one in (first, second))

    def mean(values: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.avg_pool2d(values, WINDOW, stride=1)

    mean_a, mean_b = mean(a), mean(b)
    spread_a, spread_b = mean(a * a) - mean_a**2, mean(b * b) - mean_b**2
    together = mean(a * b) - mean_a * mean_b
    top = (2 * mean_a * mean_b + 0.01**2) * (2 * together + 0.03**2)
    return float((top / ((mean_a**2 + mean_b**2 + 0.01**2) * (spread_a + spread_b + 0.03**2))).mean())
