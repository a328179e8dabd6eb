"""A CUDA card passes the device contract, and agrees with the CPU."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pellucid.device import Device, choose, devices, launch, primitives, synchronize
from pellucid.formats.protocol import Voxels
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


@pytest.mark.parametrize("shape", [(70, 300, 1000), (3, 3000, 3001)], ids=["many rows", "rows longer than a piece"])
def test_large_arrays_there_and_back(device: Device, shape: tuple[int, int, int]) -> None:
    math = primitives(device)
    wide = np.random.default_rng(0).random((shape[0], shape[1] + 5, shape[2]), np.float32)
    part = wide[:, 5:]  # With gaps between its rows.
    there = math.to_device(part)
    assert np.array_equal(math.to_host(there), part)
    out = np.zeros_like(wide)
    assert math.to_host(there, out=out[:, 5:]).base is out
    assert np.array_equal(out[:, 5:], part) and not out[:, :5].any()


FIRST_LOOKS = """
import numpy as np
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from pellucid.device import choose, primitives
device, ready = choose("cuda"), Barrier(16)
room = primitives(device)
def look(number):
    ready.wait()
    device.free_bytes()
    return int(room.to_host(room.to_device(np.full(3, number)))[0])
with ThreadPoolExecutor(16) as pool:
    print(sum(pool.map(look, range(16))))
"""


def test_many_threads_may_be_the_first_to_use_a_card(device: Device) -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_LOOKS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "120"), done.stderr


def test_large_copies_by_many_threads_beside_kernels(device: Device) -> None:
    math = primitives(device)
    arrays = [np.full(2**23, number, np.float32) for number in range(12)]

    def doubled(array: Voxels) -> Voxels:
        there = math.to_device(array)
        launch(kernels.scale, there.shape, inputs=[there, 2.0], outputs=[there], device=device)
        return math.to_host(there)

    with ThreadPoolExecutor(6) as pool:
        for number, back in enumerate(pool.map(doubled, arrays)):
            assert (back == 2 * number).all()
