"""Points of volumes with their values."""

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pellucid.box import Box  # noqa: E402
from pellucid.neural.samples import BlockSamples, Samples, VolumeSamples  # noqa: E402
from pellucid.volume.volume import Volume  # noqa: E402

SHAPE = (9, 10, 12)
CPU = torch.device("cpu")


def positions() -> Any:
    """Voxels whose value says where they are."""
    z, y, x = np.meshgrid(*(np.arange(n) for n in SHAPE), indexing="ij")
    return (100 * z + 10 * y + x).astype(np.float32)


def check_values(samples: Samples, box: Box, low: float, high: float) -> None:
    points, values = samples.draw(2000)
    last = np.array(box.shape) - 1
    voxels = np.rint((points.numpy()[:, ::-1] + 1) / 2 * last).astype(int) + np.array(box.start)
    expected = (positions()[tuple(voxels.T)] - low) / (high - low)
    np.testing.assert_allclose(values.numpy(), expected, atol=1e-5)
    assert set(voxels[:, 2]) == set(range(box.start[2], box.stop[2]))


def test_points_of_a_box_have_its_values() -> None:
    box = Box((2, 0, 3), (8, 9, 11))
    whole = Volume.from_array(positions())
    check_values(BlockSamples(whole, CPU, box=box, value_range=(-5.0, 2000.0), side=4), box, -5.0, 2000.0)
    voxels = torch.from_numpy(whole.read(box))
    check_values(VolumeSamples(voxels, (-5.0, 2000.0), at_voxels=True), box, -5.0, 2000.0)


def test_without_a_box_all_of_the_volume_is_drawn() -> None:
    low, high = float(positions().min()), float(positions().max())
    check_values(BlockSamples(Volume.from_array(positions()), CPU, side=5), Box.whole(SHAPE), low, high)


def test_a_sequence_of_points_continues() -> None:
    samples = VolumeSamples(torch.from_numpy(positions()), (0.0, 1.0), at_voxels=True)
    samples.draw(10)
    state = samples.state()
    expected = samples.draw(10)[0]
    again = VolumeSamples(torch.from_numpy(positions()), (0.0, 1.0), at_voxels=True)
    again.restore(state)
    assert torch.equal(again.draw(10)[0], expected)


def test_blocks_are_other_ones_after_a_restart() -> None:
    volume = Volume.from_array(positions())
    samples, again = (BlockSamples(volume, CPU, side=4) for _ in range(2))
    first = samples.draw(10)[0]
    again.restore(samples.state())
    assert not torch.equal(again.draw(10)[0], first)
    assert again.state().tolist() == [2, 0, 0, 0, 0, 0, 0, 0]
