"""Values that were mapped to whole numbers, as they were before.

Here: values_of.
Not here: mapping them (conversion.values).
"""

import numpy as np

from pellucid.formats.protocol import Voxels


def values_of(voxels: Voxels, value_range: tuple[float, float] | None) -> Voxels:
    """value_range: what the ends of the type mean; None, and for floats, values as they are.

    >>> values_of(np.array([0, 255], np.uint8), (1.0, 2.0)).tolist()
    [1.0, 2.0]
    """
    if value_range is None or voxels.dtype.kind == "f":
        return voxels.astype(np.float32)
    limits, (low, high) = np.iinfo(voxels.dtype), value_range
    step = (high - low) / (float(limits.max) - limits.min)
    return np.asarray(low + (voxels.astype(np.float64) - limits.min) * step, np.float32)
