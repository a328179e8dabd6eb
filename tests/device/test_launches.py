"""Launches on the CPU: bands, threads, what is refused."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import warp as wp

from pellucid import progress, settings
from pellucid.device import LaunchRange, choose, kernel_launch, launch, prepare, prepare_all, runtime
from pellucid.errors import InvalidInput
from tests.contracts import device_kernels as kernels
from tests.waiting import TIMEOUT_S


def iterated(threads: int) -> np.ndarray[Any, Any]:
    out = np.zeros((301, 100), np.float32)
    with settings.use(replace(settings.current(), threads=threads)):
        launch(kernels.iterate, out.shape, [200], [out], choose("cpu"))
    return out


def test_threads_do_not_change_a_bit() -> None:
    one = iterated(1)
    assert one.min() >= 0.0
    assert one.std() > 0.1
    assert iterated(2).tobytes() == one.tobytes()
    assert iterated(7).tobytes() == one.tobytes()


def test_portions_make_up_the_whole() -> None:
    whole, out = iterated(2), np.zeros((301, 100), np.float32)
    for start, stop in ((0, 120), (120, 121), (121, 301)):
        portion = LaunchRange((stop - start, 100), start, lambda: False)
        launch(kernels.iterate, portion, [200], [out], choose("cpu"))
    assert out.tobytes() == whole.tobytes()


def test_a_launch_that_is_no_longer_wanted_ends_between_two_pieces() -> None:
    out, request = np.zeros((300, 1024), np.float32), []

    def is_cancelled() -> bool:
        request.append(1)
        return len(request) > 10

    with settings.use(replace(settings.current(), threads=1)):
        launch(kernels.iterate, LaunchRange(out.shape, 0, is_cancelled), [200], [out], choose("cpu"))
    assert (out[:20] > 0).any()
    assert not out[20:].any()


def test_launches_from_many_threads() -> None:
    expected = iterated(1)
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(iterated, [3] * 12))
    assert all(np.array_equal(result, expected) for result in results)


def test_work_is_really_shared() -> None:
    both, passed = threading.Barrier(2, timeout=TIMEOUT_S), list[int]()

    class Command:
        def launch(self) -> None:
            passed.append(both.wait())  # passes only if two threads are in here at once

    with settings.use(replace(settings.current(), threads=2)):
        kernel_launch._run([Command(), Command()])
    assert sorted(passed) == [0, 1]


def test_an_error_in_a_band_comes_out() -> None:
    class Command:
        def launch(self) -> None:
            raise RuntimeError("band")

    with settings.use(replace(settings.current(), threads=2)), pytest.raises(RuntimeError, match="band"):
        kernel_launch._run([Command(), Command()])


@pytest.mark.parametrize("shape", [(1,), (5,), (100_003,), (17, 100_000), (3, 1), (1, 10**6)])
@pytest.mark.parametrize("threads", [1, 2, 16])
def test_bands_cover_the_axis(shape: tuple[int, ...], threads: int) -> None:
    ranges = kernel_launch.bands(shape, threads)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == shape[0]
    assert all(stop == start for (_, stop), (start, _) in pairwise(ranges))
    assert all(stop > start for start, stop in ranges)
    assert len(ranges) <= (1 if threads == 1 else kernel_launch.BANDS_PER_THREAD * threads)


def test_small_launches_are_not_split() -> None:
    assert kernel_launch.bands((1000,), threads=8) == [(0, 1000)]


def test_kernel_without_first_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"without_first does not support several threads.*first: wp.int32"):
        launch(kernels.without_first, 3, outputs=[np.zeros(3, np.float32)], device=choose("cpu"))


def test_axis_beyond_32_bits_is_refused() -> None:
    with pytest.raises(InvalidInput, match="2,147,483,648 threads along one axis"):
        launch(kernels.scale, 2**31, device=choose("cpu"))


def test_prepare_loads_before_the_launch() -> None:
    prepare(kernels.number, choose("cpu"))
    out = np.zeros((2, 2, 2), np.int32)
    launch(kernels.number, out.shape, outputs=[out], device=choose("cpu"))
    assert out.ravel().tolist() == list(range(8))


def test_a_forked_child_launches() -> None:
    iterated(2)
    child = os.fork()
    if child == 0:
        os._exit(0 if iterated(2).any() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_long_compilation_is_announced() -> None:
    output = threading.Event()
    texts: list[str] = []
    compiling: list[bool] = []
    runtime.on_compiling(lambda: compiling.append(True))

    def hear(text: str) -> None:
        texts.append(text)
        output.set()

    with progress.use(progress.Callbacks(lambda update: None, hear)):
        with runtime.compile_notice("march", "cpu", after_s=0.0):
            assert output.wait(TIMEOUT_S)
        with runtime.compile_notice("quick", "cpu", after_s=1e6):
            pass
    runtime.on_compiling(None)
    assert len(texts) == 1 and compiling == [True]
    assert texts[0].startswith("Compiling the kernel march for cpu. It is cached in ")


def test_only_the_expected_line_is_dropped(capfd: pytest.CaptureFixture[str]) -> None:
    with runtime._without_stderr_lines(b"expected"):
        os.write(2, b"an expected line\nanother line\n")
    assert capfd.readouterr().err == "another line\n"


def test_several_kernels_are_compiled_at_once() -> None:
    def kernel_with(factor: float) -> Any:
        @wp.kernel(enable_backward=False, module="unique")  # type: ignore[untyped-decorator]
        def multiply(first: wp.int32, values: wp.array(dtype=wp.float32)) -> None:  # type: ignore[valid-type]
            i = wp.tid() + first
            values[i] = values[i] * factor

        return multiply

    device, kernels = choose("cpu"), [kernel_with(3.0), kernel_with(5.0)]
    prepare_all(dict.fromkeys(kernels), device)
    values = np.array([1.0, 2.0], np.float32)
    for kernel in kernels:
        launch(kernel, 2, outputs=[values], device=device)
    assert values.tolist() == [15.0, 30.0]
