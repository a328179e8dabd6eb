"""The order in which features are rounded: those that matter most come first."""

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pellucid.neural.network import FieldNetwork, GridGroup  # noqa: E402
from pellucid.neural.rounding_order import rounding_ranks  # noqa: E402
from pellucid.neural.samples import VolumeSamples  # noqa: E402


def network_of(seed: int) -> FieldNetwork:
    torch.manual_seed(seed)
    groups = [GridGroup(2, 2, (3, 4, 3), is_adaptive=True), GridGroup(1, 1, (2, 2, 2), is_adaptive=False)]
    network = FieldNetwork("test", groups, hidden=(16, 16))
    with torch.no_grad():
        for group in network.grid_groups():
            group.features.uniform_(-0.5, 0.5)
    return network


def sensitivities(network: FieldNetwork, samples: VolumeSamples) -> Any:
    """Squared derivatives of the values at many points, one point after the other."""
    groups = network.grid_groups()
    totals = [torch.zeros_like(group.features) for group in groups]
    for value in network(samples.draw(1500)[0]):
        found = torch.autograd.grad(value, [group.features for group in groups], retain_graph=True)
        totals = [total + gradient**2 for total, gradient in zip(totals, found, strict=True)]
    scaled = [
        total * group.features.square().mean((1, 2, 3, 4), keepdim=True)
        for total, group in zip(totals, groups, strict=True)
    ]
    return torch.cat([one.detach().reshape(-1) for one in scaled]).numpy()


@pytest.mark.parametrize("seed", range(3))
def test_the_order_follows_the_squared_derivatives(seed: int) -> None:
    network, samples = network_of(seed), VolumeSamples(torch.rand(8, 9, 7), (0.0, 1.0), at_voxels=True)
    found = torch.cat([one.reshape(-1) for one in rounding_ranks(network, samples, 4096)]).numpy()
    assert np.allclose(np.sort(found), np.arange(found.size) / found.size, atol=1e-6)
    places = np.argsort(np.argsort(-sensitivities(network, samples)))
    assert np.corrcoef(found, places)[0, 1] > 0.75


def test_ranks_have_the_shapes_of_the_features() -> None:
    network, samples = network_of(0), VolumeSamples(torch.rand(8, 9, 7), (0.0, 1.0))
    ranks = rounding_ranks(network, samples, 64)
    assert [one.shape for one in ranks] == [group.features.shape for group in network.grid_groups()]
