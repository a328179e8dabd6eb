"""In which order features are rounded while a network is trained.

Here: rounding_ranks, and random_ranks.
Not here: when they are rounded (training), steps to which they are rounded.

What rounding a feature does to the values, those that are still free make up for, as far as they can; nothing makes up
for the last ones. So those come first that matter most: a step of one of them changes the values most. Chance counts a
little, so that features beside each other have their turns apart.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from pellucid.neural.network import FieldNetwork
from pellucid.neural.samples import Samples

PROBES = 16
MAX_POINTS = 1 << 16
CHANCE = 0.3
"""What chance counts in the order."""


def rounding_ranks(network: FieldNetwork, samples: Samples, points: int) -> list[Tensor]:
    """For every grid group, the ranks of its features: 0 for the one that is rounded first, and below 1.

    A feature matters as the square of what a step of it, which is a part of the root mean square of its grid, changes
    the values by, summed over all points. Random signs of the points give that sum in the mean of a few probes.
    """
    groups = network.grid_groups()
    if not groups:
        return []
    totals = [torch.zeros_like(group.features) for group in groups]
    generator = torch.Generator(groups[0].features.device).manual_seed(0)
    for _ in range(PROBES):
        values = network(samples.draw(min(points, MAX_POINTS))[0])
        signs = torch.randint(0, 2, values.shape, generator=generator, device=values.device) * 2.0 - 1.0
        found = torch.autograd.grad((values * signs).sum(), [group.features for group in groups])
        totals = [total + gradient.square() for total, gradient in zip(totals, found, strict=True)]
    axes = (1, 2, 3, 4)
    matter = [
        total * group.features.detach().square().mean(axes, keepdim=True)
        for total, group in zip(totals, groups, strict=True)
    ]
    places = _places([-one for one in matter])
    chances = random_ranks(network)
    return _places([(1 - CHANCE) * own + CHANCE * one for own, one in zip(places, chances, strict=True)])


def random_ranks(network: FieldNetwork) -> list[Tensor]:
    """Ranks where rounding goes on from steps that are known: a short training has no time to make up for many features
    that are rounded together."""
    generator = torch.Generator().manual_seed(0)
    return [
        torch.rand(group.features.shape, generator=generator).to(group.features.device)
        for group in network.grid_groups()
    ]


def _places(numbers: Sequence[Tensor]) -> list[Tensor]:
    """Places, 0 to below 1, in the order of all numbers together."""
    order = torch.argsort(torch.cat([one.reshape(-1) for one in numbers]), stable=True)
    places = torch.empty(len(order), device=order.device)
    places[order] = torch.arange(len(order), device=order.device) / len(order)
    parts = places.split([one.numel() for one in numbers])
    return [part.reshape(one.shape) for part, one in zip(parts, numbers, strict=True)]
