"""JPEG: near enough to the picture, and the same pixels however many threads make it."""

import io

import numpy as np
import pytest
from PIL import Image

from pellucid.formats.protocol import Voxels
from pellucid.instance.frames import jpeg
from pellucid.instance.frames.jpeg import JpegEncoder


def image(height: int, width: int) -> Voxels:
    y, x = np.mgrid[0:height, 0:width]
    noise = np.random.default_rng(3).integers(0, 40, (height, width))
    return np.stack([x * 4, y * 6, 255 - x * 4 + noise, np.zeros_like(x)], axis=-1).astype(np.uint8)


def decoded(encoded: bytes) -> Voxels:
    return np.asarray(Image.open(io.BytesIO(encoded)).convert("RGB"))


@pytest.mark.parametrize("is_enlarged", [True, False])
def test_a_jpeg_is_nearly_the_picture(is_enlarged: bool) -> None:
    y, x = np.mgrid[0:40, 0:60]
    smooth = np.stack([x * 4, y * 6, 255 - x * 4, np.zeros_like(x)], axis=-1).astype(np.uint8)
    encoder = JpegEncoder()
    shown = decoded(encoder.encode(smooth, is_enlarged=is_enlarged)).astype(int)
    assert np.abs(shown - smooth[..., :3]).mean() < 3
    assert len(encoder.encode(smooth, 40)) < len(encoder.encode(smooth, 95))


@pytest.mark.parametrize("is_enlarged", [True, False])
@pytest.mark.parametrize(("height", "width"), [(64, 96), (65, 97), (200, 33), (17, 40)])
def test_strips_make_the_same_pixels(
    monkeypatch: pytest.MonkeyPatch, is_enlarged: bool, height: int, width: int
) -> None:
    monkeypatch.setattr(jpeg, "MIN_STRIP", 64)
    pixels = image(height, width)
    whole = JpegEncoder(1).encode(pixels, is_enlarged=is_enlarged)
    for threads in (2, 3, 16):  # With sixteen the markers begin anew at their first.
        encoder = JpegEncoder(threads)
        joined = encoder.encode(pixels, is_enlarged=is_enlarged)
        encoder.close()
        assert b"\xff\xd0" in joined
        np.testing.assert_array_equal(decoded(joined), decoded(whole))


def test_a_small_picture_is_one_strip() -> None:
    assert JpegEncoder(8).encode(image(64, 96)) == JpegEncoder(1).encode(image(64, 96))


def test_strips_are_no_longer_than_their_number_has_room_for() -> None:
    assert jpeg.blocks_high(rows=4000, columns=4000, strips=2) == 16
    assert jpeg.blocks_high(rows=90, columns=160, strips=1) == 90
