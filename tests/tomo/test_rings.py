"""Ring removal on every device is what its definition says, agrees with algotom, and removes rings."""

import numpy as np
import pytest

from pellucid.device import Device, primitives
from pellucid.errors import InvalidInput
from pellucid.tomo.correction import rings
from pellucid.tomo.correction.ring_filters import wavelet_taps
from pellucid.tomo.correction.rings import METHODS, RingSettings, remove_rings
from pellucid.tomo.reference import rings as reference
from tests.tomo.stripes import Sinogram, clean, striped

VO = {
    "vo-sorting": lambda one: reference.remove_sorting(one, 21),
    "vo-large": lambda one: reference.remove_large(one, 3.0, 51),
    "vo-dead": lambda one: reference.remove_dead(one, 3.0, 51),
    "vo-all": lambda one: reference.remove_all(one, 3.0, 51, 21),
}


def without_rings(sinograms: Sinogram, settings: RingSettings, device: Device) -> Sinogram:
    room = primitives(device)
    return room.to_host(remove_rings(room.to_device(sinograms), settings, device))


def example() -> Sinogram:
    return np.stack([striped(clean(seed=seed), seed)[0] for seed in range(3)])


@pytest.mark.parametrize("method", VO)
def test_vo_is_its_definition(method: str, device: Device) -> None:
    stack = example()
    found = without_rings(stack, RingSettings(method, large_size=51, small_size=21), device)
    for one, wanted in zip(found, stack, strict=True):
        np.testing.assert_allclose(one, VO[method](wanted.astype(np.float64)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [1, 3, 31, 33, 127])
def test_windows_of_every_size(size: int, device: Device) -> None:
    stack = example()[:1, :70, :90]
    found = without_rings(stack, RingSettings("vo-sorting", small_size=size), device)
    np.testing.assert_array_equal(found[0], reference.remove_sorting(stack[0], size))


def test_equal_values_and_negative_ones_keep_their_order(device: Device) -> None:
    stack = np.random.default_rng(0).integers(-3, 4, (2, 600, 40)).astype(np.float32)
    found = without_rings(stack, RingSettings("vo-sorting", small_size=5), device)
    for one, wanted in zip(found, stack, strict=True):
        np.testing.assert_array_equal(one, reference.remove_sorting(wanted, 5))


@pytest.mark.parametrize("method", METHODS[1:])
def test_rings_go_and_the_sample_stays(method: str, device: Device) -> None:
    before = clean()
    wrong, _ = striped(before)
    found = without_rings(wrong[None], RingSettings(method), device)[0]
    assert roughness(found - before) < 0.4 * roughness(wrong - before)


def roughness(error: Sinogram) -> float:
    """How much what every view has in common changes from column to column: that is what rings are."""
    return float(np.abs(np.diff(error.mean(axis=0))).mean())


def test_slices_do_not_touch_each_other(device: Device) -> None:
    stack = example()
    settings = RingSettings("vo-all")
    np.testing.assert_array_equal(
        without_rings(stack[1:2], settings, device)[0], without_rings(stack, settings, device)[1]
    )


def test_wavelets_are_orthogonal() -> None:
    scaling, wavelet = wavelet_taps(5).astype(np.float64)
    for shift in range(0, 10, 2):
        assert scaling[shift:] @ scaling[: 10 - shift] == pytest.approx(float(shift == 0), abs=1e-6)
        assert scaling[shift:] @ wavelet[: 10 - shift] == pytest.approx(0, abs=1e-6)
    assert scaling[0] == pytest.approx(0.160102, abs=1e-5)  # db5, as tables print it


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Unknown ring removal 'magic'"):
        RingSettings("magic")
    with pytest.raises(InvalidInput, match="median size of 20 columns"):
        RingSettings(small_size=20)


def test_more_views_than_a_card_sorts_by_itself(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    one, _ = striped(clean())
    usual = without_rings(one[None], RingSettings("vo-all"), device)
    monkeypatch.setattr(rings, "MAX_SORT", 16)
    np.testing.assert_array_equal(without_rings(one[None], RingSettings("vo-all"), device), usual)


def test_as_algotom_does_it(device: Device) -> None:
    removal = pytest.importorskip("algotom.prep.removal")  # here: it compiles at import

    one, _ = striped(clean())
    found = without_rings(one[None], RingSettings("vo-all", large_size=51, small_size=21), device)[0]
    np.testing.assert_allclose(found, removal.remove_all_stripe(one, 3.0, 51, 21), atol=2e-3)
    np.testing.assert_allclose(
        without_rings(one[None], RingSettings("vo-sorting", small_size=21), device)[0],
        removal.remove_stripe_based_sorting(one, 21, dim=1),
        atol=2e-3,
    )
