"""Windows cover a box once, with their halo, at whole steps."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pellucid.box import Box, Shape
from pellucid.infer.memory import MemoryModel
from pellucid.infer.planning import choose_batch
from pellucid.infer.windows import Windows, cut, input_box, output_box, reflected

EDGES = st.tuples(*[st.integers(1, 40)] * 3)


@st.composite
def plans(draw: st.DrawFn) -> tuple[Windows, Box, Shape]:
    shape, step = draw(EDGES), draw(st.tuples(*[st.sampled_from([1, 2, 4])] * 3))
    halo = draw(st.tuples(*[st.integers(0, 6)] * 3))
    whole = Windows((1, 1, 1), halo, step)
    size = tuple(draw(st.integers(1, 5)) * s + least for s, least in zip(step, whole.min_size, strict=True))
    start = [draw(st.integers(0, n - 1)) for n in shape]
    stop = [draw(st.integers(a + 1, n)) for a, n in zip(start, shape, strict=True)]
    return Windows(size, halo, step, draw(st.booleans())), Box(tuple(start), tuple(stop)), shape  # type: ignore[arg-type]


@given(plans())
def test_cores_tile_the_box_and_halos_surround_them(plan: tuple[Windows, Box, Shape]) -> None:
    windows, box, shape = plan
    counts = np.zeros(shape, int)
    found = windows.cover(box, shape)
    for window in found:
        counts[window.core.slices] += 1
        for axis in range(3):
            low, high = window.outer.start[axis], window.outer.stop[axis]
            assert low % windows.step[axis] == 0 and high % windows.step[axis] == 0
            assert low <= max(0, window.core.start[axis] - windows.halo[axis])
            assert high >= min(shape[axis], window.core.stop[axis] + windows.halo[axis])
            assert high - low <= windows.size[axis]
        if windows.is_fixed:
            assert window.outer.shape == windows.size
    expected = np.zeros(shape, int)
    expected[box.slices] = 1
    np.testing.assert_array_equal(counts, expected)
    assert windows.computed(box, shape) == sum(window.outer.size for window in found)


@given(plans())
def test_what_is_read_is_enough_for_every_window(plan: tuple[Windows, Box, Shape]) -> None:
    windows, box, shape = plan
    volume = np.arange(np.prod(shape)).reshape(1, *shape)
    region = windows.read_box(box, shape)
    assert Box.whole(shape).contains(region)
    for window in windows.cover(box, shape):
        part = cut(volume[(slice(None), *region.slices)], region.start, window.outer, shape)
        places = [
            reflected(np.arange(a, b), n) for a, b, n in zip(window.outer.start, window.outer.stop, shape, strict=True)
        ]
        np.testing.assert_array_equal(part[0], volume[0][np.ix_(*places)])


@given(EDGES, st.integers(1, 30))
def test_reflection_is_that_of_numpy(shape: Shape, width: int) -> None:
    line = np.arange(shape[0])
    expected = np.pad(line, width, mode="reflect")
    np.testing.assert_array_equal(line[reflected(np.arange(-width, shape[0] + width), shape[0])], expected)


@given(EDGES, st.tuples(*[st.integers(1, 4)] * 3))
def test_a_box_of_a_scaled_output_lies_on_its_input(start: Shape, scale: Shape) -> None:
    box = Box(start, tuple(n + 5 for n in start))  # type: ignore[arg-type]
    covered = output_box(input_box(box, scale), scale)
    assume(not box.is_empty)
    assert covered.contains(box)
    assert all(a - b < s for a, b, s in zip(box.start, covered.start, scale, strict=True))


@pytest.mark.parametrize(
    ("size", "budget", "is_gpu", "expected"),
    [
        ((1, 2048, 2048), 10**12, True, 1),  # One such window keeps a GPU busy.
        ((1, 512, 512), 10**12, True, 16),
        ((1, 1024, 1024), 10**12, True, 4),
        ((1, 512, 512), 10 * 100 * 2**18, True, 10),
        ((1, 512, 512), 10**12, False, 1),
        ((64, 512, 512), 10**12, True, 1),
    ],
)
def test_a_gpu_computes_as_many_windows_as_keep_it_busy(size: Shape, budget: int, is_gpu: bool, expected: int) -> None:
    network: Any = SimpleNamespace(max_batch=None)
    assert choose_batch(network, Windows(size, (0, 0, 0)), MemoryModel(0, 100.0), budget, is_gpu=is_gpu) == expected
