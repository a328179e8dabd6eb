"""How well objects agree with true ones.

Here: adapted_rand_error.
Not here: finding objects (infer.objects).
"""

from dataclasses import dataclass

import numpy as np

from pellucid.formats.protocol import Voxels


@dataclass(frozen=True)
class RandError:
    """error: 1 - the harmonic mean of precision and recall. precision: low where true objects are merged. recall: low
    where they are split."""

    error: float
    precision: float
    recall: float


def adapted_rand_error(truth: Voxels, found: Voxels, *, both: bool = False) -> RandError:
    """Over pairs of voxels, as in the SNEMI3D challenge: without those whose true label is 0. both: nor those whose
    found label is 0.

    >>> adapted_rand_error(np.array([1, 1, 2, 2]), np.array([5, 5, 7, 7])).error
    0.0
    """
    kept = (truth != 0) & (found != 0) if both else truth != 0
    _, one = np.unique(truth[kept], return_inverse=True)
    _, other = np.unique(found[kept], return_inverse=True)
    width = int(other.max(initial=0)) + 1
    _, joint = np.unique(one.astype(np.int64) * width + other, return_counts=True)
    together, true, made = (
        float((counts.astype(np.float64) ** 2).sum()) for counts in (joint, np.bincount(one), np.bincount(other))
    )
    if not together:
        return RandError(0.0, 1.0, 1.0)
    precision, recall = together / made, together / true
    return RandError(1 - 2 * precision * recall / (precision + recall), precision, recall)
