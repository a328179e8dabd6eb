"""From one voxel type to another, with a stated range.

Here: ValueMap, which says what becomes of every value, and applies it.
Not here: where voxels come from and go to (tasks).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.choices import check_choice
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import VOXEL_TYPES, Voxels

_ROUNDING = 2.0**-24
"""Of float32, relative to a value."""
_STEP_PARTS = 64
"""Values are rounded to at least such a part of a step of the target before they become one."""


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
            return _cast(voxels, target)
        low, high = self.value_range
        first, last = (0.0, 1.0) if target.kind == "f" else _ends(target)
        wide = np.float32 if self._fits_float32(target) else np.float64
        scaled = np.subtract(np.nan_to_num(voxels, nan=low, posinf=high, neginf=low), low, dtype=wide)
        scaled *= wide((last - first) / (high - low))
        if target.kind != "f":
            np.rint(scaled, out=scaled)
        np.clip(scaled, 0, last - first, out=scaled)
        scaled += wide(first)
        # The largest 64-bit integers are no floats: what rounds up to 2 ** 63 or 2 ** 64 must not wrap round.
        is_wide_integer = target.kind != "f" and target.itemsize == 8
        capped: Voxels = np.minimum(scaled, np.nextafter(wide(last), wide(0)) if is_wide_integer else last)
        converted = capped.astype(target)
        if is_wide_integer:
            converted[scaled >= last] = np.iinfo(target).max
        return converted

    def _fits_float32(self, target: np.dtype[Any]) -> bool:
        """Whether float32 resolves the range to a small part of a step of the target.

        It does not where the target has more than 24 bits, or where a narrow range is far from 0.
        """
        low, high = self.value_range or (0.0, 1.0)
        steps = 2.0**11 if target.kind == "f" else 2.0 ** (8 * target.itemsize)
        return target.itemsize <= 2 and max(abs(low), abs(high)) * _ROUNDING * steps * _STEP_PARTS < high - low

    def count_nan(self, voxels: Voxels) -> int:
        """How many voxels lose that they are no number."""
        return int(np.count_nonzero(np.isnan(voxels))) if self.value_range and voxels.dtype.kind == "f" else 0


def _cast(voxels: Voxels, target: np.dtype[Any]) -> Voxels:
    with np.errstate(over="raise"):
        try:
            converted = voxels.astype(target, copy=False)
        except FloatingPointError:
            raise _too_large(target) from None
    is_wide_integer = voxels.dtype.kind in "iu" and voxels.dtype.itemsize == 8
    if is_wide_integer and target.kind == "f" and _is_rounded(voxels, converted):
        raise _too_large(target)
    return converted


def _is_rounded(voxels: Voxels, converted: Voxels) -> bool:
    """Whether 64-bit integers lost digits as floats, which NumPy calls a safe cast."""
    if (converted >= float(np.iinfo(voxels.dtype).max)).any():  # Rounded up to 2 ** 63 or 2 ** 64.
        return True
    return bool((converted.astype(voxels.dtype) != voxels).any())


def _too_large(target: np.dtype[Any]) -> InvalidInput:
    return InvalidInput(
        f"Some values are too large for {target}.", remedy="Choose a wider type, or add --range LOW,HIGH."
    )


def plan_values(source: np.dtype[Any], dtype: str | None, value_range: tuple[float, float] | None) -> ValueMap:
    """Check the options: a change that would lose values needs a range.

    >>> plan_values(np.dtype("float32"), "uint8", (0.0, 2.5))
    ValueMap(dtype='uint8', value_range=(0.0, 2.5))
    """
    target = dtype or source.name
    check_choice("voxel type", target, VOXEL_TYPES)
    if value_range is not None and not (np.isfinite(value_range).all() and value_range[0] < value_range[1]):
        raise InvalidInput(f"Invalid range {value_range}.", remedy="Use finite LOW,HIGH with LOW below HIGH.")
    is_between_floats = source.kind == np.dtype(target).kind == "f"
    if value_range is None and not (is_between_floats or np.can_cast(source, np.dtype(target), "safe")):
        raise InvalidInput(
            f"{source.name} does not fit into {target} without a range.",
            remedy="Add --range LOW,HIGH: these become the ends of the new type (--range auto takes the data's own).",
        )
    return ValueMap(target, value_range)


def _ends(target: np.dtype[Any]) -> tuple[float, float]:
    limits = np.iinfo(target)
    return float(limits.min), float(limits.max)
