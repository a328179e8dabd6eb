"""Figures say which colour is which value, how large they are, and what they show."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pellucid.errors import InvalidInput
from pellucid.rendering.annotations import Annotations
from pellucid.rendering.camera import Camera
from pellucid.rendering.figures.color_bar import ticks, with_color_bar
from pellucid.rendering.figures.image_files import pixel_size, save_figure, scene_in_image
from pellucid.rendering.figures.slice_files import save_slice
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.volume import Volume

TRANSFER = TransferFunction(((0.0, (0.0, 0.0, 1.0)), (1.0, (1.0, 0.0, 0.0))), value_range=(-50.0, 150.0))
SCENE = Scene((VolumeLayer("scan.zarr", TRANSFER),), Camera(), annotations=Annotations(is_color_bar=True))


def test_the_colour_bar_goes_from_the_lowest_to_the_highest_value() -> None:
    rgba = with_color_bar(np.full((400, 600, 4), 255, np.uint8), SCENE)
    red, green, blue = (rgba[..., channel].astype(int) for channel in range(3))
    bar = (green < 40) & (red + blue > 150) & (red + blue < 300)
    rows, columns = np.nonzero(bar)
    assert rows.max() - rows.min() + 1 == pytest.approx(160, abs=3)
    assert columns.min() > 450
    column = int(np.median(columns))
    along = red[rows.min() : rows.max() + 1, column]
    assert (np.diff(along) <= 0).all()
    assert [along[0], along[-1]] == pytest.approx([255, 0], abs=3)


def test_ticks_are_round_and_inside() -> None:
    assert ticks(-50.0, 150.0) == [-50.0, 0.0, 50.0, 100.0, 150.0]
    for low, high in ((0.0, 1.0), (3.1e-6, 7.7e-6), (-1e6, 2.5e7), (254.9, 255.1)):
        found = ticks(low, high)
        assert 2 <= len(found) <= 6
        assert low - 1e-9 * abs(low) <= min(found) <= max(found) <= high + 1e-9 * abs(high)


def test_ticks_at_zero_have_no_sign() -> None:
    for low, high in ((-0.02, 0.031), (-5.0, 0.0), (-0.0, 5.0), (-3.1e-12, 7e-13), (-1e-9, 1.0), (-1.0, 1e-9)):
        texts = [f"{tick:.6g}" for tick in ticks(low, high)]
        assert "0" in texts and "-0" not in texts


def test_letters_are_as_large_as_is_wanted() -> None:
    marks = replace(SCENE.annotations, value_unit="HU")
    blank = np.zeros((400, 600, 4), np.uint8)
    written = []
    for scale in (1.0, 2.0):
        rgba = with_color_bar(blank, replace(SCENE, annotations=replace(marks, text_scale=scale)))
        written.append(int((rgba[..., :3].min(axis=-1) > 200).sum()))
    assert written[1] > 2.5 * written[0]
    with pytest.raises(InvalidInput, match="text scale"):
        Annotations(text_scale=0.0)


def test_without_values_or_without_being_wanted_nothing_is_drawn() -> None:
    blank = np.zeros((400, 600, 4), np.uint8)
    assert with_color_bar(blank, replace(SCENE, volumes=())) is blank
    assert with_color_bar(blank, replace(SCENE, annotations=Annotations())) is blank


@pytest.mark.parametrize("name", ["figure.png", "figure.tif"])
def test_a_figure_opens_its_scene_again_and_knows_its_size(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    pixels = np.random.default_rng(0).integers(0, 255, (30, 40, 4)).astype(np.uint8)
    save_figure(pixels, path, dpi=300, scene=SCENE)
    assert scene_in_image(path) == SCENE
    with Image.open(path) as image:
        np.testing.assert_array_equal(np.asarray(image), pixels)
        assert image.info["dpi"] == pytest.approx((300, 300), abs=0.01)
    save_figure(pixels, path)
    assert scene_in_image(path) is None


def test_files_of_others_have_no_scene(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "other.png")
    (tmp_path / "broken.png").write_bytes(b"nothing of the kind")
    for name in ("other.png", "broken.png", "missing.tif", "volume.zarr"):
        assert scene_in_image(tmp_path / name) is None


@pytest.mark.parametrize(
    ("text", "dpi", "expected"),
    [("1920x1080", 300, (1920, 1080)), ("170x120mm", 600, (4016, 2835)), ("7x5in", 100, (700, 500))],
)
def test_sizes_on_paper_become_pixels(text: str, dpi: float, expected: tuple[int, int]) -> None:
    assert pixel_size(text, dpi) == expected


@pytest.mark.parametrize(("text", "dpi"), [("0x4", 300), ("10", 300), ("4x4km", 300), ("4x4cm", 0), ("0.01x0.01cm", 1)])
def test_sizes_that_mean_nothing_are_refused(text: str, dpi: float) -> None:
    with pytest.raises(InvalidInput):
        pixel_size(text, dpi)


def test_slices_keep_whole_numbers_and_stretch_others(tmp_path: Path) -> None:
    path = tmp_path / "slice.tif"
    counts = np.random.default_rng(0).integers(0, 65536, (5, 6, 7)).astype(np.uint16)
    assert save_slice(Volume.from_array(counts), "y", 2, path) is None
    with Image.open(path) as image:
        np.testing.assert_array_equal(np.asarray(image), counts[:, 2])
    floats = np.linspace(-1, 3, 210).reshape(5, 6, 7)
    assert save_slice(Volume.from_array(floats), "z", 4, path, (0.0, 2.0)) == (0.0, 2.0)
    with Image.open(path) as image:
        expected = (floats[4] / 2).clip(0, 1) * 65535
        assert np.abs(np.asarray(image).astype(float) - expected).max() <= 0.51
    with pytest.raises(InvalidInput, match="no slice z=5"):
        save_slice(Volume.from_array(counts), "z", 5, path)
