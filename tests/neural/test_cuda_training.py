"""The fused training step against PyTorch: values, gradients, the density loss, and whole trainings."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pellucid.neural import checkpoints  # noqa: E402
from pellucid.neural.density import density_loss  # noqa: E402
from pellucid.neural.models import grid_shape, make_network  # noqa: E402
from pellucid.neural.network import FieldNetwork, GridGroup  # noqa: E402
from pellucid.neural.samples import VolumeSamples  # noqa: E402
from pellucid.neural.training import TrainingOptions, train  # noqa: E402

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def _cuda() -> None:
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")


def volume(shape: tuple[int, int, int] = (40, 33, 50), seed: int = 0) -> Any:
    z, y, x = np.meshgrid(*(np.linspace(-1, 1, n, dtype=np.float32) for n in shape), indexing="ij")
    ball = np.exp(-8 * (x**2 + y**2 + (z - 0.2) ** 2)) + 0.2 * np.sin(7 * x) * np.cos(5 * y + z)
    return torch.from_numpy(ball.astype(np.float32)).cuda()


def network_of(seed: int = 3) -> FieldNetwork:
    torch.manual_seed(seed)
    groups = [
        GridGroup(3, 2, (5, 6, 7), is_adaptive=False),
        GridGroup(5, 4, (8, 7, 6), is_adaptive=True, spread=0.1, zoom=1.5),
        GridGroup(3, 1, (4, 4, 4), is_adaptive=True),
    ]
    network = FieldNetwork("test", groups).cuda()
    with torch.no_grad():
        for group in network.grid_groups():
            group.features.uniform_(-0.5, 0.5)
    return network


def trainer_of(network: FieldNetwork, voxels: Any, **options: Any) -> Any:
    from pellucid.neural.cuda_training import CudaTrainer

    samples = VolumeSamples(voxels, (float(voxels.min()), float(voxels.max())))
    return CudaTrainer(network, samples, TrainingOptions(**options), at_voxels=False)


def lattice(shape: tuple[int, int, int]) -> Any:
    z, y, x = torch.meshgrid(*(torch.linspace(-1, 1, n, device="cuda") for n in shape), indexing="ij")
    return torch.stack([x, y, z], -1).reshape(-1, 3)


def pcg(x: Any) -> Any:
    x = x * np.uint32(747796405) + np.uint32(2891336453)
    w = ((x >> ((x >> np.uint32(28)) + np.uint32(4))) ^ x) * np.uint32(277803737)
    return (w >> np.uint32(22)) ^ w


def points_of(step: int, count: int) -> Any:
    with np.errstate(over="ignore"):
        first = pcg(np.arange(count, dtype=np.uint32) * np.uint32(3) + np.uint32(step) * np.uint32(2654435761))
        second = pcg(first)
        third = pcg(second)
    return torch.from_numpy(np.stack([first, second, third], 1) * (2 / 2**32) - 1).float().cuda()


def truth_at(voxels: Any, points: Any) -> Any:
    low, high = float(voxels.min()), float(voxels.max())
    sampled = torch.nn.functional.grid_sample(voxels[None, None], points[None, None, None], align_corners=True)
    return (sampled.reshape(-1) - low) / (high - low)


def test_values_are_those_of_the_network() -> None:
    network, voxels = network_of(), volume()
    values = trainer_of(network, voxels).values().reshape(-1)
    expected = network(lattice((40, 33, 50))).detach()
    assert (values - expected).abs().max() < 0.02 * expected.abs().max()
    assert (values - expected).square().mean().sqrt() < 0.002 * expected.square().mean().sqrt() + 1e-4


def test_gradients_are_those_of_autograd() -> None:
    network, voxels, batch = network_of(), volume(), 1 << 14
    trainer = trainer_of(network, voxels, batch=batch)
    with torch.cuda.stream(trainer._stream):
        trainer._run(False)
        trainer._stream.synchronize()
    points = points_of(0, batch)
    error = network(points) - truth_at(voxels, points)
    error.square().mean().backward()
    assert torch.allclose(trainer._error, error.detach(), atol=0.02 * float(error.abs().max()))
    scale = batch / 8
    first = trainer._weight_gradients[: trainer._inputs * 64].reshape(-1, 64)[trainer._rows()] / scale
    assert _difference(first, network.weights[0].grad) < 0.02
    second = trainer._weight_gradients[trainer._inputs * 64 :][: 64 * 64].reshape(64, 64) / scale
    assert _difference(second, network.weights[1].grad) < 0.02
    # The first moment after one step is a tenth of the gradient.
    for number, (group, grid, feature) in enumerate(trainer._halves):
        own = trainer._node_m[trainer._first_nodes[number] : trainer._first_nodes[number + 1]] * 10
        expected = network.grid_groups()[group].features.grad[grid, feature : feature + 2]
        assert _difference(own.T[: len(expected)].reshape(expected.shape), expected) < 0.03


@pytest.mark.parametrize("form", ["authors", "printed"])
def test_transforms_move_as_the_density_loss_says(form: str) -> None:
    torch.manual_seed(1)
    network = FieldNetwork("test", [GridGroup(6, 2, (6, 6, 6), is_adaptive=True, spread=0.2)]).cuda()
    voxels, batch = volume(), 1 << 14
    trainer = trainer_of(network, voxels, batch=batch, density=form)
    trainer._transform_rate.fill_(1e-3)
    with torch.cuda.stream(trainer._stream):
        trainer._run(True)
        trainer._stream.synchronize()
    points = points_of(0, batch)
    error = (network(points) - truth_at(voxels, points)).detach()
    transforms = network.grid_groups()[0].transforms.detach().clone().requires_grad_()
    density_loss(transforms, points, error.square(), form=form).backward()
    moment = trainer._transform_m.reshape(6, 3, 4) * 10
    assert _difference(moment, transforms.grad) < 0.03


def test_a_training_reaches_what_pytorch_reaches() -> None:
    voxels = volume((48, 48, 48))
    options = TrainingOptions(steps=600, batch=1 << 13)
    samples = VolumeSamples(voxels, (float(voxels.min()), float(voxels.max())))
    plain, fused = (make_network("amgsrn", 1 << 14, (48, 48, 48)).cuda() for _ in range(2))
    train(plain, samples, options)
    from pellucid.neural.cuda_training import CudaTrainer

    CudaTrainer(fused, samples, options, at_voxels=False).train()
    points = lattice((48, 48, 48))
    truth = truth_at(voxels, points)
    losses = [float((network(points).detach() - truth).square().mean()) for network in (plain, fused)]
    assert 0.6 < losses[1] / losses[0] < 1.6


def test_rounded_features_are_whole_steps() -> None:
    voxels = volume()
    network = make_network("pyramid", 1 << 16, (40, 33, 50)).cuda()
    trainer = trainer_of(network, voxels, steps=400, batch=1 << 12, rounding=0.25)
    result = trainer.train()
    grids = [grid for group in network.grid_groups() for grid in group.features]
    assert len(result.rounding_steps) == len(grids)
    for grid, step in zip(grids, result.rounding_steps, strict=True):
        assert (grid / step - torch.round(grid / step)).abs().max() < 1e-3


def test_ranks_have_the_layout_of_the_features() -> None:
    """Features that are their own ranks are stored where they came from."""
    network = network_of()
    trainer = trainer_of(network, volume())
    ranks = [torch.rand_like(group.features) for group in network.grid_groups()]
    trainer._load_ranks(ranks)
    trainer._stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(trainer._stream):
        trainer._nodes.copy_(trainer._ranks)
    trainer.store()
    for group, own in zip(network.grid_groups(), ranks, strict=True):
        assert torch.equal(group.features, own)


def test_the_network_has_all_parameters_also_where_the_gpu_is_busy() -> None:
    network = network_of()
    trainer = trainer_of(network, volume())
    with torch.cuda.stream(trainer._stream):
        torch.cuda._sleep(1_000_000_000)  # Other processes take their turn.
        trainer._nodes.fill_(2.0)
        trainer._weights.fill_(3.0)
    trainer.store()
    assert all(bool((group.features == 2).all()) for group in network.grid_groups())
    assert all(bool((weights == 3).all()) for weights in network.weights)


def test_features_are_rounded_one_after_the_other_and_stay_so() -> None:
    voxels, step = volume(), 0.05
    trainer = trainer_of(network_of(), voxels, batch=1 << 12)
    trainer._rate.fill_(0.01)
    trainer._rounding.fill_(step)
    ranks = torch.rand(len(trainer._nodes), 2, generator=torch.Generator().manual_seed(0)).cuda()
    trainer._ranks.copy_(ranks)
    kept: list[tuple[Any, Any]] = []
    for share in (0.0, 0.25, 0.25, 0.7, 1.0):
        trainer._rounded_share.fill_(share)
        with torch.cuda.stream(trainer._stream):
            trainer._run(False)
            trainer._stream.synchronize()
        whole = (trainer._nodes / step).clone()
        is_rounded = (whole - whole.round()).abs() < 1e-3
        assert abs(float(is_rounded.float().mean()) - share) < 0.05
        kept.append((whole, ranks < share - 1e-6))
    for (before, was), (after, _) in pairwise(kept[1:]):
        assert torch.allclose(before[was], after[was], atol=2e-3)


def test_bits_count_while_features_are_rounded() -> None:
    """As in the definition: fewer bytes, and a little more error."""
    from pellucid.neural.fitting import stored_network

    found = []
    for weight in (0.0, 0.6):
        noise = torch.rand(16, 16, 16, generator=torch.Generator().manual_seed(0)).cuda()
        network = make_network("pyramid", 1 << 15, (16, 16, 16)).cuda()
        trainer = trainer_of(network, noise, steps=2000, batch=1 << 12, rounding=0.1, coding_weight=weight)
        result = trainer.train()
        found.append((stored_network(network, result.rounding_steps)[1], result.losses[-1]))
    (plain, _), (weighted, _) = found
    assert weighted < 0.95 * plain
    assert found[1][1] < 2 * found[0][1]


def test_a_stopped_training_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it was, and to the same quality as one that was not stopped."""
    monkeypatch.setattr(checkpoints, "PERIOD_S", 0.0)
    monkeypatch.setattr(checkpoints, "MAX_SAVING_SHARE", 1e9)
    voxels, path, losses, seen = volume(), tmp_path / "training.npz", [], []
    for stops in ((), (1000, 1750)):
        network = make_network("amgsrn", 1 << 14, (40, 33, 50)).cuda()
        for stop in (*stops, 10_000):
            options = {"steps": 2500, "batch": 1 << 12, "rounding": 0.2, "coding_weight": 0.3}
            trainer = trainer_of(network, voxels, **options)
            began: list[int] = []

            def on_step(step: int, loss: float, stop: int = stop, began: list[int] = began) -> bool:
                began.append(step)
                return step >= stop

            result = trainer.train(on_step, checkpoints.TrainingCheckpoint(path) if stops else None)
            seen.append(began[0])
        losses.append(result.losses[-1])
    assert seen == [250, 250, 1250, 2000]
    assert 0.8 < losses[1] / losses[0] < 1.25
    grids = [grid for group in network.grid_groups() for grid in group.features]
    for grid, step in zip(grids, result.rounding_steps, strict=True):
        assert (grid / step - torch.round(grid / step)).abs().max() < 1e-3


def test_shapes_of_grids_follow_the_volume() -> None:
    assert grid_shape((100, 50, 25), 1000) == (20, 10, 5)


def _difference(found: Any, expected: Any) -> float:
    return float((found - expected).norm() / expected.norm())
