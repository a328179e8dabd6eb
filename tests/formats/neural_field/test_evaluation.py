"""Evaluation of neural fields against PyTorch's sampler, and against definitions point by point."""

from math import floor

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.formats.neural_field.evaluation import (
    decode,
    encode,
    grid_features,
    hash_features,
    values_at,
    values_on,
)
from pellucid.formats.neural_field.field import FeatureGrid, Floats, HashLevel, NeuralField
from tests.formats.neural_field.sample_fields import decoder, grid, mixed_field, numbers, plain_field

seeds = st.integers(0, 2**32 - 1)
sides = st.integers(1, 6)


def points(random: np.random.Generator, count: int = 50) -> Floats:
    return random.uniform(-1, 1, (count, 3)).astype(np.float32)


def torch_features(one: FeatureGrid, at: Floats) -> Floats:
    local = at @ one.transform[:, :3].T + one.transform[:, 3]
    sampled = torch.nn.functional.grid_sample(
        torch.from_numpy(one.features)[None],
        torch.from_numpy(local.astype(np.float32))[None, None, None],
        mode="bilinear",
        padding_mode="zeros",
        align_corners=True,
    )
    return np.asarray(sampled[0, :, 0, 0].T.numpy())


@given(seeds, st.integers(1, 3), sides, sides, sides, st.booleans())
@settings(max_examples=60, deadline=None)
def test_grids_are_sampled_as_pytorch_does(seed: int, f: int, z: int, y: int, x: int, is_rotated: bool) -> None:
    random = np.random.default_rng(seed)
    one, at = grid(random, f, z, y, x, is_rotated=is_rotated), points(random)
    np.testing.assert_allclose(grid_features(one, at), torch_features(one, at), atol=2e-5)


def test_a_grid_fades_to_zero_over_one_cell() -> None:
    one = FeatureGrid(np.ones((1, 3, 3, 3), np.float32), np.eye(3, 4, dtype=np.float32) * 2)
    at = np.array([[0, 0, 0], [0.5, 0, 0], [0.75, 0, 0], [1, 0, 0]], np.float32)
    np.testing.assert_allclose(grid_features(one, at)[:, 0], [1, 1, 0.5, 0], atol=1e-6)


def hashed_row(level: HashLevel, x: int, y: int, z: int) -> int:
    side = level.resolution + 1
    if side**3 <= len(level.table):
        return x + side * (y + side * z)
    return (x ^ (y * 2654435761 % 2**32) ^ (z * 805459861 % 2**32)) % len(level.table)


def hashed_feature(level: HashLevel, at: Floats) -> Floats:
    position = [min((float(n) + 1) / 2 * level.resolution, level.resolution) for n in at]
    cell = [min(floor(n), level.resolution - 1) for n in position]
    feature = np.zeros(level.width)
    for corner in np.ndindex(2, 2, 2):
        share = np.prod([p - c if up else 1 - (p - c) for p, c, up in zip(position, cell, corner, strict=True)])
        x, y, z = (c + up for c, up in zip(cell, corner, strict=True))
        feature += share * level.table[hashed_row(level, x, y, z)]
    return feature.astype(np.float32)


@given(seeds, st.integers(1, 40), st.integers(1, 80), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_hash_grids_by_their_definition(seed: int, resolution: int, rows: int, width: int) -> None:
    random = np.random.default_rng(seed)
    level = HashLevel(resolution, numbers(random, rows, width))
    at = np.concatenate([points(random, 8), [[1, 1, 1], [-1, -1, -1]]]).astype(np.float32)
    expected = np.array([hashed_feature(level, one) for one in at])
    np.testing.assert_allclose(hash_features(level, at), expected, atol=1e-4)


def test_features_are_joined_in_order() -> None:
    field, at = mixed_field(), points(np.random.default_rng(1))
    waves = np.pi * at @ field.fourier.frequencies.T if field.fourier else np.zeros((len(at), 0))
    parts = [torch_features(one, at) for one in field.grids]
    parts += [np.array([hashed_feature(level, one) for one in at]) for level in field.hash_levels]
    expected = np.concatenate([*parts, np.sin(waves), np.cos(waves)], axis=1)
    assert field.width == expected.shape[1] == 10
    np.testing.assert_allclose(encode(field, at), expected, atol=1e-5)


@given(seeds, st.sampled_from(["relu", "snake"]))
@settings(max_examples=20, deadline=None)
def test_the_decoder_is_a_network_without_biases(seed: int, activation: str) -> None:
    random = np.random.default_rng(seed)
    network = decoder(random, 5, 7, 3, 1, activation=activation)
    field = NeuralField("bare", network, value_range=(-2.0, 6.0))
    features = random.normal(size=(9, 5)).astype(np.float32)
    expected = torch.from_numpy(features)
    *hidden, last = (torch.from_numpy(weights) for weights in network.weights)
    for weights in hidden:
        expected = expected @ weights
        expected = torch.relu(expected) if activation == "relu" else expected + torch.sin(expected) ** 2
    np.testing.assert_allclose(decode(field, features.copy()), (expected @ last)[:, 0] * 8 - 2, rtol=1e-4, atol=1e-4)


@given(seeds, st.booleans(), st.integers(1, 7), st.integers(1, 7), st.integers(1, 7))
@settings(max_examples=30, deadline=None)
def test_a_lattice_has_the_values_of_its_points(seed: int, is_rotated: bool, z: int, y: int, x: int) -> None:
    random = np.random.default_rng(seed)
    axes = tuple(np.sort(random.uniform(-1, 1, n)).astype(np.float32) for n in (z, y, x))
    mesh = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)[..., ::-1].reshape(-1, 3)
    for field in (mixed_field(seed, is_rotated=is_rotated), plain_field(seed)):
        found = values_on(field, (axes[0], axes[1], axes[2]))
        np.testing.assert_allclose(found, values_at(field, mesh).reshape(z, y, x), atol=1e-4)


def test_many_points_are_evaluated_in_parts() -> None:
    field = plain_field()
    at = points(np.random.default_rng(0), 70_000)
    np.testing.assert_array_equal(values_at(field, at)[-500:], values_at(field, at[-500:]))
