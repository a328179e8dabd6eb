"""Small neural fields with random parameters, for tests."""

from itertools import pairwise
from pathlib import Path

import numpy as np

from pellucid.box import Box, Shape
from pellucid.formats.neural_field.container import write_file
from pellucid.formats.neural_field.field import (
    Decoder,
    FeatureGrid,
    Floats,
    FourierFeatures,
    HashLevel,
    NeuralField,
)
from pellucid.formats.neural_field.neural_volume import NeuralVolume, PlacedField
from pellucid.formats.neural_field.residual import brick_boxes, coded_brick, section_name
from pellucid.formats.neural_field.stored_volume import Steps, to_sections

STEP = 1 / 64
"""Every parameter of a sample field is a whole number of these, so that a file holds it exactly."""


def numbers(random: np.random.Generator, *shape: int) -> Floats:
    return (np.rint(random.normal(size=shape) / STEP) * STEP).astype(np.float32)


def transform(random: np.random.Generator, *, is_rotated: bool = True) -> Floats:
    """Scale and position of a grid, and a little of everything else."""
    matrix = np.diag(random.uniform(0.7, 1.6, 3))
    if is_rotated:
        matrix = matrix + random.normal(size=(3, 3)) * 0.3
    return np.concatenate([matrix, random.uniform(-0.4, 0.4, (3, 1))], axis=1).astype(np.float32)


def grid(random: np.random.Generator, *shape: int, is_rotated: bool = True) -> FeatureGrid:
    return FeatureGrid(numbers(random, *shape), transform(random, is_rotated=is_rotated))


def decoder(random: np.random.Generator, *widths: int, activation: str = "relu") -> Decoder:
    pairs = pairwise(widths)
    return Decoder(tuple(numbers(random, rows, columns) * np.float32(0.5) for rows, columns in pairs), activation)


def mixed_field(seed: int = 0, *, is_rotated: bool = True, low: float = 0.0, high: float = 1.0) -> NeuralField:
    """Two grids, two hash levels (one with a row for every node) and two frequencies."""
    random = np.random.default_rng(seed)
    grids = (grid(random, 2, 3, 4, 5, is_rotated=is_rotated), grid(random, 1, 4, 3, 2, is_rotated=is_rotated))
    levels = (HashLevel(2, numbers(random, 27, 2)), HashLevel(5, numbers(random, 16, 1)))
    waves = FourierFeatures(numbers(random, 2, 3))
    network = decoder(random, 10, 8, 1, activation="snake")
    return NeuralField("mixed", network, grids, levels, waves, (low, high))


def plain_field(seed: int = 0, *, low: float = 0.0, high: float = 1.0) -> NeuralField:
    """One axis-aligned grid and a small decoder."""
    random = np.random.default_rng(seed)
    return NeuralField(
        "plain", decoder(random, 2, 4, 1), (grid(random, 2, 4, 5, 6, is_rotated=False),), value_range=(low, high)
    )


def whole_volume(field: NeuralField, shape: Shape, dtype: str = "float32") -> NeuralVolume:
    quality = {"psnr": 41.25}
    return NeuralVolume(shape, np.dtype(dtype), (PlacedField(Box.whole(shape), field),), quality=quality)


def steps(field: NeuralField) -> Steps:
    weights = (STEP / 2,) * len(field.decoder.weights)
    spline = (STEP,) if field.spline else ()
    return Steps((STEP,) * len(field.grids), (STEP,) * len(field.hash_levels), weights, spline)


def write_volume(
    path: Path,
    volume: NeuralVolume,
    truth: Floats | None = None,
    bound: float = 0.1,
    *,
    are_voxels_coded: bool = False,
) -> Path:
    """A file; with the true values, one that has a residual. are_voxels_coded: instead of it, where that is shorter."""
    header, sections = to_sections(volume, tuple(steps(placed.field) for placed in volume.fields))
    if truth is not None:
        values = volume.values(Box.whole(volume.shape))
        header["residual"] = {"bound": bound, "tolerance": 0.0, "brick": 8}
        for box in brick_boxes(volume.shape, 8):
            voxels = truth[box.slices] if are_voxels_coded else None
            sections[section_name(box)] = coded_brick(truth[box.slices] - values[box.slices], bound, voxels)
    write_file(path, header, sections)
    return path
