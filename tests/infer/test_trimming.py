"""A graph with cuts computes the same for the core of a window, for any network that it takes and any core."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper

from pellucid.box import Box, triple
from pellucid.formats.protocol import Voxels
from pellucid.infer.loading import load_network
from pellucid.infer.runtime import RuntimeRequest, open_runtime
from pellucid.infer.trimming.trimmed_runtime import KeepingRuntime, TrimmedRuntime, open_network, trimmed_model
from pellucid.infer.windows import output_box
from tests.infer.small_networks import convolution, free, save, super_resolution, unet

RANDOM = np.random.default_rng(2)
TRIED = settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
ENDS = st.tuples(*[st.tuples(st.integers(0, 23), st.integers(1, 24))] * 3)


def transposed(path: Path) -> Path:
    """A strided convolution, a transposed one back, and a sum of both ways."""
    shapes = {"down": (4, 1, 3, 3, 3), "up": (4, 2, 4, 4, 4), "side": (2, 1, 5, 5, 5), "last": (1, 2, 3, 3, 3)}
    weights = {name: RANDOM.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    nodes = [
        helper.make_node("Conv", ["in", "down"], ["d"], strides=[2] * 3, pads=[1] * 6),
        helper.make_node("ConvTranspose", ["d", "up"], ["u"], strides=[2] * 3, pads=[1] * 6),
        helper.make_node("Conv", ["in", "side"], ["s"], pads=[2] * 6),
        helper.make_node("Add", ["u", "s"], ["a"]),
        helper.make_node("Conv", ["a", "last"], ["out"], pads=[1] * 6),
    ]
    return save(path, nodes, weights, {"in": free(1, 3)}, {"out": free(1, 3)})


def pooled_again(path: Path) -> Path:
    """What was cut is pooled, and made finer again."""
    two, pads = [2] * 3, [1] * 6
    weights = {"a": RANDOM.standard_normal((2, 1, 3, 3, 3)), "b": RANDOM.standard_normal((1, 2, 3, 3, 3))}
    constants = {name: one.astype(np.float32) for name, one in weights.items()}
    constants["double"] = np.array([1, 1, 2, 2, 2], np.float32)
    nodes = [
        helper.make_node("Conv", ["in", "a"], ["c"], pads=pads),
        helper.make_node("MaxPool", ["c"], ["p"], kernel_shape=two, strides=two),
        helper.make_node("Resize", ["p", "", "double"], ["u"], mode="linear"),
        helper.make_node("Add", ["u", "c"], ["s"]),
        helper.make_node("MaxPool", ["s"], ["q"], kernel_shape=[4] * 3, strides=[4] * 3),
        helper.make_node("Resize", ["q", "", "double"], ["v"], mode="nearest"),
        helper.make_node("Resize", ["v", "", "double"], ["w"], mode="linear"),
        helper.make_node("Conv", ["w", "b"], ["out"], pads=pads),
    ]
    return save(path, nodes, constants, {"in": free(1, 3)}, {"out": free(1, 3)})


NETWORKS: dict[str, Callable[[Path], Path]] = {
    "U-Net": unet,
    "convolution": lambda path: convolution(path, RANDOM.standard_normal((2, 1, 3, 3, 3)), dilation=2),
    "super-resolution": lambda path: super_resolution(path, RANDOM.standard_normal((3, 3, 3))),
    "transposed convolution": transposed,
    "pooled again": pooled_again,
}


def assert_close(found: Voxels, expected: Voxels) -> None:
    """To rounding: ONNX Runtime joins other operators where there are cuts between them."""
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NETWORKS)
@TRIED
@given(ends=ENDS)
def test_the_core_is_that_of_the_whole_window(name: str, ends: tuple[tuple[int, int], ...], tmp_path: Path) -> None:
    network = load_network(NETWORKS[name](tmp_path / "net.onnx"))
    outer = (24, 24, 24)
    starts = triple(min(a, b - 1) for a, b in ends)
    core = Box(starts, triple(b for _, b in ends))
    inputs = {"in": RANDOM.random((1, 1, *outer), np.float32)}
    whole = open_runtime(RuntimeRequest(network.model, "cpu", 1)).run(inputs)[0]
    runtime = open_network(network, "cpu")
    assert isinstance(runtime, TrimmedRuntime) and isinstance(runtime, KeepingRuntime)
    found, box = runtime.run_kept(inputs, core, outer)
    part, same = (output_box(one, network.scale).slices for one in (core.relative_to(box.start), core))
    assert_close(found[(..., *part)], whole[(..., *same)])
    assert_close(runtime.run(inputs)[0], whole)


def test_2d_networks_and_what_depends_on_the_whole_window_are_not_cut(tmp_path: Path) -> None:
    for path in (unet(tmp_path / "3.onnx", normalised=True), unet(tmp_path / "2.onnx", 2)):
        network = load_network(path)
        assert trimmed_model(network) is None and not isinstance(open_network(network, "cpu"), TrimmedRuntime)


def test_less_is_computed_from_layer_to_layer(tmp_path: Path) -> None:
    trimmed = trimmed_model(load_network(unet(tmp_path / "net.onnx")))
    assert trimmed is not None
    reaches = [cut.reach[0] for cut in trimmed.cuts]
    assert reaches == sorted(reaches, reverse=True) and reaches[-1] == 0 < reaches[0]
