"""Labels lie on their volume: each voxel where the voxels are that it names."""

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pellucid.formats.protocol import Voxels
from pellucid.rendering.labels import Labels
from pellucid.rendering.layers.label_placement import place_labels
from pellucid.rendering.scene import Transform, VolumeLayer

LABELS = VolumeLayer("/labels.npy", labels=Labels())


@dataclass(frozen=True)
class Grid:
    shape: tuple[int, int, int]
    spacing: tuple[float, float, float] = (1.0, 1.0, 1.0)
    unit: str = ""


def world(layer: VolumeLayer, grid: Grid, voxel: Voxels) -> Voxels:
    """Where the middle of a voxel (z, y, x) stands, as (x, y, z)."""
    own = (voxel * np.array(grid.spacing))[::-1]
    placed: Voxels = layer.transform.matrix() @ own + np.array(layer.transform.translation)
    return placed


lengths = st.tuples(*[st.floats(0.01, 50.0)] * 3)
transforms = st.builds(Transform, lengths, st.tuples(*[st.floats(-180, 180)] * 3), st.tuples(*[st.floats(-99, 99)] * 3))


@given(
    shape=st.tuples(*[st.integers(1, 9)] * 3),
    factor=st.integers(1, 4),
    spacing=lengths,
    transform=transforms,
    data=st.data(),
)
def test_a_voxel_of_labels_stands_in_the_middle_of_those_it_names(
    shape: tuple[int, int, int],
    factor: int,
    spacing: tuple[float, float, float],
    transform: Transform,
    data: st.DataObject,
) -> None:
    volume = Grid((shape[0] * factor, shape[1] * factor, shape[2] * factor), spacing, "mm")
    labels, over = Grid(shape), VolumeLayer("/scan.npy", transform=transform)
    placed = place_labels(LABELS, labels, over, volume)
    assert placed is not None and placed.labels == LABELS.labels
    voxel = np.array([data.draw(st.integers(0, n - 1)) for n in shape])
    corners = [world(over, volume, voxel * factor + np.array(end)) for end in ((0, 0, 0), (factor - 1,) * 3)]
    np.testing.assert_allclose(world(placed, labels, voxel), np.mean(corners, axis=0), rtol=1e-6, atol=1e-6)


def test_labels_of_as_many_voxels_follow_the_volume_whatever_spacing_they_have() -> None:
    volume = Grid((4, 5, 6), (0.1, 0.1, 0.2), "mm")
    placed = place_labels(LABELS, Grid((4, 5, 6), (2.0, 1.0, 1.0), "um"), VolumeLayer("/scan.npy"), volume)
    assert placed is not None
    np.testing.assert_allclose(placed.transform.scale, (0.2, 0.1, 0.05))


def test_labels_of_another_place_stay_there() -> None:
    volume, over = Grid((40, 40, 40), (0.1, 0.1, 0.1), "mm"), VolumeLayer("/scan.npy")
    assert place_labels(LABELS, Grid((31, 40, 40)), over, volume) is None
    assert place_labels(LABELS, Grid((20, 20, 20), (0.1, 0.1, 0.1), "mm"), over, volume) is None
