"""Coarser levels: their shapes, and how voxels are reduced.

Here: plan_levels, reduce_voxels.
Not here: going through a whole volume block by block (conversion).
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from pellucid.box import Shape, triple
from pellucid.choices import check_choice
from pellucid.formats.protocol import Level, Spacing, Voxels

MIN_EDGE = 64


def plan_levels(base: Level, count: int | None = None) -> tuple[Level, ...]:
    """The levels of a pyramid over ``base``, which is the first of them.

    Each halves the axes that are finest, so that voxels of a scan with thick slices become cubes; with no count given
    it ends when the longest edge is at most 64 voxels.
    """
    levels = [base]
    while (count is None and max(levels[-1].shape) > MIN_EDGE) or (count is not None and len(levels) < count):
        finer = levels[-1]
        factors = halving(finer.shape, finer.spacing)
        if factors == (1, 1, 1):
            break
        shape = triple(-(-n // f) for n, f in zip(finer.shape, factors, strict=True))
        z, y, x = (s * f for s, f in zip(finer.spacing, factors, strict=True))
        levels.append(Level(shape, triple(map(min, zip(finer.chunk, shape, strict=True))), (z, y, x)))
    return tuple(levels)


def halving(shape: Shape, spacing: Spacing) -> Shape:
    """Which axes the next level halves: 2 or 1 along (z, y, x)."""
    finest = min((s for s, n in zip(spacing, shape, strict=True) if n > 1), default=0)
    return triple(2 if n > 1 and s < 2 * finest else 1 for s, n in zip(spacing, shape, strict=True))


def reduce_voxels(voxels: Voxels, factors: Shape, how: str) -> Voxels:
    """Put windows of ``factors`` voxels together; windows cut by the border count what is there.

    >>> reduce_voxels(np.array([[[1, 2, 7]]], np.uint8), (1, 1, 2), "mean").tolist()
    [[[2, 7]]]
    """
    check_choice("reduction", how, REDUCTIONS)
    # A doubled border voxel weighs as much as the pair that is not there: mean, max and mode stay right.
    widths = [(0, -n % f) for n, f in zip(voxels.shape, factors, strict=True)]
    padded = np.pad(voxels, widths, mode="edge") if any(high for _, high in widths) else voxels
    return REDUCTIONS[how](padded, factors)


def _mean(voxels: Voxels, factors: Shape) -> Voxels:
    count = factors[0] * factors[1] * factors[2]
    if voxels.dtype.kind == "f":
        with np.errstate(over="ignore", invalid="ignore"):
            total = _fold(lambda a, b: np.add(a, b, dtype=_sum_type(voxels.dtype)), voxels, factors)
        average: Voxels = total / total.dtype.type(count)
        return (average if np.isfinite(average).all() else _finite_mean(voxels, factors, average)).astype(voxels.dtype)
    return _integer_mean(voxels, factors, count.bit_length() - 1)


def _finite_mean(voxels: Voxels, factors: Shape, average: Voxels) -> Voxels:
    """The mean of the finite values of each window; where there are none, the average of what is there.

    Windows of finite values alone keep their average: it must not depend on other windows.
    """
    is_finite = np.isfinite(voxels)
    total = _fold(np.add, np.where(is_finite, voxels, 0).astype(np.float64), factors)
    counts = _fold(np.add, is_finite.astype(np.uint8), factors)
    needs_mean = (counts > 0) & ~np.isfinite(average)
    found: Voxels = np.where(needs_mean, total / np.maximum(counts, 1), average)
    return found


def _integer_mean(voxels: Voxels, factors: Shape, shift: int) -> Voxels:
    """The mean of 2 ** shift integers, rounded to the nearest."""
    half = (1 << shift) >> 1
    if voxels.dtype.itemsize < 8:
        total = _fold(lambda a, b: np.add(a, b, dtype=_sum_type(voxels.dtype)), voxels, factors)
        rounded: Voxels = (total.astype(_sum_type(voxels.dtype), copy=False) + half) >> shift
        return rounded.astype(voxels.dtype)
    # No wider type holds the sum of 64-bit integers: quotients and remainders are added apart.
    quotients = _fold(np.add, voxels >> shift, factors)
    remainders = _fold(np.add, voxels & ((1 << shift) - 1), factors)
    mean: Voxels = quotients + ((remainders + half) >> shift)
    return mean


def _sum_type(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """Wide enough that eight integers of up to 32 bits add up exactly, and floats as well as they can."""
    if dtype.kind == "f":
        return np.dtype(np.float64 if dtype.itemsize == 8 else np.float32)
    return np.dtype(f"{dtype.kind}{dtype.itemsize * 2}")


def _largest(voxels: Voxels, factors: Shape) -> Voxels:
    return _fold(np.fmax, voxels, factors)  # Unlike np.maximum, it is NaN only where both are.


def _most_frequent(voxels: Voxels, factors: Shape) -> Voxels:
    """The most frequent label of each window; of equally frequent ones, the smallest."""
    fz, fy, fx = factors
    members = np.sort(
        np.stack([voxels[z::fz, y::fy, x::fx] for z in range(fz) for y in range(fy) for x in range(fx)]), 0
    )
    best: Voxels
    best, best_length = members[0].copy(), np.ones(members[0].shape, np.int8)
    length = best_length.copy()
    for before, member in pairwise(members):
        length = np.where(member == before, length + 1, 1).astype(np.int8)
        longer = length > best_length
        best[longer], best_length[longer] = member[longer], length[longer]
    return best


def _fold(combine: Callable[[Voxels, Voxels], Voxels], voxels: Voxels, factors: Shape) -> Voxels:
    # z first: the passes over most voxels then run along whole rows.
    for axis, factor in enumerate(factors):
        if factor == 2:
            voxels = combine(_every_other(voxels, axis, 0), _every_other(voxels, axis, 1))
    return voxels


def _every_other(voxels: Voxels, axis: int, first: int) -> Voxels:
    return voxels[(slice(None),) * axis + (slice(first, None, 2),)]


REDUCTIONS: dict[str, Callable[[Voxels, Shape], Voxels]] = {"mean": _mean, "max": _largest, "mode": _most_frequent}
