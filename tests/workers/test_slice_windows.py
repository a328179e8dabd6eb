"""The values of oblique slices: of known volumes, compared with what the plane passes through."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from pellucid.errors import Cancelled
from pellucid.formats.protocol import Voxels
from pellucid.rendering.scene import SliceLayer, Transform
from pellucid.rendering.slice_image import as_volume, oblique_rectangle
from pellucid.volume.open_files import OpenFiles
from pellucid.volume.slice_planes import planes_of_axes
from pellucid.workers.protocol.requests import MeasureOblique
from pellucid.workers.queries import slices
from pellucid.workers.queries.slices import measure_oblique
from pellucid.workers.queries.sources import MappedArray, Sources
from tests.workers.conftest import SOURCE

SHAPE, SPACING = (20, 31, 45), (2.0, 0.5, 1.0)
PLACED = Transform((1.5, 1.0, 0.7), (20.0, -30.0, 50.0), (3.0, -2.0, 5.0))
SLOPES = np.array([3.0, -5.0, 2.0])
"""Of values along z, y and x: between voxels, too, trilinear interpolation is exact."""
UP = SliceLayer(SOURCE, (15.0, 15.0, 8.0), (0.0, 0.0, 1.0))


def measured(
    voxels: Voxels, cut: SliceLayer, percents: tuple[float, float], spacing: tuple[float, float, float] = SPACING
) -> tuple[float, float]:
    sources = Sources(OpenFiles())
    volume = sources.use(SOURCE, MappedArray(voxels, spacing, ""))
    place = oblique_rectangle(cut, volume, planes_of_axes("-z"))
    reply = measure_oblique(MeasureOblique(7, as_volume(cut), place, percents), sources, threading.Event())
    assert reply.request == 7
    return reply.low, reply.high


def ramp() -> Voxels:
    zyx: Voxels = np.moveaxis(np.indices(SHAPE), 0, -1) @ SLOPES
    return zyx


def on_plane(cut: SliceLayer) -> Voxels:
    """Values of the ramp at a million random places of a plane, those that lie inside the volume."""
    random = np.random.default_rng(3)
    normal = np.asarray(cut.normal) / np.linalg.norm(cut.normal)
    places = random.uniform(-120, 120, (1_000_000, 3)) + cut.point
    places -= ((places - cut.point) @ normal)[:, None] * normal
    matrix = cut.transform.matrix() @ np.diag(SPACING[::-1])
    xyz = np.linalg.solve(matrix, (places - cut.transform.translation).T).T
    zyx = xyz[:, ::-1]
    inside = zyx[((zyx >= -0.5) & (zyx <= np.array(SHAPE) - 0.5)).all(axis=1)]
    assert len(inside) > 5000
    values: Voxels = np.clip(inside, 0, np.array(SHAPE) - 1) @ SLOPES
    return values


@pytest.mark.parametrize("normal", [(1.0, 0.3, -0.2), (0.0, 0.0, 1.0), (-0.2, 1.0, 0.9)])
def test_percentiles_are_of_what_the_plane_passes_through(normal: tuple[float, float, float]) -> None:
    middle = PLACED.matrix() @ np.diag(SPACING[::-1]) @ (np.array(SHAPE[::-1]) / 2) + PLACED.translation
    cut = SliceLayer(SOURCE, tuple(middle.tolist()), normal, transform=PLACED)
    values = on_plane(cut)
    expected = np.percentile(values, (1, 50, 99))
    span = np.ptp(values)
    assert np.abs(np.subtract(measured(ramp(), cut, (1, 99)), expected[[0, 2]])).max() < 0.02 * span
    assert measured(ramp(), cut, (50, 50))[0] == pytest.approx(expected[1], abs=0.02 * span)
    low, high = measured(ramp(), cut, (0, 100))
    assert abs(low - values.min()) < 0.05 * span and abs(high - values.max()) < 0.05 * span


@pytest.mark.parametrize("tile", [5, 64])
def test_a_plane_through_a_layer_of_voxels_has_their_values(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are read together; the ends, also where several samples lie in a voxel."""
    monkeypatch.setattr(slices, "TILE", tile)
    voxels = np.random.default_rng(1).integers(0, 999, (31, 31, 31)).astype(np.uint16)
    assert measured(voxels, UP, (0.0, 100.0), (1.0, 1.0, 1.0)) == (voxels[8].min(), voxels[8].max())
    monkeypatch.setattr(slices, "MIN_EDGE", 1)
    for percents in ((0.0, 100.0), (1.0, 99.0), (20.0, 35.0)):
        found = measured(voxels, UP, percents, (1.0, 1.0, 1.0))
        assert found == pytest.approx(tuple(np.percentile(voxels[8], percents)))
    across_x = replace(UP, point=(8.0, 1.0, 1.0), normal=(-2.0, 0.0, 0.0))
    assert measured(voxels, across_x, (1.0, 99.0), (1.0, 1.0, 1.0)) == pytest.approx(
        tuple(np.percentile(voxels[:, :, 8], (1, 99)))
    )


def test_values_that_are_missing_and_planes_beside_the_volume_do_not_count() -> None:
    voxels = np.full((31, 31, 31), np.nan, np.float32)
    voxels[8, :3, :3] = 4.0
    voxels[8, 9:12, 9:12] = 6.0
    assert measured(voxels, UP, (0, 100), (1.0, 1.0, 1.0)) == pytest.approx((4.0, 6.0))
    assert measured(voxels, replace(UP, point=(0.0, 0.0, 20.0)), (0, 100), (1.0, 1.0, 1.0)) == (0.0, 1.0)
    assert measured(voxels, replace(UP, point=(0.0, 0.0, 99.0)), (0, 100), (1.0, 1.0, 1.0)) == (0.0, 1.0)


def test_a_large_slice_is_sampled_further_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "MAX_EDGE", 20)
    cut = replace(UP, point=(22.0, 7.5, 10.0))
    values = on_plane(cut)
    assert measured(ramp(), cut, (5, 95)) == pytest.approx(
        tuple(np.percentile(values, (5, 95))), abs=0.1 * np.ptp(values)
    )


def test_measuring_can_be_stopped() -> None:
    sources, cancel = Sources(OpenFiles()), threading.Event()
    volume = sources.use(SOURCE, MappedArray(ramp(), SPACING, ""))
    place = oblique_rectangle(UP, volume, planes_of_axes("-z"))
    cancel.set()
    with pytest.raises(Cancelled, match="Measuring a slice"):
        measure_oblique(MeasureOblique(1, as_volume(UP), place, (1, 99)), sources, cancel)
