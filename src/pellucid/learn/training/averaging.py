"""The exponential average of a network's weights, which is better than the last ones.

Here: AveragedNetwork.
Not here: when it is updated (loop).
"""

import copy

import torch
from torch import nn


class AveragedNetwork:
    """A copy whose weights follow those of a network. decay: how much of them stays in each step, once there were many
    steps; it is less for the first ones."""

    def __init__(self, network: nn.Module, decay: float) -> None:
        self._source, self._decay = network, decay
        self.network = copy.deepcopy(network).requires_grad_(False).eval()

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def update(self, step: int) -> None:
        """step: how many steps there were before."""
        decay = min(self._decay, (1 + step) / (10 + step))
        own, new = list(self.network.parameters()), list(self._source.parameters())
        torch._foreach_lerp_(own, [one.detach() for one in new], 1 - decay)
        for mine, theirs in zip(self.network.buffers(), self._source.buffers(), strict=True):
            mine.copy_(theirs)
