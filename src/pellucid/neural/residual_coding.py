"""Coding the difference between a field and its volume, so that no voxel is off by more than a bound.

Here: code_residual; bounded_size, of the field under a residual.
Not here: how a brick is coded (pellucid.formats.neural_field.residual), training (training).
"""

import math
from collections.abc import Callable

import numpy as np

from pellucid import progress
from pellucid.box import Box
from pellucid.errors import InvalidInput
from pellucid.formats.neural_field.field import Floats
from pellucid.formats.neural_field.neural_volume import to_voxel_type
from pellucid.formats.neural_field.residual import (
    brick_boxes,
    coded_brick,
    coding_bound,
    decoded_brick,
    replaces_field,
    section_name,
)
from pellucid.neural.compression_options import MIN_FIELD_BYTES, default_size
from pellucid.neural.quality import Quality, measure
from pellucid.neural.spline_fitting import is_smooth
from pellucid.volume.volume import Volume

RESIDUAL_BRICK = 128
SAMPLED_BRICKS = 8
FIELD_SHARE, SMOOTH_SHARE = 1 / 30, 1 / 3
"""Of the bytes that the voxels themselves would take within a bound: those of the field. Of noise a field saves no
bytes, so that it adds its own; a smooth volume takes fewer with it."""
LEAST_FIELD_BYTES = 2 * MIN_FIELD_BYTES
TOLERANCE = 2e-5
"""How far evaluations on different machines may differ, relative to the volume's range."""


def evaluation_tolerance(volume: Volume) -> float:
    """How far evaluations may differ: in the network, and in the rounding of their values to float32 or float16.

    >>> evaluation_tolerance(Volume.from_array(np.array([[[1e6, 1e6 + 1]]])))
    0.06252
    """
    low, high = volume.value_range
    tolerance = TOLERANCE * (high - low)
    if low > 0 or high < 0:
        tolerance += float(np.spacing(np.float32(max(low, -high))))
    if volume.dtype == np.float16:
        tolerance += float(np.spacing(np.float16(max(-low, high)))) / 2
    return tolerance


def bounded_size(volume: Volume, max_error: float) -> int:
    """Bytes of a field, where only the largest error is given: so many that the whole file is small."""
    boxes = brick_boxes(volume.shape, RESIDUAL_BRICK)
    chosen = np.random.default_rng(0).permutation(len(boxes))[:SAMPLED_BRICKS]
    sampled = [boxes[number] for number in chosen]
    bound = coding_bound(max_error, volume.dtype)
    coded = sum(len(coded_brick(volume.read(box).astype(np.float32), bound)) for box in sampled)
    bytes_of_all = coded * volume.box.size / sum(box.size for box in sampled)
    is_kept_small = not is_smooth(volume, volume.box, int(bytes_of_all * SMOOTH_SHARE))
    size = bytes_of_all * (FIELD_SHARE if is_kept_small else SMOOTH_SHARE)
    return int(min(max(size, LEAST_FIELD_BYTES), default_size(volume)))


def code_residual(
    volume: Volume, field_values: Callable[[Box], Floats], max_error: float, t: int = 0
) -> tuple[Quality, dict[str, bytes]]:
    """What the field lacks, coded so that every voxel is within the bound; checked on every voxel.

    t: the step of a series.
    """
    tolerance = evaluation_tolerance(volume)
    bound = coding_bound(max_error, volume.dtype) - tolerance
    if bound <= 0:
        raise InvalidInput(
            f"The error bound {max_error} is too small: results on different machines differ by {tolerance:.2g}.",
            remedy=f"Use at least {2 * tolerance:.2g}, or store the volume with a lossless codec.",
        )
    sections = {}
    with progress.task("Coding the residual", total=math.prod(volume.shape), unit="voxels") as bar:
        for box in brick_boxes(volume.shape, RESIDUAL_BRICK):
            voxels = volume.read(box).astype(np.float64)
            lacks = (voxels - field_values(box)).astype(np.float32)
            exact = voxels.astype(np.float32)
            sections[section_name(box, t)] = coded_brick(lacks, bound, exact if np.array_equal(exact, voxels) else None)
            bar.advance(box.size)
    bricks = {box.start: box for box in brick_boxes(volume.shape, RESIDUAL_BRICK)}

    def read(box: Box) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
        values = field_values(box)
        for brick in bricks.values():
            shared = brick.intersect(box)
            if not shared.is_empty:
                data = sections[section_name(brick, t)]
                found = decoded_brick(data, brick.shape)[shared.relative_to(brick.start).slices]
                inside = shared.relative_to(box.start).slices
                values[inside] = found if replaces_field(data) else values[inside] + found
        return np.asarray(to_voxel_type(values, volume.dtype))

    quality = measure(volume, read)
    if not quality.max_error <= max_error:
        raise InvalidInput(
            f"The largest error is {quality.max_error:.3g}, above the bound {max_error:.3g}.",
            remedy="Use a larger bound.",
        )
    return quality, sections
