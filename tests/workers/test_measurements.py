"""Regions of the world in the voxels of a layer that is turned and moved; what is too large for guests."""

import threading

import numpy as np
import pytest

from pellucid.errors import InvalidInput
from pellucid.rendering.scene import Transform, VolumeLayer
from pellucid.volume.open_files import OpenFiles
from pellucid.workers.protocol.requests import MeasureRegion
from pellucid.workers.queries.measurements import measure_region
from pellucid.workers.queries.sources import MappedArray, Sources

VOXELS = np.random.default_rng(4).integers(0, 900, (6, 7, 8)).astype(np.uint16)
LAYER = VolumeLayer("memory:values", transform=Transform((1.0, -1.0, 1.0), (0.0, 0.0, 90.0), (5.0, 6.0, 7.0)))


@pytest.fixture
def sources() -> Sources:
    sources = Sources(OpenFiles())
    sources.use(LAYER.source, MappedArray(VOXELS, (2.0, 1.0, 0.5), "mm"))
    return sources


def place(z: int, y: int, x: int) -> tuple[float, float, float]:
    """Where a voxel is."""
    found = LAYER.transform.matrix() @ np.array([x * 0.5, y * 1.0, z * 2.0]) + LAYER.transform.translation
    return (float(found[0]), float(found[1]), float(found[2]))


def test_a_box_follows_the_axes_of_a_volume_that_is_turned(sources: Sources) -> None:
    request = MeasureRegion(1, LAYER, "box", (place(1, 5, 2), place(4, 2, 6)))
    values = measure_region(request, sources, threading.Event()).values
    inside = VOXELS[1:5, 2:6, 2:7]
    assert (values.voxels, values.volume) == (inside.size, inside.size)
    assert values.mean == pytest.approx(inside.mean()) and values.sigma == pytest.approx(inside.std())


def test_a_sphere_is_round_in_the_world(sources: Sources) -> None:
    x, y, z = place(3, 3, 4)
    request = MeasureRegion(1, LAYER, "sphere", ((x, y, z), (x, y + 2.1, z)))
    planes, rows, columns = np.indices(VOXELS.shape)
    distance = np.sqrt(((planes - 3) * 2.0) ** 2 + (rows - 3) ** 2 + ((columns - 4) * 0.5) ** 2)
    values = measure_region(request, sources, threading.Event()).values
    assert values.voxels == (distance <= 2.1).sum()
    assert values.mean == pytest.approx(VOXELS[distance <= 2.1].mean())


def test_a_region_beside_the_volume_has_no_values(sources: Sources) -> None:
    request = MeasureRegion(1, LAYER, "sphere", ((900.0, 0.0, 0.0), (901.0, 0.0, 0.0)))
    values = measure_region(request, sources, threading.Event()).values
    assert (values.voxels, values.mean, values.low) == (0, None, None)


def test_a_region_may_be_too_large(sources: Sources) -> None:
    request = MeasureRegion(1, LAYER, "box", (place(0, 0, 0), place(5, 6, 7)), max_voxels=100)
    with pytest.raises(InvalidInput, match="The region contains 336 voxels"):
        measure_region(request, sources, threading.Event())
