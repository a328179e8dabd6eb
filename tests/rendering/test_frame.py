"""Saving a Frame."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import pellucid
from pellucid.device import Device, runtime, synchronize
from pellucid.errors import InvalidInput
from pellucid.rendering.drawing.postprocess import _to_host
from pellucid.rendering.first_view.volumes import automatic_scene
from pellucid.rendering.frame import to_rgba8
from pellucid.rendering.renderer import Renderer


def test_an_image_does_not_replace_what_it_shows(renderer: Renderer, tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.arange(8**3, dtype=np.uint8).reshape(8, 8, 8))
    os.link(path, tmp_path / "link.png")
    before = path.read_bytes()
    with pellucid.open(path) as volume:
        frame = renderer.render(automatic_scene(volume), 8, 6)
    with pytest.raises(InvalidInput, match=r"would overwrite .*a\.npy, which is part of the input"):
        frame.save(tmp_path / "link.png")
    assert path.read_bytes() == before
    frame.save(tmp_path / "new.png")
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "new.png")), frame.rgba)


def test_bytes_of_rows_are_those_of_the_definition(device: Device) -> None:
    """Of any light, also where there is none or too much."""
    random = np.random.default_rng(3)
    color = random.uniform(-0.2, 1.6, (7, 13, 4)).astype(np.float32)
    color[0], color[1, :, 3] = 0.0, 1.0
    depth = random.uniform(0, 2, (7, 13)).astype(np.float32)
    background = (0.2, 0.4, 0.9, 0.5)
    warp = runtime.start()
    light, reached = warp.array(color, dtype=warp.vec4, device=device.name), warp.array(depth, device=device.name)
    rgba, far = _to_host(light, reached, background, device)
    synchronize(device)
    expected = to_rgba8(color, background)
    assert (np.abs(rgba.astype(int) - expected) <= 1).all() and (rgba == expected).mean() > 0.99
    assert (far == depth).all()
