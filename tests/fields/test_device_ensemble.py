"""Ensembles, hash grids, waves and residuals decoded on a device have the values of their definition."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.box import Box, Shape, triple
from pellucid.device import Device, choose, devices
from pellucid.fields.kinds import FieldRoom, make_field
from pellucid.fields.neural.device_ensemble import DeviceEnsemble, is_supported
from pellucid.fields.neural.neural_bricks import NeuralBrickField, NeuralBricks
from pellucid.formats.neural_field.field import FourierFeatures, HashLevel, NeuralField
from pellucid.formats.neural_field.neural_volume import NeuralVolume, PlacedField
from pellucid.neural.lattice import brick_lattice
from pellucid.volume.volume import Volume, open_volume
from tests.formats.neural_field.sample_fields import decoder, grid, mixed_field, numbers, whole_volume, write_volume

OFF = 2e-3
"""Relative to the range: kernels use fast sines, and positions of float32."""


@pytest.fixture(scope="module", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Device:
    if request.param == "cuda" and not any(found.is_cuda for found in devices()):
        pytest.skip("needs a CUDA device")
    return choose(request.param)


def hash_field(seed: int, low: float = 0.0, high: float = 1.0) -> NeuralField:
    """Levels like those of NGP: rows for all nodes in the first ones, hashed ones after them."""
    random = np.random.default_rng(seed)
    levels = tuple(HashLevel(n, numbers(random, min(256, (n + 1) ** 3), 2)) for n in (3, 5, 9, 17, 63))
    return NeuralField("ngp", decoder(random, 10, 64, 64, 1), (), levels, None, (low, high))


def wave_field(seed: int, low: float = 0.0, high: float = 1.0) -> NeuralField:
    """A latent grid and waves, as fV-SRN has."""
    random = np.random.default_rng(seed)
    waves = FourierFeatures(np.repeat(2.0 ** np.arange(4), 3).reshape(4, 3).astype(np.float32))
    network = decoder(random, 12, 32, 32, 1, activation="snake")
    return NeuralField("fvsrn", network, (grid(random, 4, 5, 6, 7),), (), waves, (low, high))


FIELDS: dict[str, Callable[..., NeuralField]] = {"mixed": mixed_field, "ngp": hash_field, "fvsrn": wave_field}


def ensemble(shape: Shape, counts: Shape, ghost: int, kinds: list[str]) -> NeuralVolume:
    """A model for every brick, of different kinds."""
    blocks = brick_lattice(shape, counts, ghost)
    fields = [
        PlacedField(block.outer, FIELDS[kinds[n % len(kinds)]](n, low=-1.0, high=3.0)) for n, block in enumerate(blocks)
    ]
    return NeuralVolume(shape, np.dtype("float32"), tuple(fields))


def bricks_of(volume: Volume, model: Any, level: int) -> tuple[Any, Any]:
    """All bricks of a level as they are decoded, and their places."""
    source = NeuralBricks(volume, model)
    places = np.array(list(np.ndindex(source.levels[level].bricks)))
    filled = source.fill(level, places)
    words = filled.voxels if isinstance(filled.voxels, np.ndarray) else filled.voxels.numpy()
    return words.reshape(len(places), -1).view(volume.dtype).reshape(-1, 36, 36, 36), places


def in_bricks(volume: Volume, device: Device) -> NeuralBrickField:
    """What is made of a volume on a GPU; on the CPU the same, which is only tested there."""
    assert volume.neural is not None
    drawn = make_field(volume, FieldRoom(device, 1 << 30))
    if not device.is_cuda:
        assert not isinstance(drawn, NeuralBrickField), "the reader is faster"
        drawn.close()
        fields, residual = volume.neural
        drawn = NeuralBrickField(volume, device, 1 << 30, DeviceEnsemble(fields, device, residual))
    assert isinstance(drawn, NeuralBrickField) and isinstance(drawn.model, DeviceEnsemble)
    assert not drawn.is_drawn_directly
    return drawn


def assert_bricks(bricks: Any, places: Any, truth: Any, off: float) -> None:
    padded = np.pad(truth.astype(float), [(2, 40)] * 3, mode="edge")
    for brick, (z, y, x) in zip(bricks, places * 32, strict=True):
        assert np.abs(brick.astype(float) - padded[z : z + 36, y : y + 36, x : x + 36]).max() <= off


@pytest.mark.parametrize("kind", ["mixed", "ngp", "fvsrn"])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_every_encoding(device: Device, tmp_path: Path, kind: str, dtype: str) -> None:
    stored = whole_volume(FIELDS[kind](4, low=0.0, high=100.0), (70, 40, 45), dtype)
    with open_volume(write_volume(tmp_path / "a.plf", stored)) as volume:
        assert volume.neural is not None and is_supported(volume.neural[0])
        model = DeviceEnsemble(volume.neural[0], device)
        truth = volume.read().astype(float)
        for level in (0, 1):
            at_level = truth if level == 0 else volume.at_level(level).read()
            off = OFF * max(100.0, float(np.ptp(truth))) + (1.0 if dtype == "uint8" else 0.0)
            assert_bricks(*bricks_of(volume, model, level), at_level, off)


@settings(max_examples=12)
@given(
    shape=st.tuples(*[st.integers(24, 80)] * 3),
    counts=st.tuples(*[st.integers(1, 3)] * 3),
    ghost=st.integers(0, 4),
    kinds=st.lists(st.sampled_from(["mixed", "ngp", "fvsrn"]), min_size=1, max_size=3),
    level=st.integers(0, 1),
)
def test_ensembles_blend_as_they_are_defined(
    device: Device, shape: Shape, counts: Shape, ghost: int, kinds: list[str], level: int
) -> None:
    stored = ensemble(shape, counts, ghost, kinds)
    volume = Volume.from_array(np.zeros(shape, np.float32))
    source = NeuralBricks(volume, DeviceEnsemble(stored, device))
    if level >= len(source.levels) or set(source.levels[level].halvings) != {level}:
        return
    bricks, places = bricks_of(volume, DeviceEnsemble(stored, device), level)
    coarse = triple(-(-n // (1 << level)) for n in shape)
    truth = stored.values(Box.whole(coarse), level)
    assert_bricks(bricks, places, truth, OFF * max(4.0, float(np.ptp(truth))))


def test_a_residual_is_added_at_the_full_resolution(device: Device, tmp_path: Path) -> None:
    shape = (45, 40, 70)
    stored = ensemble(shape, (1, 1, 2), 3, ["ngp"])
    values = stored.values(Box.whole(shape))
    truth = (values + np.random.default_rng(0).normal(0, 0.5, shape)).astype(np.float32)
    with open_volume(write_volume(tmp_path / "a.plf", stored, truth, 0.05)) as volume:
        drawn = in_bricks(volume, device)
        for level, bound in ((0, 0.06), (1, None)):
            bricks, places = bricks_of(volume, drawn.model, level)
            assert_bricks(bricks, places, volume.at_level(level).read(), OFF * float(np.ptp(truth)))
            if bound is not None:
                assert_bricks(bricks, places, truth, bound)
        drawn.close()


def test_wide_networks_are_left_to_the_cpu() -> None:
    random = np.random.default_rng(0)
    wide = NeuralField("wide", decoder(random, 2, 65, 1), (grid(random, 2, 3, 3, 3),))
    many = NeuralField("many", decoder(random, 130, 8, 1), tuple(grid(random, 1, 2, 2, 2) for _ in range(130)))
    for field in (wide, many):
        assert not is_supported(whole_volume(field, (9, 9, 9)))
