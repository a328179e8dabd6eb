"""``pellucid decompress``: voxels of neural fields, in any format."""

from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid.box import Box
from pellucid.cli.main import main
from tests.formats.neural_field.sample_fields import mixed_field, plain_field, whole_volume, write_volume

SHAPE = (12, 13, 14)


@pytest.fixture
def field(tmp_path: Path) -> Path:
    return write_volume(tmp_path / "field.plf", whole_volume(mixed_field(), SHAPE))


@pytest.mark.parametrize("name", ["back.zarr", "back.nrrd", "back.h5"])
def test_all_voxels(field: Path, tmp_path: Path, name: str) -> None:
    assert main(["--quiet", "decompress", str(field), "-o", str(tmp_path / name)]) == 0
    with pellucid.open(field) as expected, pellucid.open(tmp_path / name) as back:
        assert (back.shape, back.dtype.name) == (SHAPE, "float32")
        np.testing.assert_allclose(back.read(), expected.read(), atol=1e-5)


def test_a_box_within_the_bound_of_its_residual(tmp_path: Path) -> None:
    truth = np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)
    field = write_volume(tmp_path / "field.plf", whole_volume(plain_field(), SHAPE), truth, bound=0.05)
    target = tmp_path / "part.npy"
    assert main(["--quiet", "decompress", str(field), "-o", str(target), "--box", "2:9,:,5:14"]) == 0
    assert np.abs(np.load(target) - truth[2:9, :, 5:14]).max() <= 0.05 + 1e-5


def test_an_output_is_kept_unless_it_may_be_overwritten(field: Path, tmp_path: Path) -> None:
    target = tmp_path / "back.npy"
    np.save(target, np.zeros(3))
    assert main(["--quiet", "decompress", str(field), "-o", str(target)]) == 1
    assert np.load(target).shape == (3,)
    assert main(["--quiet", "decompress", str(field), "-o", str(target), "--overwrite"]) == 0
    assert np.load(target).shape == SHAPE


def test_other_volumes_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "a.npy", np.zeros(SHAPE))
    assert main(["--quiet", "decompress", str(tmp_path / "a.npy"), "-o", str(tmp_path / "b.zarr")]) == 1
    assert "a.npy is not a neural field, but npy.\nUse pellucid convert" in capsys.readouterr().err


def test_a_field_and_its_voxels_are_drawn_alike(tmp_path: Path) -> None:
    """Through whole volumes and through bricks: what is skipped as transparent holds nothing."""
    from pellucid.device import choose
    from pellucid.fields.bricks.brick_field import BrickField
    from pellucid.fields.dense import DenseField

    shape = (40, 36, 70)
    field = write_volume(tmp_path / "field.plf", whole_volume(mixed_field(), shape))
    device = choose("cpu")
    with pellucid.open(field) as volume:
        voxels = volume.read(Box.whole(shape))
        with pellucid.Volume.from_array(voxels) as raw:
            expected = DenseField(raw, device).ranges.numpy()
            for drawn in (DenseField(volume, device), BrickField(volume, device, 1 << 26)):
                ranges = drawn.ranges.numpy()
                np.testing.assert_allclose(ranges, expected, atol=1e-4)
                drawn.close()
