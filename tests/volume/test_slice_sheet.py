"""The picture of three slices: right slices, right way up, one scale."""

import numpy as np
import pytest

from pellucid.volume.sample_volume import sample
from pellucid.volume.slice_sheet import grey_levels, grey_window, middle_slices
from pellucid.volume.volume import Volume


def test_each_panel_shows_its_slice() -> None:
    voxels = np.zeros((20, 20, 20), np.uint8)
    voxels[10, 2, 15] = voxels[3, 10, 5] = voxels[16, 18, 10] = 255  # one voxel in each middle slice
    _, panels = middle_slices(Volume.from_array(voxels), height=20)
    bright = [[tuple(map(int, at)) for at in np.argwhere(panel.pixels > 128)] for panel in panels]
    assert bright == [[(2, 15)], [(3, 5)], [(16, 18)]]


def test_spacing_sets_the_shape_of_the_panels() -> None:
    volume = Volume.from_array(np.zeros((10, 40, 20), np.uint8), spacing=(2.0, 1.0, 1.0))
    image, panels = middle_slices(volume, height=80)
    assert [panel.pixels.shape for panel in panels] == [(80, 40), (40, 40), (40, 80)]
    assert image.shape == (80, 40 + 8 + 40 + 8 + 80)
    assert panels[0].caption == "xy at z = 5"


def test_the_window_ignores_outliers_and_constants() -> None:
    values = np.concatenate([np.linspace(0, 100, 10_000), [1e9, np.nan]])
    low, high = grey_window(values)
    assert -1 < low < 2
    assert 98 < high < 101
    assert grey_window(np.full(10, 4.0))[0] == 4.0
    assert grey_window(np.full(3, np.nan)) == (0.0, 1.0)


def test_the_sample_has_air_two_materials_and_is_reproducible() -> None:
    voxels = sample(64)
    assert (voxels == sample(64)).all()
    assert abs(np.median(voxels[:4]) - 2_000) < 200
    counts, edges = np.histogram(voxels, 64, (0, 65_535))
    peaks = {int(edges[i]) // 10_000 for i in range(1, 63) if counts[i] > counts[i - 1] and counts[i] > counts[i + 1]}
    assert {0, 2, 4} <= peaks


@pytest.mark.parametrize("value", [0, 1, 2**40, -(2**60)])
def test_equal_values_are_black_however_large(value: int) -> None:
    _, panels = middle_slices(Volume.from_array(np.full((3, 4, 5), value, np.int64)), 20)
    assert [panel.pixels.max() for panel in panels] == [0, 0, 0]


@pytest.mark.parametrize("dtype", ["uint32", "float64"])
def test_small_steps_far_from_zero_are_shown(dtype: str) -> None:
    voxels = (4e9 + np.arange(256)).astype(dtype)
    assert grey_levels(voxels, 4e9, 4e9 + 255).tolist() == list(range(256))
