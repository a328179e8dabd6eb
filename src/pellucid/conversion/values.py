"""From one voxel type to another, with a stated range.

Here: ValueMap, which says what becomes of every value, and applies it.
Not here: where voxels come from and go to (tasks).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import VOXEL_TYPES, Voxels


@dataclass(frozen=True)
class ValueMap:
    """Values of ``value_range`` (low, high) spread over all of an integer type, or over 0 to 1 of a float type.

    Without a range values stay what they are. What lies outside the range becomes its nearest end, NaN its low end.
    """

    dtype: str
    value_range: tuple[float, float] | None = None

    def apply(self, voxels: Voxels) -> Voxels:
        target = np.dtype(self.dtype)
        if self.value_range is None:
            return voxels.astype(target, copy=False)
        low, high = self.value_range
        first, last = (0.0, 1.0) if target.kind == "f" else _ends(target)
        # float64 where the target has more than 24 bits, so that its last values are reached exactly.
        wide = np.float64 if target.itemsize > 2 else np.float32
        scaled = np.subtract(voxels, low, dtype=wide)
        scaled *= wide((last - first) / (high - low))
        np.clip(np.nan_to_num(scaled, copy=False, nan=0.0), 0, last - first, out=scaled)
        if target.kind != "f":
            np.rint(scaled, out=scaled)
        scaled += wide(first)
        return scaled.astype(target)


def plan_values(source: np.dtype[Any], dtype: str | None, value_range: tuple[float, float] | None) -> ValueMap:
    """Check a wish: a change that would lose values needs a range.

    >>> plan_values(np.dtype("float32"), "uint8", (0.0, 2.5))
    ValueMap(dtype='uint8', value_range=(0.0, 2.5))
    """
    target = dtype or source.name
    if target not in VOXEL_TYPES:
        raise InvalidInput(f"There is no voxel type {target!r}.", do=f"Choose one of: {', '.join(VOXEL_TYPES)}.")
    if value_range is not None and not value_range[0] < value_range[1]:
        raise InvalidInput(f"The range {value_range} is empty.", do="Give LOW,HIGH with LOW below HIGH.")
    is_wider = np.can_cast(source, np.dtype(target), "safe") or np.dtype(target).kind == "f"
    if value_range is None and not is_wider:
        raise InvalidInput(
            f"{source.name} does not fit into {target} without a range.",
            do="Add --range LOW,HIGH: these become the ends of the new type (--range auto takes the data's own).",
        )
    return ValueMap(target, value_range)


def _ends(target: np.dtype[Any]) -> tuple[float, float]:
    limits = np.iinfo(target)
    return float(limits.min), float(limits.max)
