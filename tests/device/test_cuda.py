"""A CUDA card passes the device contract, and agrees with the CPU."""

import numpy as np
import pytest

from pellucid.device import Device, choose, devices, launch, primitives, synchronize
from tests.contracts import device_kernels as kernels
from tests.contracts.device import DeviceContract

pytestmark = pytest.mark.gpu


@pytest.fixture
def device() -> Device:
    if not any(device.is_cuda for device in devices()):
        pytest.skip("needs a CUDA device")
    return choose("cuda")


class TestCuda(DeviceContract):
    @pytest.fixture
    def device(self, device: Device) -> Device:
        return device


def test_automatic_choice_is_the_card(device: Device) -> None:
    assert choose("auto") == device
    assert device.name == "cuda:0"
    assert device.kind == "cuda"


def test_free_memory_falls_with_an_allocation(device: Device) -> None:
    import warp as wp

    synchronize(device)
    before = device.free_bytes()
    array = wp.empty(2**30, dtype=wp.uint8, device=device.name)
    assert before - device.free_bytes() >= 2**29
    del array


def test_warp_arrays_are_read_in_place(device: Device) -> None:
    import warp as wp

    math = primitives(device)
    values = np.arange(10, dtype=np.float32)
    array = wp.array(values, device=device.name)
    assert np.array_equal(math.to_host(math.sort(array)), values)
    assert math.to_host(math.scan(array))[-1] == 45.0


def test_more_than_32_bits_of_threads(device: Device) -> None:
    import warp as wp

    rows, columns = 70_000, 65_536
    out = wp.empty((rows, columns), dtype=wp.uint8, device=device.name)
    launch(kernels.mark, (rows, columns), outputs=[out], device=device)
    math = primitives(device)
    assert math.to_host(math.scan(out[rows - 1]))[-1] == columns
    assert math.to_host(math.scan(out[0]))[-1] == columns
