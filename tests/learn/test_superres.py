"""Super-resolution: degrading, the networks, both stages, and whether the result fits its input."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import ndimage

from pellucid.box import Box
from pellucid.cli.main import main
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.infer.loading import load_network
from pellucid.infer.runtime import RuntimeRequest, open_runtime
from pellucid.learn.networks.graph_export import INPUT, to_onnx
from pellucid.learn.networks.super_resolution import Discriminator, Generator, GeneratorForm
from pellucid.learn.quality.image_quality import psnr, similarity
from pellucid.learn.superres.consistency import check_consistency
from pellucid.learn.superres.degradation import Degradation
from pellucid.learn.superres.objective import DISCRIMINATOR, GENERATOR, FineSamples, SuperResolutionObjective, divided
from pellucid.learn.superres.options import SuperResolutionOptions
from pellucid.learn.superres.stages import SuperResolutionRequest, plan_training, train_super_resolution
from pellucid.learn.training.options import LearningControl, LearningOptions
from pellucid.learn.training.time_limit import TimeLimitReached
from pellucid.settings import load, use
from pellucid.volume.volume import Volume, open_volume

LEARNING = LearningOptions(steps=4, batch=1, epoch_steps=2, warmup=1)
CONTROL = LearningControl("cpu", threads=1)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with use(load(cache_folder=tmp_path_factory.getbasetemp() / "networks", threads=1)):
        yield


def smooth(shape: tuple[int, int, int]) -> Voxels:
    z, y, x = np.meshgrid(*(np.arange(n) / 5 for n in shape), indexing="ij")
    return (100 + 20 * np.sin(z + 0.4 * y) * np.cos(0.7 * x) + 10 * np.sin(2 * z)).astype(np.float32)


@pytest.mark.parametrize("mode", ["average", "subsample"])
@pytest.mark.parametrize("factor", [(4, 1, 1), (2, 2, 2), (1, 4, 2)])
def test_degrading_and_interpolating(mode: str, factor: Any) -> None:
    voxels = smooth((32, 32, 32))
    degradation = Degradation(factor, mode)
    coarse = degradation.apply(voxels)
    assert coarse.shape == tuple(32 // f for f in factor)
    for place in np.ndindex(*coarse.shape):
        box = tuple(slice(n * f, (n + 1) * f) for n, f in zip(place, factor, strict=True))
        first = tuple(n * f + (f - 1) // 2 for n, f in zip(place, factor, strict=True))
        expected = voxels[box].mean() if mode == "average" else voxels[first]
        assert coarse[place] == pytest.approx(expected, rel=1e-5)
    tensor = torch.from_numpy(voxels)[None, None]
    options = SuperResolutionOptions(degradation, width=1, patch=(8, 8, 8), l1=LEARNING)
    objective = objective_for(options)
    assert np.allclose(objective.degraded(tensor)[0, 0].numpy(), coarse, rtol=1e-5)
    fine, linear = degradation.interpolate(coarse), degradation.interpolate(coarse, order=1)
    assert fine.shape == voxels.shape
    inner = (slice(8, 24),) * 3
    assert np.abs(fine - voxels)[inner].mean() < np.abs(linear - voxels)[inner].mean() < 6
    if mode == "subsample":
        assert np.allclose(degradation.apply(fine), coarse, rtol=1e-4)


def objective_for(options: SuperResolutionOptions) -> SuperResolutionObjective:
    from pellucid.learn.superres.objective import SuperResolutionTraining

    form = GeneratorForm(options.degradation.factor, 1, 1)
    request = SuperResolutionTraining((), form, options, LEARNING, 100.0, 15.0)
    return SuperResolutionObjective((Volume.from_array(smooth((40, 16, 16))),), request, "cpu")


@pytest.mark.parametrize("factor", [(4, 1, 1), (2, 2, 2), (2, 4, 4)])
def test_the_generator_starts_as_linear_interpolation_and_is_exported(factor: Any, tmp_path: Path) -> None:
    generator = Generator(GeneratorForm(factor, 2, 1))
    tensor = torch.randn(1, 1, 5, 6, 7)
    linear = torch.nn.functional.interpolate(tensor, scale_factor=[float(f) for f in factor], mode="trilinear")
    assert torch.equal(generator(tensor), linear)
    with torch.no_grad():
        for weights in generator.parameters():
            weights.add_(0.05 * torch.randn_like(weights))
    (tmp_path / "a.onnx").write_bytes(to_onnx(generator, 1, 1, 3, factor))
    network = load_network(tmp_path / "a.onnx")
    assert network.scale == factor and network.radius is not None and network.step == (1, 1, 1)
    found = open_runtime(RuntimeRequest(network.model, "cpu")).run({INPUT: tensor.numpy()})[0]
    np.testing.assert_allclose(found, generator(tensor).detach().numpy(), rtol=1e-3, atol=1e-4)


def test_the_printed_generator_has_the_printed_layers() -> None:
    generator, judge = Generator(GeneratorForm()), Discriminator()
    convolutions = [
        (tuple(layer.weight.shape), tuple(layer.stride))
        for layer in generator.modules()
        if isinstance(layer, torch.nn.Conv3d | torch.nn.ConvTranspose3d)
    ]
    assert convolutions[:3] == [
        ((96, 1, 3, 7, 7), (1, 1, 1)), ((96, 192, 3, 3, 3), (2, 1, 1)), ((192, 384, 3, 3, 3), (2, 1, 1)),
    ]  # fmt: skip
    assert [shape for shape, _ in convolutions[3:15]] == [(384, 384, 3, 3, 3)] * 12
    assert [shape for shape, _ in convolutions[15:]] == [(192, 384, 3, 3, 3), (96, 192, 3, 3, 3), (1, 96, 3, 7, 7)]
    filters = [layer.out_channels for layer in judge.modules() if isinstance(layer, torch.nn.Conv3d)]
    assert filters == [84, 168, 168, 336, 336, 84, 1]


def test_the_discriminator_learns_after_the_generator() -> None:
    objective = objective_for(SuperResolutionOptions(width=4, patch=(8, 8, 8), l1=LEARNING))
    assert [name for name, _ in objective.losses((torch.zeros(1, 1, 8, 8, 8),))] == [GENERATOR]
    objective.parts[DISCRIMINATOR] = Discriminator(4)
    fine = torch.randn(1, 1, 8, 8, 8)
    losses = objective.losses((fine,))
    name, loss = next(losses)
    difference = torch.nn.functional.l1_loss(objective.parts[GENERATOR](objective.degraded(fine)), fine)
    assert name == GENERATOR and float(loss) > float(difference)
    loss.backward()
    objective.parts[DISCRIMINATOR].zero_grad(set_to_none=True)
    objective.parts[GENERATOR].zero_grad(set_to_none=True)
    name, loss = next(losses)
    loss.backward()
    assert name == DISCRIMINATOR and all(one.grad is None for one in objective.parts[GENERATOR].parameters())
    assert all(one.grad is not None for one in objective.parts[DISCRIMINATOR].parameters())


@pytest.fixture(scope="module")
def fine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fine") / "fine.npy"
    np.save(path, smooth((60, 24, 24)))
    return path


OPTIONS = SuperResolutionOptions(width=2, patch=(8, 16, 16), l1=LEARNING, gan=LEARNING)


def test_both_stages_are_kept_and_scored(fine: Path, tmp_path: Path) -> None:
    request = SuperResolutionRequest((str(fine),), tmp_path / "net", OPTIONS)
    reached, scores = train_super_resolution(request, CONTROL)
    assert set(scores) == {"cubic", "l1", "gan"} and reached.curve.step == 4
    assert set(reached.curve.losses[0]) == {"step", GENERATOR, DISCRIMINATOR}
    both = [load_network(tmp_path / "net"), load_network(tmp_path / "net" / "l1")]
    assert both[0].digest != both[1].digest and {one.scale for one in both} == {(4, 1, 1)}
    report = json.loads((tmp_path / "net" / "report.json").read_text())
    assert report["scores"]["gan"]["psnr"] == scores["gan"].psnr > 20
    assert not (tmp_path / "net.partial").exists() and not list((tmp_path / "net").rglob("*.npz"))


def test_a_network_is_better_than_cubic_interpolation(fine: Path, tmp_path: Path) -> None:
    learning = LearningOptions(80, 1, 80, rate=0.005, warmup=5, averaging=0.9)
    options = SuperResolutionOptions(width=2, patch=(16, 16, 16), l1=learning)
    _, scores = train_super_resolution(SuperResolutionRequest((str(fine),), tmp_path / "net", options), CONTROL)
    assert scores["l1"].psnr > scores["cubic"].psnr + 1
    assert scores["l1"].consistency < scores["cubic"].consistency


def test_a_killed_second_stage_continues(fine: Path, tmp_path: Path) -> None:
    request = SuperResolutionRequest((str(fine),), tmp_path / "whole", OPTIONS)
    train_super_resolution(request, CONTROL)
    limited, runs = replace(CONTROL, time_limit_s=1e-9), 0
    while not (tmp_path / "cut").exists():
        try:
            train_super_resolution(replace(request, output=tmp_path / "cut"), limited)
        except TimeLimitReached:
            runs += 1
    assert runs == 6
    both = [(tmp_path / name / "network.onnx").read_bytes() for name in ("whole", "cut")]
    assert both[0] == both[1]


def test_the_commands_train_and_restore(fine: Path, tmp_path: Path, capsys: Any) -> None:
    network, coarse = tmp_path / "net", tmp_path / "coarse.npy"
    command = [
        "train", "superres", "--volume", str(fine), "-o", str(network), "--width", "1", "--patch", "8,16,16",
        "--steps", "2", "--batch", "1", "--epoch-steps", "2", "--gan-steps", "2", "--threads", "1", "--device", "cpu",
    ]  # fmt: skip
    assert main([*command, "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "cubic  PSNR" in out and "gan    PSNR" in out
    values = Degradation().apply(np.load(fine))
    values[3:5] += 60
    np.save(coarse, values)
    target = tmp_path / "finer.zarr"
    assert main(["superres", str(coarse), "--network", str(network), "-o", str(target), "--no-check", "--quiet"]) == 0
    assert "Degraded again, the result differs from the input by" in capsys.readouterr().out
    with open_volume(target) as finer:
        assert finer.shape == (60, 24, 24) and finer.spacing == (0.25, 1.0, 1.0)


def test_invented_structure_is_found() -> None:
    random = np.random.default_rng(0)
    coarse = random.standard_normal((16, 70, 20)).astype(np.float32)
    honest = np.repeat(coarse, 4, axis=0)
    same = check_consistency(Volume.from_array(coarse), Volume.from_array(honest))
    assert (same.difference, same.worst, same.parts) == (0, 0, ()) and "invented" not in same.sentence
    honest[:, 64:] += 0.7
    other = check_consistency(Volume.from_array(coarse), Volume.from_array(honest))
    assert other.parts == ("0:16,64:70,0:20",) and other.box == "0:16,64:70,0:20"
    assert other.worst == pytest.approx(0.7 / coarse.std(), rel=1e-3)
    assert other.difference == pytest.approx(0.7 / coarse.std() * np.sqrt(6 / 70), rel=1e-3)
    assert "1 parts differ" in other.sentence


def test_similarity_is_one_of_the_same_and_falls_with_noise() -> None:
    voxels = smooth((8, 16, 16))
    noisy = voxels + np.random.default_rng(0).standard_normal(voxels.shape)
    span = float(np.ptp(voxels))
    assert similarity(voxels, voxels, span) == pytest.approx(1)
    assert similarity(voxels, voxels + 5 * (noisy - voxels), span) < similarity(voxels, noisy, span) < 1
    assert psnr(voxels, voxels, span) == float("inf")


def test_what_cannot_be_done_is_refused(fine: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="Unknown degradation 'blur'"):
        Degradation(mode="blur")
    with pytest.raises(InvalidInput, match=r"factor \(3, 1, 1\)"):
        Degradation((3, 1, 1))
    small = replace(OPTIONS, patch=(64, 64, 64))
    with pytest.raises(InvalidInput, match="do not fit into"):
        plan_training(SuperResolutionRequest((str(fine),), tmp_path / "net", small), "cpu")


def blobs(shape: tuple[int, int, int]) -> Voxels:
    """Things with sharp borders that look alike along all axes."""
    noise = np.random.default_rng(0).standard_normal(shape)
    return np.where(ndimage.gaussian_filter(noise, 3) > 0, 140, 60).astype(np.float32)


def test_thick_slices_are_restored_by_what_is_learnt_within_them(tmp_path: Path) -> None:
    """Fine along y and x, thick along z: nothing finer along z is ever seen, and the truth is still met better."""
    truth = blobs((96, 48, 48))
    degradation = Degradation((4, 1, 1))
    thick = degradation.apply(truth)
    np.save(tmp_path / "thick.npy", thick)
    learning = LearningOptions(250, 2, 250, rate=0.005, warmup=5, averaging=0.9)
    options = SuperResolutionOptions(degradation, width=2, patch=(4, 24, 24), l1=learning, is_anisotropic=True)
    request = SuperResolutionRequest((str(tmp_path / "thick.npy"),), tmp_path / "net", options)
    _, scores = train_super_resolution(request, CONTROL)
    assert scores["l1"].psnr > scores["cubic"].psnr
    network = load_network(tmp_path / "net")
    assert network.scale == (4, 1, 1) and network.radius is not None and network.radius[2] <= 1
    runtime = open_runtime(RuntimeRequest(network.model, "cpu"))
    made = runtime.run({network.inputs[0].name: thick[None, None]})[0][0, 0]
    span = float(np.ptp(truth))
    assert psnr(truth, made, span) > psnr(truth, degradation.interpolate(thick), span) + 0.5


@pytest.mark.parametrize("slices", [1, 3, 20])
def test_a_volume_that_is_all_held_out_is_too_thin(slices: int) -> None:
    """A smaller patch, which samples that do not fit are told to take, would not help."""
    options = SuperResolutionOptions(Degradation((4, 1, 1)), width=1, patch=(16, 16, 16), l1=LEARNING)
    with pytest.raises(
        InvalidInput, match=rf"A volume of {slices} slices is too thin: 20 slices are held out .* 36 slices"
    ):
        divided(Box.whole((slices, 64, 64)), options)


def test_samples_of_thick_slices_are_in_their_planes() -> None:
    """The axis that is degraded is y or x; slices stay apart."""
    options = SuperResolutionOptions(width=1, patch=(3, 8, 8), l1=LEARNING, is_anisotropic=True).fitted("cpu")
    voxels = np.broadcast_to(np.arange(12.0)[:, None, None], (12, 16, 16)).astype(np.float32)
    samples = FineSamples((Volume.from_array(voxels),), (Box.whole(voxels.shape),), options, 0.0, 1.0)
    for number in range(8):
        (drawn,) = samples.draw(number, np.random.default_rng(number))
        assert drawn.shape == (1, 8, 8, 3)
        assert (drawn == drawn[:, :1, :1]).all() and (np.abs(np.diff(drawn[0, 0, 0])) == 1).all()
    learnt, held_out = divided(Box.whole((12, 16, 16)), options)
    assert (str(learnt), str(held_out)) == ("0:10,0:16,0:16", "10:12,0:16,0:16")
    with pytest.raises(InvalidInput, match="along z alone"):
        SuperResolutionOptions(Degradation((2, 2, 2)), is_anisotropic=True)


def test_the_consistency_of_a_volume_with_a_nan_is_a_number() -> None:
    voxels = smooth((8, 12, 12))
    fine = np.repeat(voxels, 4, axis=0) + 1.0
    expected = check_consistency(Volume.from_array(voxels), Volume.from_array(fine))
    voxels[3, 4, 5] = np.nan
    found = check_consistency(Volume.from_array(voxels), Volume.from_array(fine))
    assert found.difference == pytest.approx(expected.difference, rel=0.02) and found.worst < 1
