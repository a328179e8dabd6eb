"""Series of volumes in one file: each step starts from the one before, and is stored as differences to it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import pellucid as pl
from pellucid.cli.main import main
from pellucid.errors import SelectionNeeded
from pellucid.formats.location import Location
from pellucid.formats.neural_field.container import FileSections
from pellucid.formats.neural_field.stored_volume import StoredSeries
from pellucid.neural import ensemble
from pellucid.neural.compression import CompressionOptions, Report, compress
from pellucid.volume.series import open_series

TIMES = 3
OPTIONS = CompressionOptions(size=6000, steps=100, batch=256, model="pyramid", device="cpu")


def moving_ball(channels: int = 0) -> Any:
    """(t, z, y, x), or with channels (t, c, z, y, x)."""
    z, y, x = np.meshgrid(*(np.linspace(-1, 1, n) for n in (12, 13, 16)), indexing="ij")
    steps = [np.exp(-5 * ((x - 0.1 * t) ** 2 + y**2 + z**2)) for t in range(TIMES)]
    return np.stack([np.stack([step] * channels) if channels else step for step in steps]).astype(np.float32)


@pytest.fixture(scope="module")
def compressed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    folder = tmp_path_factory.mktemp("series")
    np.save(folder / "a.npy", moving_ball())
    return folder / "a.plf", compress(folder / "a.npy", folder / "a.plf", OPTIONS)


def psnr(found: Any, truth: Any) -> float:
    return float(20 * np.log10(np.ptp(truth)) - 10 * np.log10(np.mean((found - truth) ** 2)))


def test_every_step_is_in_one_file(compressed: tuple[Path, Report]) -> None:
    path, report = compressed
    steps = moving_ball()
    with open_series(path) as series:
        assert (series.times, series.channels) == (TIMES, 1)
        qualities = [psnr(volume.read(), truth) for volume, truth in zip(series, steps, strict=True)]
    assert min(qualities) == pytest.approx(report.quality.psnr, abs=0.2)
    assert min(qualities) > 28
    assert (report.times, report.raw_bytes) == (TIMES, steps.nbytes)
    assert report.training.steps == 100 + 2 * 25
    with pl.open(f"{path}:t=2") as volume:
        assert psnr(volume.read(), steps[2]) == pytest.approx(qualities[2], abs=1e-3)
    with pytest.raises(SelectionNeeded):
        pl.open(path)


def test_what_is_drawn_is_the_field_of_the_step(compressed: tuple[Path, Report]) -> None:
    with open_series(compressed[0]) as series:
        for volume in series:
            assert volume.neural is not None
            fields, residual = volume.neural
            np.testing.assert_allclose(fields.values(volume.box), volume.read(), atol=1e-5)
            assert residual is None and volume.at_level(0).neural == (fields, None)


def test_steps_are_differences_where_that_is_smaller(compressed: tuple[Path, Report]) -> None:
    file = FileSections(compressed[0])
    assert StoredSeries(file).header.differences == ((True,),) * (TIMES - 1)
    sizes = [file.size_of("field0"), *(file.size_of(f"step{t}/field0") for t in range(1, TIMES))]
    file.close()
    assert max(sizes[1:]) < sizes[0]
    assert sum(sizes) == compressed[1].field_bytes


def test_differences_have_the_bits_of_whole_steps(
    compressed: tuple[Path, Report], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ensemble, "STEPS_PER_KEY", 1)
    source = compressed[0].with_name("a.npy")
    compress(source, tmp_path / "whole.plf", OPTIONS)
    whole, differences = FileSections(tmp_path / "whole.plf"), FileSections(compressed[0])
    assert StoredSeries(whole).header.differences == ((False,),) * (TIMES - 1)
    for t in range(TIMES):
        one, other = (StoredSeries(file).volume(t).fields[0].field for file in (whole, differences))
        assert all(np.array_equal(*pair) for pair in zip(one.decoder.weights, other.decoder.weights, strict=True))
        for first, second in zip(one.grids, other.grids, strict=True):
            assert np.array_equal(first.features, second.features)
            assert np.array_equal(first.transform, second.transform)
    whole.close()
    differences.close()


def test_steps_are_read_in_any_order(compressed: tuple[Path, Report]) -> None:
    file = FileSections(compressed[0])
    series = StoredSeries(file)
    for t in (2, 1, 2, 2, 0, 1):
        found, expected = (one.volume(t).fields[0].field.grids for one in (series, StoredSeries(file)))
        pairs = zip(found, expected, strict=True)
        assert all(np.array_equal(one.features, other.features) for one, other in pairs)
    file.close()


def test_a_bound_holds_at_every_step(compressed: tuple[Path, Report], tmp_path: Path) -> None:
    source = compressed[0].with_name("a.npy")
    options = replace(OPTIONS, steps=8, max_error=0.02, bricks=(1, 1, 2), size=12_000)
    report = compress(source, tmp_path / "a.plf", options)
    assert report.residual_bytes > 0
    with open_series(tmp_path / "a.plf") as series:
        errors = [np.abs(volume.read() - truth).max() for volume, truth in zip(series, moving_ball(), strict=True)]
    assert max(errors) <= 0.02
    assert max(errors) == pytest.approx(report.quality.max_error, abs=1e-5)


def test_one_step_and_one_channel(compressed: tuple[Path, Report], tmp_path: Path) -> None:
    source = compressed[0].with_name("a.npy")
    quick = replace(OPTIONS, steps=2, batch=64)
    assert compress(f"{source}:t=1", tmp_path / "one.plf", quick).times == 1
    both = tmp_path / "both.npy"
    np.save(both, moving_ball(channels=2))
    with pytest.raises(SelectionNeeded):
        compress(both, tmp_path / "both.plf", quick)
    assert compress(Location.parse(both).with_options(c=1), tmp_path / "both.plf", quick).times == TIMES


def test_the_commands(compressed: tuple[Path, Report], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, source = compressed[0], compressed[0].with_name("a.npy")
    command = ["--quiet", "compress", str(source), "-o", str(tmp_path / "a.plf"), "--size", "6kB", "--steps", "4"]
    command += ["--model", "pyramid"]
    assert main(command) == 0
    assert "(the worst of 3 time steps)" in capsys.readouterr().out
    assert main(["--quiet", "decompress", str(path), "-o", str(tmp_path / "b.npy"), "--time", "2"]) == 0
    assert psnr(np.load(tmp_path / "b.npy"), moving_ball()[2]) > 28
    assert main(["--quiet", "decompress", str(path), "-o", str(tmp_path / "c.npy"), "--time", "3"]) == 1
    assert main(["--quiet", "decompress", str(path), "-o", str(tmp_path / "d.npy")]) == 1
    assert "3 time steps" in capsys.readouterr().err
    assert main(["info", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["times"] == 3
