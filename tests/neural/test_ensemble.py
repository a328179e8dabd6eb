"""Ensembles: a model for every brick, without seams between them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import pellucid as pl  # noqa: E402
from pellucid.box import Box, Shape  # noqa: E402
from pellucid.cli.main import main  # noqa: E402
from pellucid.errors import InvalidInput  # noqa: E402
from pellucid.formats.neural_field.format import NeuralReader  # noqa: E402
from pellucid.formats.neural_field.neural_volume import NeuralVolume, PlacedField  # noqa: E402
from pellucid.neural.compression import CompressionOptions, Report, compress  # noqa: E402
from pellucid.neural.lattice import brick_lattice, brick_sizes, choose_counts, default_ghost  # noqa: E402
from pellucid.neural.models import make_network  # noqa: E402
from pellucid.neural.network_values import NetworkValues  # noqa: E402
from pellucid.settings import load, use  # noqa: E402
from pellucid.volume.volume import Volume  # noqa: E402

SHAPE = (24, 24, 32)
SMALL = CompressionOptions(size=13_000, steps=200, batch=512, model="pyramid", device="cpu")


def waves(shape: Shape = SHAPE) -> Any:
    """Values with as much detail at the faces of bricks as elsewhere."""
    z, y, x = np.meshgrid(*(np.linspace(0, 2 * np.pi, n) for n in shape), indexing="ij")
    values = np.sin(3 * x + y) + np.cos(2 * y - 3 * z) + np.sin(2 * z + x - y)
    return values.astype(np.float32)


def jump_across_face(values: Any) -> float:
    """How much the gradient changes across the middle of the x axis, relative to everywhere else."""
    changes = np.abs(np.diff(values.astype(np.float64), 2, axis=2)).mean(axis=(0, 1))
    middle = values.shape[2] // 2
    inside = np.delete(changes, [middle - 2, middle - 1])
    return float(changes[middle - 2 : middle].mean() / inside.mean())


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ensemble") / "a.npy"
    np.save(path, waves())
    return path


@pytest.fixture(scope="module")
def ensemble(source: Path) -> tuple[Path, Report]:
    path = source.with_name("a.plf")
    return path, compress(source, path, replace(SMALL, bricks=(1, 1, 2), ghost=4))


def test_a_model_for_every_brick(ensemble: tuple[Path, Report]) -> None:
    path, report = ensemble
    assert (report.bricks, report.training.steps) == (2, 400)
    assert report.field_bytes < report.file_bytes <= 13_000
    reader = NeuralReader(path)
    assert [str(placed.box) for placed in reader.volume.fields] == ["0:24,0:24,0:20", "0:24,0:24,12:32"]
    reader.close()
    with pl.open(path) as volume:
        error = volume.read() - waves()
    psnr = 20 * np.log10(np.ptp(waves())) - 10 * np.log10(np.mean(error**2))
    assert psnr == pytest.approx(report.quality.psnr, abs=0.01)
    assert psnr > 30
    assert not path.with_name("a.plf.partial").exists()


def test_the_gradient_does_not_jump_across_a_face(ensemble: tuple[Path, Report]) -> None:
    reader = NeuralReader(ensemble[0])
    values = reader.volume.values(Box.whole(SHAPE))
    reader.close()
    assert jump_across_face(waves()) == pytest.approx(1, abs=0.1)
    assert jump_across_face(values) < 1.2


def test_bricks_cover_the_volume_and_grow_by_ghost_cells() -> None:
    blocks = brick_lattice((7, 10, 4), (2, 3, 1), 1)
    assert sum(block.core.size for block in blocks) == 7 * 10 * 4
    assert [str(block.core) for block in blocks[:2]] == ["0:3,0:3,0:4", "0:3,3:6,0:4"]
    assert [str(block.outer) for block in blocks[:2]] == ["0:4,0:4,0:4", "0:4,2:7,0:4"]
    assert [block.index for block in blocks] == list(range(6))


@pytest.mark.parametrize(
    ("counts", "ghost", "message"),
    [
        ((4, 1, 1), 0, "4 bricks do not fit into the 7 voxels of the z axis"),
        ((1, 2, 1), 3, "3 ghost cells are too many for bricks of 5 voxels"),
    ],
)
def test_lattices_that_do_not_fit_are_refused(counts: Shape, ghost: int, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        brick_lattice((7, 10, 4), counts, ghost)


def test_automatic_bricks() -> None:
    assert choose_counts((256, 256, 256), 10**6) == (1, 1, 1)
    assert choose_counts((600, 256, 256), 10**6) == (3, 1, 1)
    assert choose_counts((1024, 1024, 1024), 8 << 20) == (4, 4, 4)
    assert choose_counts((1024, 1024, 1024), 10_000) == (1, 1, 1)
    assert default_ghost((600, 256, 256), (3, 1, 1)) == 12
    assert default_ghost((4096, 4096, 4096), (3, 3, 3)) == 16
    assert default_ghost((4, 9, 9), (2, 1, 1)) == 1
    assert default_ghost((24, 24, 32), (1, 1, 2)) == 2


def test_bricks_with_more_detail_get_more_bytes() -> None:
    values = np.zeros((8, 8, 32), np.float32)
    values[:, :, 20:] = np.random.default_rng(0).normal(size=(8, 8, 12))
    blocks = brick_lattice(values.shape, (1, 1, 4), 0)
    sizes = brick_sizes(Volume.from_array(values), blocks, 40_000, 4096)
    assert sizes[0] == sizes[1] == 4096
    assert sizes[3] > sizes[2] > 8000
    assert 39_990 <= sum(sizes) <= 40_000
    assert brick_sizes(Volume.from_array(np.zeros((8, 8, 32))), blocks, 40_000, 4096) == [10_000] * 4
    with pytest.raises(InvalidInput, match="16,000 bytes are too few for 4 bricks"):
        brick_sizes(Volume.from_array(values), blocks, 16_000, 4096)


def test_networks_give_the_values_of_the_definition() -> None:
    """What measures an ensemble on a GPU, here on the CPU."""
    blocks = brick_lattice(SHAPE, (1, 1, 2), 4)
    networks = [make_network("adaptive", 2000, block.outer.shape, seed=block.index) for block in blocks]
    for network in networks:
        network.groups[0].features.data.normal_()
    fields = tuple(
        PlacedField(block.outer, network.to_field((-2.0, 5.0))) for block, network in zip(blocks, networks, strict=True)
    )
    volume = NeuralVolume(SHAPE, np.dtype(np.float32), fields)
    box = Box((3, 2, 5), (10, 24, 29))
    found = volume.values(box, evaluate=NetworkValues(fields, networks, torch.device("cpu")))
    np.testing.assert_allclose(found, volume.values(box), atol=1e-3)


def test_a_bound_holds_across_bricks(source: Path, tmp_path: Path) -> None:
    options = replace(SMALL, steps=5, bricks=(2, 1, 2), ghost=None, size=30_000, max_error=0.05)
    compress(source, tmp_path / "a.plf", options)
    with pl.open(tmp_path / "a.plf") as volume:
        assert np.abs(volume.read() - waves()).max() <= 0.05


def test_workers_train_the_same_models(source: Path, tmp_path: Path) -> None:
    """In processes of their own, each with one thread."""
    options = replace(SMALL, steps=5, batch=64, bricks=(1, 1, 2), ghost=2)
    with use(load(threads=2)):
        for workers in (1, 2):
            compress(source, tmp_path / f"{workers}.plf", replace(options, workers=workers))
    with pl.open(tmp_path / "1.plf") as one, pl.open(tmp_path / "2.plf") as two:
        assert np.array_equal(one.read(), two.read())


def test_the_command(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["--quiet", "compress", str(source), "-o", str(tmp_path / "a.plf"), "--size", "9kB", "--steps", "2"]
    assert main([*command, "--bricks", "1,1,2", "--ghost", "0"]) == 0
    assert "trained 4 steps of 2 models" in capsys.readouterr().out
    assert main([*command, "--overwrite", "--bricks", "auto"]) == 0
    assert "trained 2 steps in" in capsys.readouterr().out
    for wrong in (["--bricks", "2,2"], ["--ghost", "-1"]):
        with pytest.raises(SystemExit):
            main([*command, *wrong])
