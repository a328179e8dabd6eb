"""What every device must do: a launch and each primitive give what NumPy gives.

A device passes by subclassing DeviceContract with a ``device`` fixture.
"""

from typing import Any

import numpy as np
import pytest

from pellucid.device import Device, Primitives, launch, primitives
from tests.contracts import device_kernels as kernels

Voxels = np.ndarray[Any, Any]


def noise(*shape: int, dtype: Any = np.float32) -> Voxels:
    values = np.random.default_rng(7).normal(scale=1000.0, size=shape)
    return values.astype(dtype)


class DeviceContract:
    """Every test takes the device from the subclass."""

    @pytest.fixture
    def math(self, device: Device) -> Primitives:
        return primitives(device)

    def test_memory_is_plausible(self, device: Device) -> None:
        assert device.total_bytes > 2**28
        assert 0 < device.free_bytes() <= device.total_bytes

    def test_there_and_back(self, math: Primitives) -> None:
        values = noise(3, 4, 5)
        assert np.array_equal(math.to_host(math.to_device(values)), values)
        assert math.to_host(math.zeros((2, 3), np.int16)).tolist() == [[0, 0, 0], [0, 0, 0]]
        empty = math.empty((2, 3), np.float64)
        assert (tuple(empty.shape), empty.dtype) == ((2, 3), np.float64)

    # Launches

    @pytest.mark.parametrize("shape", [(1, 1), (7, 3), (257, 129), (100_000, 1), (1, 100_000)])
    def test_launch_reaches_every_index_once(self, device: Device, math: Primitives, shape: tuple[int, int]) -> None:
        counts = math.zeros(shape, np.int32)
        launch(kernels.count, shape, outputs=[counts], device=device)
        launch(kernels.count, shape, outputs=[counts], device=device)
        expected = 2 * (np.arange(shape[0])[:, None] * 3 + np.arange(shape[1]) + 1)
        assert np.array_equal(math.to_host(counts), expected.astype(np.int32))

    def test_launch_of_nothing(self, device: Device, math: Primitives) -> None:
        counts = math.zeros((1, 1), np.int32)
        launch(kernels.count, (0, 5), outputs=[counts], device=device)
        assert math.to_host(counts).tolist() == [[0]]

    def test_launch_with_inputs_and_a_scalar(self, device: Device, math: Primitives) -> None:
        values = noise(5000)
        out = math.empty(values.shape, np.float32)
        launch(kernels.scale, len(values), [math.to_device(values), 2.0], [out], device, block_dim=64)
        assert np.array_equal(math.to_host(out), values * np.float32(2.0))

    def test_launch_in_three_axes(self, device: Device, math: Primitives) -> None:
        shape = (20, 30, 40)
        out = math.empty(shape, np.int32)
        launch(kernels.number, shape, outputs=[out], device=device)
        assert np.array_equal(math.to_host(out), np.arange(24_000, dtype=np.int32).reshape(shape))

    def test_launch_and_primitives_follow_one_another(self, device: Device, math: Primitives) -> None:
        values = noise(1 << 16)
        scaled = math.empty(values.shape, np.float32)
        launch(kernels.scale, len(values), [math.to_device(values), 0.5], [scaled], device)
        ordered = math.sort(scaled)
        launch(kernels.scale, len(values), [ordered, 4.0], [scaled], device)
        assert np.array_equal(math.to_host(scaled), np.sort(values) * np.float32(2.0))

    # Transforms

    @pytest.mark.parametrize("axes", [(-1,), (0,), (1, 2), (0, 1, 2)])
    def test_fft(self, math: Primitives, axes: tuple[int, ...]) -> None:
        values = noise(6, 7, 8) + 1j * noise(6, 7, 8)[::-1]
        values = values.astype(np.complex64)
        there = math.fft(math.to_device(values), axes)
        assert there.dtype == np.complex64
        expected = np.fft.fftn(values.astype(np.complex128), axes=axes)
        assert np.allclose(math.to_host(there), expected, rtol=0, atol=1e-6 * np.abs(expected).max())
        back = math.to_host(math.ifft(there, axes))
        assert np.allclose(back, values, rtol=0, atol=1e-6 * np.abs(values).max())

    @pytest.mark.parametrize("length", [8, 9])
    @pytest.mark.parametrize("axes", [(-1,), (0, 2)])
    def test_rfft(self, math: Primitives, length: int, axes: tuple[int, ...]) -> None:
        values = noise(4, 5, length)
        there = math.rfft(math.to_device(values), axes)
        assert there.dtype == np.complex64
        expected = np.fft.rfftn(values.astype(np.float64), axes=axes)
        assert np.allclose(math.to_host(there), expected, rtol=0, atol=1e-6 * np.abs(expected).max())
        back = math.irfft(there, [values.shape[axis] for axis in axes], axes)
        assert back.dtype == np.float32
        assert np.allclose(math.to_host(back), values, rtol=0, atol=1e-6 * np.abs(values).max())

    def test_fft_of_other_types(self, math: Primitives) -> None:
        double = math.rfft(math.to_device(noise(12, dtype=np.float64)))
        assert double.dtype == np.complex128
        assert np.allclose(math.to_host(double), np.fft.rfft(noise(12, dtype=np.float64)), rtol=1e-12)
        half = math.rfft(math.to_device(np.arange(12, dtype=np.float16)))
        assert half.dtype == np.complex64
        assert np.allclose(math.to_host(half), np.fft.rfft(np.arange(12.0)), atol=1e-4)

    # Sorting

    @pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.float32, np.float64])
    def test_sort(self, math: Primitives, dtype: Any) -> None:
        values = noise(5, 2000, dtype=np.int64).astype(dtype)
        before = values.copy()
        for axis in (-1, 0):
            assert np.array_equal(math.to_host(math.sort(math.to_device(values), axis)), np.sort(values, axis))
        assert np.array_equal(values, before)

    def test_sort_of_many(self, math: Primitives) -> None:
        values = noise(300_001)
        values[::1000] = np.nan
        assert math.to_host(math.sort(math.to_device(values))).tobytes() == np.sort(values).tobytes()
        keys = np.round(values / 100)
        order = math.to_host(math.argsort(math.to_device(keys)))
        assert np.array_equal(order, np.argsort(keys, kind="stable"))

    def test_sort_puts_nan_last(self, math: Primitives) -> None:
        values = np.array([np.nan, 2.0, -np.inf, np.inf, 1.0], np.float32)
        assert math.to_host(math.sort(math.to_device(values)))[:4].tolist() == [-np.inf, 1.0, 2.0, np.inf]

    @pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32])
    def test_argsort_keeps_the_order_of_equals(self, math: Primitives, dtype: Any) -> None:
        keys = np.random.default_rng(3).integers(0, 10, 3000).astype(dtype)
        order = math.to_host(math.argsort(math.to_device(keys)))
        assert order.dtype == np.int64
        assert np.array_equal(order, np.argsort(keys, kind="stable"))

    # Prefix sums

    @pytest.mark.parametrize("length", [0, 1, 1000, 65536, 200_001])
    @pytest.mark.parametrize(("dtype", "summed"), [(np.int32, np.int64), (np.uint8, np.uint64), (bool, np.int64)])
    def test_scan_of_integers(self, math: Primitives, length: int, dtype: Any, summed: Any) -> None:
        values = np.random.default_rng(5).integers(0, 2**31 - 1, length).astype(dtype)
        expected = np.cumsum(values, dtype=summed)
        inclusive = math.to_host(math.scan(math.to_device(values)))
        assert inclusive.dtype == summed
        assert np.array_equal(inclusive, expected)
        exclusive = math.to_host(math.scan(math.to_device(values), exclusive=True))
        assert np.array_equal(exclusive, expected - values)

    def test_scan_of_floats_is_double(self, math: Primitives) -> None:
        values = np.full(200_000, 0.1, np.float32)
        sums = math.to_host(math.scan(math.to_device(values)))
        assert sums.dtype == np.float64
        assert np.allclose(sums, np.arange(1, 200_001) * float(np.float32(0.1)), rtol=1e-12)
