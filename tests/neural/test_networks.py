"""Networks, and the fields they become; the density loss against a direct transcription."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from pellucid.errors import InvalidInput  # noqa: E402
from pellucid.formats.neural_field.evaluation import values_at  # noqa: E402
from pellucid.neural.density import density_loss, feature_density, target_density  # noqa: E402
from pellucid.neural.fitting import stored_network  # noqa: E402
from pellucid.neural.models import MODELS, grid_shape, make_network  # noqa: E402
from pellucid.neural.network import FieldNetwork, GridGroup  # noqa: E402
from pellucid.neural.samples import VolumeSamples  # noqa: E402
from pellucid.neural.training import (  # noqa: E402
    GridStop,
    Trainer,
    TrainingOptions,
    rounded_share,
    rounding_steps,
    train,
)


def scattered(network: FieldNetwork) -> FieldNetwork:
    """The network with parameters that matter."""
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return network


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("parameters", [3000, 1 << 15])
def test_a_field_has_the_values_of_its_network(kind: str, parameters: int) -> None:
    network = scattered(make_network(kind, parameters, (20, 30, 40)))
    points = torch.rand(200, 3) * 2.2 - 1.1
    found = values_at(network.to_field((0.0, 1.0)), points.clamp(-1, 1).numpy())
    assert np.allclose(found, network(points.clamp(-1, 1)).detach().numpy(), atol=1e-4)


@pytest.mark.parametrize("kind", MODELS)
def test_parameters_of_a_field_are_taken_back(kind: str) -> None:
    first, second = (scattered(make_network(kind, 3000, (20, 30, 40), seed=seed)) for seed in (1, 2))
    second.load_field(first.to_field((0.0, 1.0)))
    points = torch.rand(50, 3) * 2 - 1
    assert torch.allclose(first(points), second(points))


@pytest.mark.parametrize("kind", MODELS)
def test_models_have_about_the_size_that_was_asked_for(kind: str) -> None:
    for parameters in (1 << 14, 1 << 16, 1 << 18):
        count = make_network(kind, parameters, (128, 128, 128)).to_field((0, 1)).parameter_count
        assert 0.6 * parameters < count - 6500 < 1.25 * parameters, parameters


def test_published_sizes() -> None:
    medium = make_network("amgsrn", 1 << 20, (256, 256, 256)).grid_groups()[0].features
    small = make_network("amgsrn", 1 << 16, (256, 256, 256)).grid_groups()[0].features
    assert (tuple(medium.shape), tuple(small.shape)) == ((16, 2, 32, 32, 32), (16, 1, 16, 16, 16))


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Unknown model"):
        make_network("x", 1000, (8, 8, 8))


@settings(deadline=None, max_examples=30)
@given(st.tuples(*[st.integers(1, 300)] * 3), st.integers(8, 50_000))
def test_grids_have_the_aspect_of_the_volume(shape: tuple[int, int, int], nodes: int) -> None:
    found = grid_shape(shape, nodes)
    assert all(min(2, length) <= own <= length for own, length in zip(found, shape, strict=True))
    assert math.prod(found) <= 4 * nodes + 64


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 6), st.integers(0, 10_000))
def test_the_density_is_the_formula(grids: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    transforms = np.eye(3, 4) + 0.3 * random.normal(size=(grids, 3, 4))
    points, errors = random.uniform(-1, 1, (40, 3)), random.uniform(0.01, 1, 40)
    density = np.zeros(40)
    for n, point in enumerate(points):
        for transform in transforms:
            local = transform @ np.append(point, 1.0)
            density[n] += np.linalg.det(transform[:, :3]) / (2 * np.pi) ** 1.5 * np.exp(-0.5 * np.sum(local**20))
    found = feature_density(torch.from_numpy(transforms), torch.from_numpy(points))
    assert np.allclose(found, density)
    if density.min() <= 0:  # Grids that are mirrored have negative densities, which have no logarithm.
        return
    own = density / density.sum()
    target = (own + 1e-16) ** (errors.mean() / errors)
    assert np.allclose(target_density(torch.from_numpy(own), torch.from_numpy(errors)), target, rtol=1e-4)
    normalised = target / target.sum()
    expected = np.sum(normalised * np.log((normalised + 1e-16) / (own + 1e-16)))
    loss = density_loss(torch.from_numpy(transforms), torch.from_numpy(points), torch.from_numpy(errors))
    assert float(loss) == pytest.approx(expected, rel=1e-6)
    printed = density_loss(
        torch.from_numpy(transforms), torch.from_numpy(points), torch.from_numpy(errors), form="printed"
    )
    assert float(printed) == pytest.approx(np.sum(own * np.log((own + 1e-16) / (target + 1e-16))), rel=1e-6)


def ball(side: int = 24) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    z, y, x = np.meshgrid(*[np.linspace(-1, 1, side, dtype=np.float32)] * 3, indexing="ij")
    return np.exp(-20 * ((x - 0.4) ** 2 + y**2 + z**2)).astype(np.float32)


def test_grids_move_towards_errors() -> None:
    """Errors on one side only: the density there grows."""
    torch.manual_seed(0)
    group = GridGroup(4, 1, (4, 4, 4), is_adaptive=True)
    points = torch.rand(4000, 3) * 2 - 1
    errors = torch.where(points[:, 0] > 0.3, 1.0, 0.05)
    before = feature_density(group.transforms, points).detach()
    optimiser = torch.optim.Adam([group.transforms], 1e-2)
    for _ in range(60):
        optimiser.zero_grad()
        density_loss(group.transforms, points, errors).backward()
        optimiser.step()
    after = feature_density(group.transforms, points).detach()
    right = points[:, 0] > 0.3
    assert (after[right].sum() / after.sum()) > 1.15 * (before[right].sum() / before.sum())


def test_training_lowers_the_loss_and_repeats_with_the_same_seed() -> None:
    losses = []
    for _ in range(2):
        network = make_network("adaptive", 2000, (24, 24, 24))
        samples = VolumeSamples(torch.from_numpy(ball()), (0.0, 1.0), at_voxels=True)
        result = train(network, samples, TrainingOptions(steps=101, batch=512, rounding=0.25))
        losses.append(result.losses)
    assert losses[0] == losses[1]
    assert losses[0][-1] < 0.6 * losses[0][0]
    for group, step in zip(
        [grid for g in network.grid_groups() for grid in g.features], result.rounding_steps, strict=True
    ):
        assert torch.allclose(group / step, torch.round(group / step), atol=1e-3)


def test_small_random_grids_fail() -> None:
    """The ablation of the paper: grids that cover little of the volume at first describe little of it."""
    losses = {}
    for zoom in (1.0, 8.0):
        torch.manual_seed(1)
        network = FieldNetwork("test", [GridGroup(8, 1, (6, 6, 6), is_adaptive=True, zoom=zoom)])
        samples = VolumeSamples(torch.from_numpy(ball()), (0.0, 1.0))
        losses[zoom] = train(network, samples, TrainingOptions(steps=151, batch=512)).losses[-1]
    assert losses[8.0] > 3 * losses[1.0]


def test_samples_are_voxels_or_interpolated() -> None:
    voxels = torch.from_numpy(np.random.default_rng(0).normal(size=(5, 6, 7)).astype(np.float32))
    points, values = VolumeSamples(voxels, (0.0, 1.0), at_voxels=True).draw(300)
    last = torch.tensor([6, 5, 4])
    index = ((points + 1) / 2 * last).round().long()
    assert torch.allclose(values, voxels[index[:, 2], index[:, 1], index[:, 0]])
    points, values = VolumeSamples(voxels, (0.0, 1.0)).draw(300)
    sampled = torch.nn.functional.grid_sample(voxels[None, None], points[None, None, None], align_corners=True)
    assert torch.allclose(values, sampled.reshape(-1), atol=1e-5)


def test_features_are_rounded_one_after_the_other_and_stay_so() -> None:
    samples = VolumeSamples(torch.rand(12, 12, 12, generator=torch.Generator().manual_seed(1)), (0.0, 1.0))
    network = make_network("pyramid", 1 << 12, (12, 12, 12))
    trainer = Trainer(network, TrainingOptions(batch=256, rounding=0.3))
    groups, found = network.grid_groups(), []
    shares = [0.45, 0.66, 0.66, 0.66, 0.8, 0.95]
    for step in range(40):
        trainer.step(samples, step, 0.0)
    for step, progress in enumerate(shares):
        trainer.step(samples, step, progress)
        ranks = torch.cat([one.flatten() for one in trainer._ranks])
        whole = torch.cat([(one.features / trainer_steps(trainer, one)).detach().flatten() for one in groups])
        is_rounded = (whole - whole.round()).abs() < 1e-3
        assert float(is_rounded.float().mean()) == pytest.approx(rounded_share(progress), abs=0.05)
        found.append((whole, ranks < rounded_share(progress)))
    assert found[-1][1].all()
    for (before, was), (after, _) in pairwise(found):
        assert torch.allclose(before[was], after[was], atol=1e-3), "what is rounded stays as it is"


def trainer_steps(trainer: Trainer, group: GridGroup) -> Any:
    return next(steps for one, steps in trainer._with_steps() if one is group)


def test_rounding_one_after_the_other_costs_less_than_all_at_once() -> None:
    """Of noise, every feature counts: the error that rounding adds is about half."""
    noise = torch.rand(10, 10, 10, generator=torch.Generator().manual_seed(2))
    samples = VolumeSamples(noise, (0.0, 1.0), at_voxels=True)
    points, truth = samples.draw(4000)
    added = []
    for rounding in (0.0, 0.5):
        network = make_network("pyramid", 1 << 11, (10, 10, 10))
        train(network, samples, TrainingOptions(steps=800, batch=512, rounding=rounding))
        added.append(float((network(points) - truth).detach().square().mean()))
        if not rounding:
            field = network.to_field((0.0, 1.0))
            steps = rounding_steps(network.grid_groups(), 0.5)
            network.load_field(replace(field, grids=tuple(
                replace(grid, features=(np.rint(grid.features / step) * step).astype(np.float32))
                for grid, step in zip(field.grids, steps, strict=True)
            )))  # fmt: skip
            at_once = float((network(points) - truth).detach().square().mean())
    exact, gradual = added
    assert gradual - exact < 0.5 * (at_once - exact)


@pytest.mark.parametrize(("parameters", "levels"), [(1 << 12, 400), (1 << 17, 1600)])
def test_weights_are_stored_finely_where_they_are_few(parameters: int, levels: int) -> None:
    network = make_network("adaptive", parameters, (64, 64, 64))
    grids = [0.1] * 16
    stored, _ = stored_network(network, grids)
    wholes = [
        weights / float(exact.detach().abs().max()) * levels
        for weights, exact in zip(stored.decoder.weights, network.weights, strict=True)
    ]
    assert max(np.abs(whole - np.rint(whole)).max() for whole in wholes) < 1e-2
    assert np.diff(np.unique(np.rint(wholes[0]))).min() == 1


def test_steps_of_rounding_follow_the_features() -> None:
    group = GridGroup(2, 1, (4, 4, 4), is_adaptive=False)
    with torch.no_grad():
        group.features[0], group.features[1] = 2.0, 0.5
    assert rounding_steps([group], 0.25) == pytest.approx([0.5, 0.125])


def test_grids_settle_when_the_loss_does() -> None:
    stop = GridStop()
    for step in range(0, 10_000, 250):
        stop.add(step, 1.0 / (1 + step))
    assert not stop.is_settled
    for step in range(10_000, 16_000, 250):
        stop.add(step, 1e-4)
    assert stop.is_settled


def test_bits_count_while_features_are_rounded() -> None:
    """Of noise, which cannot be predicted: far fewer bytes for a little more error."""
    noise, found = torch.rand(16, 16, 16, generator=torch.Generator().manual_seed(0)), {}
    for weight in (0.0, 0.8):
        network = make_network("pyramid", 2000, (16, 16, 16))
        samples = VolumeSamples(noise, (0.0, 1.0), at_voxels=True)
        options = TrainingOptions(steps=250, batch=512, rounding=0.1, coding_weight=weight)
        result = train(network, samples, options)
        found[weight] = stored_network(network, result.rounding_steps)[1], float(np.mean(result.losses[-3:]))
    assert found[0.8][0] < 0.8 * found[0.0][0]
    assert found[0.8][1] < 1.1 * found[0.0][1]
