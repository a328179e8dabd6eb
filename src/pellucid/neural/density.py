"""Where adaptive grids ought to be: their density, the density that the errors ask for, and the loss between the two.

Here: the formulas of AMGSRN (Wurster et al., "Adaptively Placed Multi-Grid Scene Representation Networks"), in PyTorch.
Not here: applying them (training), the fused version (cuda_training).
"""

import math

import torch
from torch import Tensor

FLATNESS = 10
"""The exponent that makes the Gaussian of a grid flat inside and steep at its border."""
_TINY = 1e-16


def feature_density(transforms: Tensor, points: Tensor) -> Tensor:
    """How many features lie about each point: a flat-top Gaussian per grid, (n,)."""
    local = torch.einsum("mij,nj->mni", transforms[:, :, :3], points) + transforms[:, None, :, 3]
    shape = torch.exp(-0.5 * ((local**2) ** FLATNESS).sum(dim=2))
    return (torch.det(transforms[:, :, :3])[:, None] * shape).sum(dim=0) / (2 * math.pi) ** 1.5


def target_density(density: Tensor, squared_error: Tensor) -> Tensor:
    """Densities that are higher where the error is; both relative to the batch."""
    relative = squared_error.mean() / (squared_error + _TINY)
    return torch.exp(torch.log(density + _TINY) * relative)


def density_loss(transforms: Tensor, points: Tensor, squared_error: Tensor, *, form: str = "authors") -> Tensor:
    """The loss that moves grids.

    form: "authors", KL(target || density), as the authors' program computes it, or "printed", KL(density || target)
    with a target that is not normalised, as the paper prints it.
    """
    density = feature_density(transforms, points)
    density = density / density.sum().detach()
    target = target_density(density, squared_error).detach()
    if form == "printed":
        return (density * (torch.log(density + _TINY) - torch.log(target + _TINY))).sum()
    target = target / target.sum()
    return (target * (torch.log(target + _TINY) - torch.log(density + _TINY))).sum()
