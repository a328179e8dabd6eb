"""Filters: their taps, their response, and filtering on a device against the definition."""

from collections.abc import Callable

import numpy as np
import pytest

from pellucid.device import Device, primitives
from pellucid.errors import InvalidInput
from pellucid.tomo.methods.filters import FILTERS, filter_sinograms, padded_length, response, taps
from pellucid.tomo.reference.projection import continue_rows, extend_rows, filter_rows
from pellucid.tomo.scan import Floats

WINDOWS: dict[str, Callable[[Floats], Floats]] = {
    "ramachandran": lambda f: 1 + 0 * f,
    "shepp-logan": lambda f: np.sinc(1 * f),
    "chesler": lambda f: (1 + np.cos(2 * np.pi * f)) / 2,
    "hann": lambda f: (1 + np.cos(2 * np.pi * f)) / 2,
    "hamming": lambda f: 0.54 + 0.46 * np.cos(2 * np.pi * f),
    "cosine": lambda f: np.cos(np.pi * f),
    "parzen": lambda f: np.where(f <= 0.25, 1 - 6 * (2 * f) ** 2 * (1 - 2 * f), 2 * (1 - 2 * f) ** 3),
}


def test_cheslers_taps_are_the_published_ones() -> None:
    n = np.arange(1, 9, dtype=np.float64)
    found = taps("chesler", 9)
    odd = -1 / (2 * np.pi**2 * n**2)
    even = -(n**2 + 1) / (2 * np.pi**2 * (np.where(n == 1, 2, n) ** 2 - 1) ** 2)
    expected = np.where(n % 2 == 1, odd, even)
    expected[0] = 1 / 16 - 1 / (2 * np.pi**2)
    assert found[0] == pytest.approx(1 / 8 - 1 / (2 * np.pi**2), abs=1e-15)
    np.testing.assert_allclose(found[1:], expected, atol=1e-15)


def test_shepp_logan_and_ramachandran() -> None:
    np.testing.assert_allclose(taps("ramachandran", 4), [0.25, -1 / np.pi**2, 0, -1 / (9 * np.pi**2)], atol=1e-16)
    np.testing.assert_allclose(taps("shepp-logan", 2), [2 / np.pi**2, -2 / (3 * np.pi**2)], atol=1e-16)


@pytest.mark.parametrize("name", FILTERS)
def test_the_response_is_the_windowed_ramp(name: str) -> None:
    length = 4096
    frequency = np.arange(length // 2 + 1) / length
    np.testing.assert_allclose(response(name, length), frequency * WINDOWS[name](frequency), atol=2.5e-4)
    assert response(name, length)[0] > 0  # The level of the picture is in it.


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("padding", ["none", "edge", "auto"])
def test_filtering_is_its_definition(name: str, padding: str, device: Device) -> None:
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((2, 5, 61)).astype(np.float32)
    room = primitives(device)
    found = room.to_host(filter_sinograms(room.to_device(rows), name, padding=padding, device=device))
    for sinogram, filtered in zip(rows, found, strict=True):
        wide = {"none": sinogram, "edge": extend_rows(sinogram), "auto": continue_rows(sinogram, 4, 0.75)}[padding]
        start = (wide.shape[1] - 61) // 2
        expected = filter_rows(wide, taps(name, wide.shape[1]))[:, start : start + 61]
        np.testing.assert_allclose(filtered, expected, atol=2e-6)


def test_each_slice_is_judged_by_itself(device: Device) -> None:
    inside = np.zeros((1, 4, 64), np.float32)
    inside[:, :, 20:40] = 1
    cut = np.ones((1, 4, 64), np.float32)
    room = primitives(device)
    both = room.to_host(filter_sinograms(room.to_device(np.concatenate([inside, cut])), "ramachandran", device=device))
    for sinogram, padding, found in ((inside, "none", both[0]), (cut, "auto", both[1])):
        alone = room.to_host(filter_sinograms(room.to_device(sinogram), "ramachandran", padding=padding, device=device))
        np.testing.assert_allclose(found, alone[0], atol=1e-6)


def test_transforms_are_long_enough_and_even() -> None:
    for columns in (1, 7, 61, 640, 1023, 2048):
        for padding, times in (("none", 2), ("edge", 3)):
            length = padded_length(columns, padding)
            assert length % 2 == 0
            assert length >= times * columns - 2


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"Unknown filter 'ram-lak'.*ramachandran, shepp-logan, chesler"):
        taps("ram-lak", 4)
    with pytest.raises(InvalidInput, match=r"Unknown padding 'mirror'.*auto, none, edge"):
        padded_length(8, "mirror")
