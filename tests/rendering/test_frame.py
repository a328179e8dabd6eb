"""Saving a Frame."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import pellucid
from pellucid.errors import InvalidInput
from pellucid.rendering.first_view.volumes import automatic_scene
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
