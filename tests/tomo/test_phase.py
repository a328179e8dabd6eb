"""Paganin's filter is its definition on every device, in the units of others too; zingers go and nothing else does."""

import numpy as np
import pytest

from pellucid.device import Device, primitives
from pellucid.errors import InvalidInput
from pellucid.tomo.correction.phase import Paganin, retrieve
from pellucid.tomo.correction.zingers import remove_zingers
from pellucid.tomo.reference import steps as reference
from tests.tomo.stripes import clean

SETTINGS = Paganin(energy_kev=20, distance_mm=50, pixel_size_um=3.0, delta_over_beta=300)


def test_it_is_its_definition(device: Device) -> None:
    room = primitives(device)
    frames = np.random.default_rng(0).uniform(0.2, 1, (2, 41, 70)).astype(np.float32)
    found = room.to_host(retrieve(room.to_device(frames), SETTINGS, device))
    wanted = reference.paganin(frames, SETTINGS.strength, SETTINGS.pad_px)
    np.testing.assert_allclose(found, wanted, atol=2e-5)


def test_an_even_frame_keeps_its_attenuation(device: Device) -> None:
    room = primitives(device)
    even = np.full((1, 30, 64), np.exp(-0.7), np.float32)
    np.testing.assert_allclose(room.to_host(retrieve(room.to_device(even), SETTINGS, device)), 0.7, atol=1e-5)


def test_the_smoothing_radius_is_the_decay_of_an_edge() -> None:
    """A step in transmission becomes half a step minus exp(-x / radius) / 2: the response along one axis."""
    settings = Paganin(energy_kev=20, distance_mm=100, pixel_size_um=1.0, delta_over_beta=80)
    step = np.where(np.arange(400) < 200, 1.0, 0.5) * np.ones((1, 8, 1))
    smooth = np.exp(-reference.paganin(step, settings.strength, settings.pad_px))[0, 4]
    x = np.arange(200, 240) + 0.5 - 200
    np.testing.assert_allclose(smooth[200:240], 0.5 + 0.25 * np.exp(-x / settings.radius_px), atol=1e-3)


def test_the_formulas_of_others_are_the_same() -> None:
    cycles = np.linspace(0, 0.5, 20)
    ours = 1 / (1 + SETTINGS.strength * (2 * np.pi * cycles) ** 2)
    ratio = (2 * np.pi) ** 2 * SETTINGS.strength
    np.testing.assert_allclose(ours, 1 / (1 + ratio * cycles**2))
    # With frequencies in cycles per cm: 1 / (λ z w² / 4π + α), made 1 at w = 0, for α = (β/δ) / (2π)².
    wavelength_cm, distance_cm = 1.239841984e-7 / 20, 5.0
    alpha, w = 1 / 300 / (2 * np.pi) ** 2, cycles / 3e-4
    np.testing.assert_allclose(ours, alpha / (wavelength_cm * distance_cm * w**2 / (4 * np.pi) + alpha))


def test_a_filter_wider_than_the_frame_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"smooths over .* pixels, but a frame is only 64 wide"):
        retrieve(np.ones((1, 8, 64), np.float32), Paganin(20, 5000, 0.5, 1000))
    with pytest.raises(InvalidInput, match="above 0"):
        Paganin(20, 0, 1, 100)


@pytest.mark.parametrize("size", [3, 5])
def test_zingers_go_and_nothing_else_does(size: int, device: Device) -> None:
    room = primitives(device)
    before = np.stack([clean(60, 90, seed) for seed in range(2)])
    struck = before.copy()
    places = np.random.default_rng(5).integers(0, (2, 60, 90), (40, 3))
    struck[tuple(places.T)] -= 1.5
    cleaned, count = remove_zingers(room.to_device(struck), 0.2, size, device)
    found = room.to_host(cleaned)
    for one, wanted in zip(found, struck, strict=True):
        np.testing.assert_allclose(one, reference.remove_zingers(wanted, size, 0.2), atol=1e-6)
    assert count == len(np.unique(places, axis=0)) == int((found != struck).sum())
    with pytest.raises(InvalidInput, match="Invalid zinger filter"):
        remove_zingers(struck, 0.2, 4)
