"""Denoising: what the network sees and is compared with, the measures, and the whole way from a scan to a volume."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pellucid.box import Box
from pellucid.cli.main import main
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from pellucid.learn.denoise.objective import DenoiseObjective, DenoiseTraining
from pellucid.learn.denoise.options import PRESETS, DenoiseOptions, preset
from pellucid.learn.denoise.pipeline import denoise
from pellucid.learn.denoise.request import DenoiseRequest, RunChoices
from pellucid.learn.denoise.samples import PatchSamples, fitted_patch
from pellucid.learn.denoise.slice_sets import SetVolume, SliceSets
from pellucid.learn.networks.unet import UNetForm, multiply_adds
from pellucid.learn.quality.regions import choose_regions, parse_region, signal_to_noise
from pellucid.learn.quality.shell_correlation import shell_correlation
from pellucid.learn.training.batches import Batches
from pellucid.learn.training.loop import train
from pellucid.learn.training.options import LearningControl, LearningOptions
from pellucid.learn.training.replicas import Replicas
from pellucid.learn.training.state_folder import TrainingFolder
from pellucid.settings import load, use
from pellucid.tomo.command_line import ReconstructionParameters, recipe_text
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.simulation.detector import Detector, Faults, simulate, write_nxtomo
from pellucid.tomo.simulation.phantoms import foam
from pellucid.volume.volume import Volume, open_volume

LEARNING = LearningOptions(steps=6, batch=2, epoch_steps=3, warmup=1)
OPTIONS = DenoiseOptions(sets=3, neighbours=1, width=2, patch=16, learning=LEARNING)
RECIPE = Recipe(center=15.5, tilt=0.0)
RUNNING = RunChoices(device="cpu", threads=1)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with use(load(cache_folder=tmp_path_factory.getbasetemp() / "networks", threads=1)):
        yield


def slice_sets(voxels: Voxels) -> SliceSets:
    """voxels: (set, z, y, x)."""
    box = Box.whole(voxels.shape[1:])
    return SliceSets(tuple((Volume.from_array(one), box) for one in voxels))


def numbered(sets: int = 3, depth: int = 9, edge: int = 16) -> Voxels:
    """A value for every set and slice: 100 * set + slice."""
    values = 100.0 * np.arange(sets)[:, None] + np.arange(depth)
    return np.broadcast_to(values[:, :, None, None], (sets, depth, edge, edge)).astype(np.float32)


def test_all_input_slices_are_from_the_sets_that_the_target_is_not_from() -> None:
    sets = slice_sets(numbered())
    samples = PatchSamples(sets, (2, 7), (0, 9), 2, (8, 8), seed=0)
    request = DenoiseTraining((), None, UNetForm(channels=5, width=2, residual=2), 8, (0, 1), 0.0, 1.0, LEARNING)
    objective = DenoiseObjective(sets, replace(request, held_out=(8, 9)), "cpu")
    seen = set()
    for number in range(30):
        mean, own = samples.draw(number, np.random.default_rng(number))
        given, target = objective._pair(torch.from_numpy(mean.copy())[None], torch.from_numpy(own.copy())[None])
        values = given[0, :, 0, 0].numpy()
        number_of_set, row = divmod(float(target[0, 0, 0, 0]), 100)
        others = [100 * one for one in range(3) if one != number_of_set]
        expected = np.mean(others) + row + np.arange(-2, 3)
        assert np.allclose(values, expected) or np.allclose(values, expected[::-1])
        seen.add((number_of_set, row))
    assert {row for _, row in seen} == set(range(2, 7)) and {one for one, _ in seen} == {0, 1, 2}


def test_slices_are_reflected_at_the_ends() -> None:
    samples = PatchSamples(slice_sets(numbered(depth=6)), (0, 6), (0, 6), 2, (8, 8), seed=0)
    assert samples.read(0, 0, 0, 0)[1][:, 0, 0].tolist() == [2, 1, 0, 1, 2]
    assert samples.read(5, 0, 0, 0)[1][:, 0, 0].tolist() == [3, 4, 5, 4, 3]


def test_every_slice_is_a_target_once_in_an_epoch() -> None:
    samples = PatchSamples(slice_sets(numbered()), (0, 7), (0, 7), 0, (8, 8), seed=3)
    for epoch in range(3):
        drawn = [samples.draw(7 * epoch + number, np.random.default_rng(number))[1] for number in range(7)]
        assert sorted(one[0, 0, 0] % 100 for one in drawn) == list(range(7))


def test_held_out_slices_are_never_read_for_training() -> None:
    voxels = numbered(depth=12)
    voxels[:, 9:] = np.nan
    request = DenoiseTraining(
        (), None, UNetForm(channels=5, width=2, residual=2), 8, (9, 12), 0.0, 1.0, replace(LEARNING, steps=30)
    )
    batches = Batches(DenoiseObjective(slice_sets(voxels), request, "cpu").samples, request.options, Replicas())
    assert all(torch.isfinite(tensor).all() for step in range(30) for tensor in batches.make(step))


def test_the_network_learns_to_leave_noise_out(tmp_path: Path) -> None:
    """Waves along y and x with noise of twice their size: the error falls to little more than the target's noise."""
    random = np.random.default_rng(0)
    truth = np.sin(np.arange(32) / 3)[:, None] * np.sin(np.arange(32) / 4)
    voxels = (truth + random.standard_normal((2, 14, 32, 32))).astype(np.float32)
    torch.manual_seed(0)  # Weights at the start: 60 steps from those that other tests left behind were too few.
    options = LearningOptions(120, 4, epoch_steps=120, optimiser="sgd", rate=0.25, warmup=5, averaging=0.9)
    request = DenoiseTraining(
        (), None, UNetForm(channels=3, width=4, residual=1, is_normalised=False), 32, (11, 14), 0.0, 1.1, options
    )
    objective = DenoiseObjective(slice_sets(voxels), request, "cpu")
    reached, _ = train(objective, options, TrainingFolder(tmp_path), LearningControl("cpu", threads=1))
    last, noise = reached.curve.validations[-1], 1 / 1.1**2
    assert last["error_before"] > 1.8 * noise
    assert last["error"] < 1.25 * noise


def test_patches_fit_into_slices() -> None:
    assert fitted_patch(2216, (10, 2216, 1000)) == (2216, 1000)
    assert fitted_patch(64, (10, 20, 17)) == (16, 16)


def test_presets() -> None:
    published = preset("spring8")
    assert (published.patch, published.channels, published.slices) == (2216, 11, 200)
    learning = published.learning
    assert (learning.batch, learning.rate, learning.steps * learning.batch) == (2, 0.25, 25 * 200)
    assert multiply_adds(UNetForm(channels=11, width=published.width)) >= 300_000
    assert preset("fast") is PRESETS["fast"]
    with pytest.raises(InvalidInput, match="Unknown preset 'slow'"):
        preset("slow")


def test_correlation_is_that_of_the_formula() -> None:
    """Of the same signal with independent noise of a known spectrum: S / (S + N) in every shell."""
    random = np.random.default_rng(0)
    shape = (40, 48, 44)
    grids = np.meshgrid(*(np.fft.fftfreq(n) for n in shape), indexing="ij")
    radius = np.sqrt(sum(grid**2 for grid in grids))
    spectrum = np.exp(-((radius / 0.15) ** 2))

    def field() -> Voxels:
        return random.standard_normal(shape)

    signal = np.fft.ifftn(np.fft.fftn(field()) * spectrum).real * 4
    found = shell_correlation(signal + field(), signal + field())
    power = (4 * np.exp(-((np.array(found.frequencies) / 0.15) ** 2))) ** 2
    np.testing.assert_allclose(found.values[2:], (power / (power + 1))[2:], atol=0.12)
    assert found.cutoff == pytest.approx(0.15 * np.sqrt(0.5 * np.log(16 * 6)), abs=0.04)
    same = shell_correlation(signal, signal)
    assert min(same.values) == pytest.approx(1, abs=1e-4) and same.cutoff == 0.5
    assert shell_correlation(signal[:1], -signal[:1]).mean == pytest.approx(-1, abs=1e-4)


def test_regions_are_the_flat_ones() -> None:
    voxels = np.random.default_rng(0).standard_normal((8, 96, 96)).astype(np.float32)
    voxels[:, 32:48, 32:48] = 10 + 0.1 * voxels[:, 32:48, 32:48]
    voxels[:, 48:64, 32:48] = -5 + 0.1 * voxels[:, 48:64, 32:48]
    material, air = choose_regions(voxels)
    assert material.box == Box((0, 32, 32), (8, 48, 48)) and air.box == Box((0, 48, 32), (8, 64, 48))
    ratio = signal_to_noise(lambda box: voxels[box.slices], {"material": material.box, "air": air.box})
    assert ratio == pytest.approx(150, rel=0.05)
    with pytest.raises(InvalidInput, match="Invalid region 'air'"):
        parse_region("air", (1, 2, 3))


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scan") / "a.nxs"
    angles = np.linspace(0, np.pi, 48, endpoint=False)
    write_nxtomo(simulate(foam(14, 20, 0.02), Detector(12, 32, counts=1000), angles, Faults(is_noisy=True)), path)
    return path


def request_for(scan: Path, target: Path, **changes: Any) -> DenoiseRequest:
    request = DenoiseRequest(str(scan), Location.parse(target), recipe=RECIPE, options=OPTIONS)
    return replace(request, **changes)


@pytest.fixture(scope="module")
def cleaned(scan: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Denoised in one go."""
    folder = tmp_path_factory.mktemp("clean")
    report = denoise(request_for(scan, folder / "clean.zarr"), RUNNING)
    assert report.snr_before > 0 and report.curve is not None and report.curve.step == 6
    return folder


def voxels_of(path: Path) -> Voxels:
    with open_volume(path) as volume:
        return volume.read()


def test_everything_is_written(cleaned: Path) -> None:
    assert sorted(path.name for path in cleaned.iterdir()) == [
        "clean.network", "clean.zarr", "clean.zarr.denoise.json", "clean.zarr.denoise.png",
    ]  # fmt: skip
    names = {path.name for path in (cleaned / "clean.network").iterdir()}
    assert {"network.onnx", "bioimageio.yaml", "test_input.npy", "test_output.npy", "curve.json"} <= names
    report = json.loads((cleaned / "clean.zarr.denoise.json").read_text())
    assert set(report["regions"]) == {"material", "air"} and report["correlation_after"]["values"]
    assert voxels_of(cleaned / "clean.zarr").shape == (12, 32, 32)


def test_a_limited_job_continues_in_the_next_one(scan: Path, cleaned: Path, tmp_path: Path, capsys: Any) -> None:
    target = tmp_path / "clean.zarr"
    command = [
        "denoise", str(scan), "-o", str(target), "--center", "15.5", "--tilt", "0", "--ring", "none", "--sets", "3",
        "--width", "2", "--patch", "16", "--steps", "6", "--batch", "2", "--epoch-steps", "3", "--threads", "1",
        "--time-limit", "0.000001", "--device", "cpu",
    ]  # fmt: skip
    codes = []
    while not target.exists():
        codes.append(main([*command, "--quiet"]))
    assert codes == [75] * 5 + [0]
    assert "after 1 of 6 steps" in capsys.readouterr().err
    other = tmp_path / "other.zarr"
    assert main([*(str(other) if word == str(target) else word for word in command[:-4]), "--quiet"]) == 0
    np.testing.assert_array_equal(voxels_of(target), voxels_of(other))


def test_a_recipe_says_how_slices_are_made(scan: Path, cleaned: Path, tmp_path: Path) -> None:
    (tmp_path / "recipe.json").write_text(recipe_text(ReconstructionParameters(recipe=RECIPE)))
    target, network = tmp_path / "next.zarr", str(cleaned / "clean.network")
    command = ["denoise", str(scan), "-o", str(target), "--network", network, "--device", "cpu", "--quiet"]
    assert main([*command, "--recipe", str(tmp_path / "recipe.json")]) == 0
    np.testing.assert_allclose(voxels_of(target), voxels_of(cleaned / "clean.zarr"), rtol=1e-3, atol=1)


def test_a_trained_network_is_applied_to_the_next_scan(scan: Path, cleaned: Path, tmp_path: Path) -> None:
    request = request_for(scan, tmp_path / "next.zarr", network=cleaned / "clean.network")
    report = denoise(request, RUNNING)
    assert report.curve is None and report.network == str(cleaned / "clean.network")
    np.testing.assert_allclose(voxels_of(tmp_path / "next.zarr"), voxels_of(cleaned / "clean.zarr"), rtol=1e-3, atol=1)
    assert not (tmp_path / "next.network").exists() and not (tmp_path / "next.network.partial").exists()


def test_whole_numbers_have_a_range_that_is_reported(scan: Path, cleaned: Path, tmp_path: Path) -> None:
    request = request_for(scan, tmp_path / "a.zarr", network=cleaned / "clean.network", dtype="uint16")
    report = denoise(request, RUNNING)
    assert report.value_range is not None
    low, high = report.value_range
    stored, expected = voxels_of(tmp_path / "a.zarr"), voxels_of(cleaned / "clean.zarr")
    assert stored.dtype == np.uint16
    found = low + stored * ((high - low) / 65535)
    assert np.abs(found - expected.clip(low, high)).max() < (high - low) / 60000 + 1
    assert report.snr_after == pytest.approx(
        signal_to_noise(lambda box: expected[box.slices], _boxes(report.regions, expected)), rel=0.05
    )


def _boxes(regions: dict[str, str], voxels: Voxels) -> dict[str, Box]:
    return {name: Box.parse(text, voxels.shape) for name, text in regions.items()}


def test_halves_that_exist_are_denoised(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", random.standard_normal((12, 24, 32)).astype(np.float32))
    halves = (str(tmp_path / "a.npy"), str(tmp_path / "b.npy"))
    regions = ("air=0:4,0:8,:", "material=0:4,8:,:")
    target = tmp_path / "c.zarr"
    report = denoise(DenoiseRequest(None, Location.parse(target), halves, options=OPTIONS, regions=regions), RUNNING)
    mean = (voxels_of(Path(halves[0])) + voxels_of(Path(halves[1]))) / 2
    expected = signal_to_noise(lambda box: mean[box.slices], _boxes(report.regions, mean))
    assert report.snr_before == pytest.approx(expected, rel=1e-4)
    assert voxels_of(target).shape == (12, 24, 32)


def test_what_cannot_be_done_is_refused_early(scan: Path, tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(InvalidInput, match="Neither a scan nor two"):
        DenoiseRequest(None, Location.parse(tmp_path / "a.zarr"), ("one.zarr",))
    for name, shape in (("a", (4, 8, 8)), ("b", (4, 8, 9))):
        np.save(tmp_path / f"{name}.npy", np.zeros(shape, np.float32))
    halves = ["--halves", str(tmp_path / "a.npy"), str(tmp_path / "b.npy")]
    assert main(["denoise", "-o", str(tmp_path / "c.zarr"), *halves, "--quiet"]) == 1
    assert "different shapes (z, y, x): (4, 8, 8), (4, 8, 9)" in capsys.readouterr().err
    assert main(["denoise", str(scan), "-o", str(scan), "--quiet"]) == 1
    with pytest.raises(InvalidInput, match="48 views cannot be split into 40 sets"):
        denoise(request_for(scan, tmp_path / "d.zarr", options=replace(OPTIONS, sets=40)), RUNNING)


def test_sets_of_one_volume_are_opened_once(tmp_path: Path) -> None:
    from pellucid.learn.denoise.slice_sets import open_sets

    voxels = np.arange(6 * 4 * 4, dtype=np.float32).reshape(6, 4, 4)
    np.save(tmp_path / "a.npy", voxels)
    parts = [SetVolume(str(tmp_path / "a.npy"), Box((z, 0, 0), (z + 2, 4, 4))) for z in (0, 2, 4)]
    with open_sets((parts[1], parts[2]), parts[0]) as sets:
        held = sets.in_memory(10**9)
        assert sets.sets[0][0] is sets.sets[1][0] and sets.in_memory(1) is sets
    part = Box((1, 0, 2), (2, 3, 4))
    assert (held.read(1, part) == voxels[5:6, 0:3, 2:4]).all() and (held.read_mean(part) == voxels[1:2, 0:3, 2:4]).all()
    with pytest.raises(InvalidInput, match="different shapes"), open_sets((parts[0], replace(parts[1], box=part))):
        pass
