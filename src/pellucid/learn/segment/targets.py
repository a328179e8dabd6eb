"""What a network learns of labels: the class of every voxel, or the boundaries between objects.

Here: boundaries, boundary_loss, class_loss.
Not here: which voxels (samples), the network (objective).
"""

import torch
from torch import Tensor
from torch.nn import functional

REACHES = (1, 1, 1, 3, 3, 3, 9, 9, 9)
"""How far apart, along z, y, x in turn, the voxels are of which a channel says whether they are of different objects.
The first three are kept in the exported network; the others make it look further."""


def boundaries(labels: Tensor, ignored: int | None, boundary: int | None) -> tuple[Tensor, Tensor]:
    """labels: (batch, z, y, x). Returns, for every channel of REACHES, whether a voxel and the one so far before it
    along the axis are of different objects, and whether that is known: (batch, channel, z, y, x)."""
    targets, known = [], []
    for channel, reach in enumerate(REACHES):
        axis = 1 + channel % 3
        target, valid = torch.zeros_like(labels, dtype=torch.float32), torch.zeros_like(labels, dtype=torch.float32)
        if labels.shape[axis] > reach:
            here, before = _narrowed(labels, axis, reach), labels.narrow(axis, 0, labels.shape[axis] - reach)
            differs = here != before
            is_known = torch.ones_like(differs)
            if boundary is not None:
                differs = differs | (here == boundary)
            if ignored is not None:
                is_known = (here != ignored) & (before != ignored)
            _narrowed(target, axis, reach).copy_(differs)
            _narrowed(valid, axis, reach).copy_(is_known)
        targets.append(target)
        known.append(valid)
    return torch.stack(targets, 1), torch.stack(known, 1)


def _narrowed(tensor: Tensor, axis: int, reach: int) -> Tensor:
    return tensor.narrow(axis, reach, tensor.shape[axis] - reach)


def boundary_loss(logits: Tensor, labels: Tensor, ignored: int | None, boundary: int | None, margin: int = 0) -> Tensor:
    """Cross entropy over all pairs that are known. logits: (batch, channel, z, y, x). margin: slices that the labels
    have more, on either side."""
    depth = logits.shape[2]
    target, known = (one.narrow(2, margin, depth) for one in boundaries(labels, ignored, boundary))
    losses = functional.binary_cross_entropy_with_logits(logits.float(), target, reduction="none")
    return (losses * known).sum() / known.sum().clamp(min=1)


def class_loss(logits: Tensor, labels: Tensor, ignored: int | None) -> Tensor:
    """Cross entropy over all voxels whose class is known."""
    chosen = labels if ignored is None else labels.masked_fill(labels == ignored, -100)
    losses = functional.cross_entropy(logits.float(), chosen, reduction="sum", ignore_index=-100)
    return losses / (chosen != -100).sum().clamp(min=1)
