"""Still pictures: lossless where they say so, near enough where not."""

import io

import numpy as np
from PIL import Image

from pellucid.formats.protocol import Voxels
from pellucid.instance.frames.encoders import encode_png


def image() -> Voxels:
    y, x = np.mgrid[0:40, 0:60]
    return np.stack([x * 4, y * 6, 255 - x * 4, np.full_like(x, 255)], axis=-1).astype(np.uint8)


def test_a_png_is_the_picture() -> None:
    shown = np.asarray(Image.open(io.BytesIO(encode_png(image()))))
    np.testing.assert_array_equal(shown, image()[..., :3])


def test_a_png_has_its_opacity_where_that_is_wanted() -> None:
    clear = image()
    clear[:20, :, 3] = 7
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(encode_png(clear, has_opacity=True)))), clear)
