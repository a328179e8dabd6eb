"""The result of windows is the result of the whole: for any size, halo, type and kind of network."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper
from scipy import ndimage

from pellucid.box import Box, Shape
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.infer.loading import load_network
from pellucid.infer.network_files.network import Network, NetworkForm
from pellucid.infer.prediction import PredictedSource, Predictor
from pellucid.infer.runtime import RuntimeRequest, open_runtime
from pellucid.infer.sources import VolumeSource
from pellucid.infer.statistics import ValueStatistics
from pellucid.infer.window_cache import WindowCache
from pellucid.infer.windows import Windows, output_box
from pellucid.volume.volume import Volume
from tests.infer.small_networks import convolution, free, save, super_resolution, unet

RANDOM = np.random.default_rng(1)
TRIED = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
SHAPES = st.tuples(st.integers(1, 9), st.integers(5, 40), st.integers(5, 40))
TYPES = st.sampled_from(["uint8", "int16", "uint16", "float32", "float64"])
SMALL = st.tuples(*[st.integers(0, 20)] * 3)


def predictor(network: Network, extra: Shape = (8, 8, 8), halo: Shape | None = None) -> Predictor:
    """With windows that keep about so many voxels."""
    used = halo or network.radius
    assert used is not None
    if not network.is_3d:
        used, extra = (0, *used[1:]), (0, *extra[1:])
    windows = Windows((1, 1, 1), used, network.step)
    size = tuple(least + n // s * s for least, n, s in zip(windows.min_size, extra, network.step, strict=True))
    if not network.is_3d:
        size = (1, *size[1:])
    windows = Windows(network.fixed_window or size, used, network.step, network.fixed_window is not None)  # type: ignore[arg-type]
    runtime = open_runtime(RuntimeRequest(network.model, "cpu", 1))
    return Predictor(network, windows, runtime, (ValueStatistics(),), batch=3)


def volume_of(shape: Shape, dtype: str = "float32") -> Volume:
    return Volume.from_array(
        (np.random.default_rng(sum(shape)).random(shape) * 100).astype(dtype), spacing=(3.0, 1.0, 2.0)
    )


def whole(network: Network, voxels: Voxels) -> Voxels:
    """Everything at once, in float32; the shape is padded to whole steps."""
    steps = [(0, -n % s) for n, s in zip(voxels.shape, network.step, strict=True)]
    padded = np.pad(voxels, steps, mode="reflect").astype(np.float32)
    runtime = open_runtime(RuntimeRequest(network.model, "cpu", 1))
    tensor = padded[None, None] if network.is_3d else padded[:, None]
    (found,) = runtime.run({network.inputs[0].name: tensor})
    unpacked = found[0, 0] if network.is_3d else found[:, 0]
    return unpacked[tuple(slice(n * s) for n, s in zip(voxels.shape, network.scale, strict=True))]


@TRIED
@given(shape=SHAPES, dtype=TYPES, extra=SMALL)
def test_a_2d_convolution_is_that_of_scipy(shape: Shape, dtype: str, extra: Shape, tmp_path: Path) -> None:
    kernel = RANDOM.standard_normal((3, 5)).astype(np.float32)
    network = load_network(convolution(tmp_path / "net.onnx", kernel[None, None]))
    assert (network.kind, network.radius, network.step) == ("2D", (0, 1, 2), (1, 1, 1))
    volume = volume_of(shape, dtype)
    found = predictor(network, extra).predict(VolumeSource([volume]), volume.box)[0]
    expected = [ndimage.correlate(one.astype(np.float32), kernel, mode="constant") for one in volume.read()]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-2)


@TRIED
@given(shape=SHAPES, dtype=TYPES, extra=SMALL, dilation=st.integers(1, 3))
def test_a_3d_convolution_is_that_of_scipy(
    shape: Shape, dtype: str, extra: Shape, dilation: int, tmp_path: Path
) -> None:
    kernel = RANDOM.standard_normal((3, 3, 3)).astype(np.float32)
    network = load_network(convolution(tmp_path / "net.onnx", kernel[None, None], dilation=dilation))
    assert (network.kind, network.radius) == ("3D", (dilation,) * 3)
    spread = np.zeros((2 * dilation + 1,) * 3, np.float32)
    spread[::dilation, ::dilation, ::dilation] = kernel
    volume = volume_of(shape, dtype)
    found = predictor(network, extra).predict(VolumeSource([volume]), volume.box)[0]
    expected = ndimage.correlate(volume.read().astype(np.float32), spread, mode="constant")
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-2)


@TRIED
@given(shape=SHAPES, extra=SMALL)
def test_a_2_5d_network_sees_the_slices_around_reflected_at_the_ends(
    shape: Shape, extra: Shape, tmp_path: Path
) -> None:
    kernel = RANDOM.standard_normal((1, 5, 3, 3)).astype(np.float32)
    network = load_network(convolution(tmp_path / "net.onnx", kernel))
    assert (network.kind, network.neighbours) == ("2.5D", 2)
    volume = volume_of(shape)
    found = predictor(network, extra).predict(VolumeSource([volume]), volume.box)[0]
    stack = np.pad(volume.read(), ((2, 2), (1, 1), (1, 1)))
    stack[:, 1:-1, 1:-1] = np.pad(volume.read(), ((2, 2), (0, 0), (0, 0)), mode="reflect")
    expected = ndimage.correlate(stack, kernel[0], mode="constant")[2:-2, 1:-1, 1:-1]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-2)


@TRIED
@given(shape=SHAPES, extra=SMALL, is_3d=st.booleans())
def test_poolings_see_the_same_voxels_in_every_window(shape: Shape, extra: Shape, is_3d: bool, tmp_path: Path) -> None:
    network = load_network(unet(tmp_path / "net.onnx", 3 if is_3d else 2))
    assert network.step == ((4, 4, 4) if is_3d else (1, 4, 4))
    volume = volume_of(shape)
    found = predictor(network, extra).predict(VolumeSource([volume]), volume.box)[0]
    np.testing.assert_allclose(found, whole(network, volume.read()), rtol=1e-4, atol=1e-3)


def test_the_receptive_radius_is_not_too_small_nor_far_too_large(tmp_path: Path) -> None:
    network = load_network(unet(tmp_path / "net.onnx", 2))
    radius = network.radius
    assert radius is not None
    base = np.zeros((1, 1, 128, 128), np.float32)
    runtime = open_runtime(RuntimeRequest(network.model, "cpu", 1))
    reached = 0
    for place in range(60, 68):
        changed = base.copy()
        changed[0, 0, 64, place] = 100
        (one,), (other,) = runtime.run({"in": base}), runtime.run({"in": changed})
        columns = np.flatnonzero((one != other).any(axis=(0, 1, 2)))
        reached = max(reached, *(int(abs(column - place)) for column in columns))
    assert reached <= radius[2] <= reached + 12


@TRIED
@given(shape=SHAPES, extra=SMALL)
def test_super_resolution_makes_more_slices(shape: Shape, extra: Shape, tmp_path: Path) -> None:
    kernel = RANDOM.standard_normal((3, 3, 3)).astype(np.float32)
    network = load_network(super_resolution(tmp_path / "net.onnx", kernel))
    assert network.scale == (2, 1, 1)
    volume, used = volume_of(shape), predictor(network, extra)
    expected = ndimage.correlate(np.repeat(volume.read(), 2, axis=0), kernel, mode="constant")
    source = VolumeSource([volume])
    np.testing.assert_allclose(used.predict(source, volume.box)[0], expected, rtol=1e-4, atol=1e-2)
    odd = Box((1, 2, 0), (2 * shape[0], shape[1], 4))
    np.testing.assert_allclose(used.predict_output(source, odd)[0], expected[odd.slices], rtol=1e-4, atol=1e-2)


@TRIED
@given(shape=SHAPES, extra=SMALL)
def test_networks_in_a_chain_give_the_result_of_one_after_the_other(shape: Shape, extra: Shape, tmp_path: Path) -> None:
    first, second = (RANDOM.standard_normal((3, 3, 3)).astype(np.float32) for _ in range(2))
    fine = load_network(super_resolution(tmp_path / "a.onnx", first))
    last = load_network(convolution(tmp_path / "b.onnx", second[None, None]))
    volume = volume_of(shape)
    source = PredictedSource(predictor(fine, extra), VolumeSource([volume]))
    assert source.shape == (2 * shape[0], *shape[1:])
    found = predictor(last, extra).predict(source, Box.whole(source.shape))[0]
    middle = ndimage.correlate(np.repeat(volume.read(), 2, axis=0), first, mode="constant")
    expected = ndimage.correlate(middle, second, mode="constant")
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=5e-2)


@TRIED
@given(
    shape=SHAPES, halo=st.tuples(*[st.integers(0, 4)] * 3), edges=st.tuples(*[st.integers(1, 3)] * 3), data=st.data()
)
def test_blended_windows_do_not_depend_on_the_block(
    shape: Shape, halo: Shape, edges: Shape, data: st.DataObject, tmp_path: Path
) -> None:
    network = load_network(super_resolution(tmp_path / "net.onnx", np.ones((3, 3, 3))))
    size = tuple(2 * h + 4 * e for h, e in zip(halo, edges, strict=True))
    windows = Windows(size, halo, is_blended=True)  # type: ignore[arg-type]
    runtime = open_runtime(RuntimeRequest(network.model, "cpu", 1))
    volume = volume_of(shape)
    source, used = VolumeSource([volume]), Predictor(network, windows, runtime, (ValueStatistics(),))
    whole_result = used.predict(source, volume.box)[0]
    start = tuple(data.draw(st.integers(0, n - 1)) for n in shape)
    stop = tuple(data.draw(st.integers(a + 1, n)) for a, n in zip(start, shape, strict=True))
    box = Box(start, stop)  # type: ignore[arg-type]
    forgetful = Predictor(network, windows, runtime, (ValueStatistics(),), cache=WindowCache(0))
    part = forgetful.predict(source, box)[0]
    np.testing.assert_allclose(part, whole_result[output_box(box, network.scale).slices], rtol=1e-6)
    if min(halo) >= 2:  # The ramp of half the halo has the other half as its halo: here that is enough.
        expected = ndimage.correlate(np.repeat(volume.read(), 2, axis=0), np.ones((3, 3, 3)), mode="constant")
        np.testing.assert_allclose(whole_result, expected, rtol=1e-4)


def test_blending_leaves_no_seams_where_the_halo_is_too_small(tmp_path: Path) -> None:
    kernel = np.zeros((1, 1, 1, 1, 41))
    kernel[..., 21:] = 1 / 20  # It looks ahead: before the end of a window there is too little, behind it all.
    network = load_network(convolution(tmp_path / "net.onnx", kernel))
    volume = Volume.from_array(np.ones((1, 1, 400), np.float32))
    runtime = open_runtime(RuntimeRequest(network.model, "cpu", 1))
    steps = {}
    for is_blended in (False, True):
        windows = Windows((1, 1, 80), (0, 0, 8), is_blended=is_blended)
        result = Predictor(network, windows, runtime, (ValueStatistics(),)).predict(VolumeSource([volume]), volume.box)
        inner = result[0, 0, 0, 30:-30]
        steps[is_blended] = float(np.abs(np.diff(inner)).max())
    assert steps[False] > 0.5
    assert steps[True] < 0.2


def test_a_fixed_window_is_freed_where_it_is_not_part_of_the_network(tmp_path: Path) -> None:
    free_one = load_network(unet(tmp_path / "a.onnx", 2))
    fixed_one = load_network(unet(tmp_path / "b.onnx", 2, fixed=(64, 64)))
    assert fixed_one.fixed_window is None
    volume = volume_of((2, 90, 30))
    expected, found = (predictor(one).predict(VolumeSource([volume]), volume.box) for one in (free_one, fixed_one))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


def fixed_by_position(path: Path, edge: int) -> Path:
    """Adds a table of the window's size: only this window is possible."""
    table = np.zeros((1, 1, edge, edge), np.float32)
    kernel = np.ones((1, 1, 3, 3), np.float32)
    nodes = [helper.make_node("Conv", ["in", "w"], ["c"], pads=[1] * 4), helper.make_node("Add", ["c", "t"], ["out"])]
    shape = free(1, 2, fixed=(edge, edge))
    return save(path, nodes, {"w": kernel, "t": table}, {"in": shape}, {"out": shape})


@pytest.mark.parametrize("shape", [(2, 100, 70), (1, 20, 31), (1, 32, 33)])
def test_a_fixed_window_that_must_stay_is_used_everywhere(shape: Shape, tmp_path: Path) -> None:
    network = load_network(fixed_by_position(tmp_path / "net.onnx", 32))
    assert network.fixed_window == (1, 32, 32)
    volume = volume_of(shape)
    found = predictor(network).predict(VolumeSource([volume]), volume.box)[0]
    inside = (slice(None), slice(1, -1), slice(1, -1))  # A volume smaller than the window is continued by reflection.
    expected = ndimage.correlate(volume.read(), np.ones((1, 3, 3), np.float32), mode="constant")
    np.testing.assert_allclose(found[inside], expected[inside], rtol=1e-4)


def test_channels_may_be_last(tmp_path: Path) -> None:
    kernel = RANDOM.standard_normal((1, 1, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Transpose", ["in"], ["a"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["a", "w"], ["b"], pads=[1] * 4),
        helper.make_node("Transpose", ["b"], ["out"], perm=[0, 2, 3, 1]),
    ]
    shape = ["n", "y", "x", 1]
    network = load_network(save(tmp_path / "net.onnx", nodes, {"w": kernel}, {"in": shape}, {"out": shape}))
    assert (network.inputs[0].axes, network.radius) == ("byxc", (0, 1, 1))
    volume = volume_of((3, 20, 30))
    found = predictor(network).predict(VolumeSource([volume]), volume.box)[0]
    expected = ndimage.correlate(volume.read(), kernel[0], mode="constant")
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


def test_a_network_with_two_inputs_takes_two_volumes(tmp_path: Path) -> None:
    nodes = [helper.make_node("Sub", ["one", "two"], ["out"])]
    shapes = {name: free(1, 3) for name in ("one", "two")}
    network = load_network(save(tmp_path / "net.onnx", nodes, {}, shapes, {"out": free(1, 3)}))
    one, two = volume_of((4, 8, 9), "uint8"), volume_of((4, 8, 9), "float32")
    found = predictor(network).predict(VolumeSource([one, two]), one.box)[0]
    np.testing.assert_allclose(found, one.read() - two.read(), rtol=1e-5)
    with pytest.raises(InvalidInput, match=r"channels of net\.onnx is 2, but 1 were passed\. Pass 2 volumes"):
        predictor(network).predict(VolumeSource([one]), one.box)
    with pytest.raises(InvalidInput, match="Use volumes of the same shape"):
        VolumeSource([one, volume_of((4, 8, 8))])


def test_wrong_axes_are_an_error_that_says_which_are_possible(tmp_path: Path) -> None:
    path = convolution(tmp_path / "net.onnx", np.ones((1, 1, 3, 3)))
    with pytest.raises(InvalidInput, match=r"The axes 'bzyxc' do not fit the tensor 'in' of .*, which has 4 axes"):
        load_network(path, NetworkForm(axes="bzyxc"))
