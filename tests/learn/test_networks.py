"""Networks on their way to ONNX and back: the same values, whatever runs them."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from pellucid.box import Box
from pellucid.conversion.values import ValueMap
from pellucid.errors import InvalidInput
from pellucid.infer.loading import load_network
from pellucid.infer.network_files.network import NetworkForm
from pellucid.infer.output_rule import OutputRule
from pellucid.infer.prediction import Predictor
from pellucid.infer.runtime import RuntimeRequest, open_runtime
from pellucid.infer.sources import VolumeSource
from pellucid.infer.statistics import ValueStatistics
from pellucid.infer.windows import Windows
from pellucid.learn.networks.device_regions import output_type
from pellucid.learn.networks.graph_export import INPUT, to_onnx
from pellucid.learn.networks.graph_import import to_torch, unknown_operators
from pellucid.learn.networks.network_folder import NetworkDescription, write_network
from pellucid.learn.networks.raw_values import RawValues
from pellucid.learn.networks.runtime import TorchRuntime
from pellucid.learn.networks.torch_entry import open_torch
from pellucid.learn.networks.unet import UNet, UNetForm, multiply_adds
from pellucid.volume.volume import Volume
from tests.infer.small_networks import convolution, super_resolution, unet
from tests.shared_data import shared

FORMS = [
    UNetForm(channels=11, width=4, residual=5),
    UNetForm(width=4, depth=1, outputs=3, is_normalised=False),
    UNetForm(axes=3, width=4, depth=2, outputs=2, flat=1),
]


def filled(form: UNetForm) -> Any:
    """A network with random weights, and statistics of batches that it has seen."""
    torch.manual_seed(1)
    network = UNet(form)
    with torch.no_grad():
        for weights in network.parameters():
            weights.add_(0.1 * torch.randn_like(weights))
        for _ in range(3):
            network(example(form))
    return network.eval()


def example(form: UNetForm, edge: int = 2) -> Any:
    return torch.randn(2, form.channels, *(edge * step for step in form.step))


def by_onnx_runtime(model: bytes, tensor: Any) -> Any:
    return open_runtime(RuntimeRequest(model, "cpu")).run({INPUT: tensor.numpy()})[0]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_export_and_import_keep_the_values(form: UNetForm) -> None:
    network, tensor = filled(form), example(form, 3)
    model = to_onnx(network, form.channels, form.outputs, form.axes)
    expected = network(tensor).detach().numpy()
    assert not {node.op_type for node in onnx.load_from_string(model).graph.node} & {"BatchNormalization"}
    np.testing.assert_allclose(by_onnx_runtime(model, tensor), expected, rtol=1e-3, atol=1e-4)
    runtime = TorchRuntime(onnx.load_from_string(model), "cpu")
    np.testing.assert_allclose(runtime.run({INPUT: tensor.numpy()})[0], expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_windows_give_what_the_whole_gives(form: UNetForm, tmp_path: Path) -> None:
    """With a halo of the receptive radius that is read from the exported graph."""
    network = filled(form)
    (tmp_path / "a.onnx").write_bytes(to_onnx(network, form.channels, form.outputs, form.axes))
    examined = load_network(tmp_path / "a.onnx")
    radius, steps = (examined.radius or (0, 0, 0))[3 - form.axes :], form.step
    halos = [-(-r // s) * s for r, s in zip(radius, steps, strict=True)]
    assert examined.step[3 - form.axes :] == steps and min(radius) > 4
    whole = torch.randn(1, form.channels, *(2 * h + 2 * s for h, s in zip(halos, steps, strict=True)))
    part = whole[(..., *(slice(s, None) for s in steps))]
    inner = (..., *(slice(h, -h) for h in halos))
    with torch.no_grad():
        expected = network(whole)[(..., *(slice(s, None) for s in steps))][inner]
        assert torch.allclose(network(part)[inner], expected, atol=1e-5)


def test_a_residual_network_starts_as_the_middle_slice() -> None:
    form = FORMS[0]
    tensor = example(form)
    assert torch.equal(UNet(form).eval()(tensor), tensor[:, 5:6])


def test_multiply_adds_are_counted() -> None:
    """Of one convolution of 3² from 1 to w channels and one of w to w, at half resolution twice the same, and so on."""
    w = 2
    fine, coarse = 9 * w + 9 * w * w, (9 * w * 2 * w + 9 * (2 * w) ** 2) / 4
    up = 9 * 2 * w * w + 9 * w * w + w * 1 + 1
    assert multiply_adds(UNetForm(width=w, depth=1)) == fine + coarse + up


def test_the_folder_of_a_network_is_loaded_and_reproduces_its_tests(tmp_path: Path) -> None:
    form = UNetForm(axes=3, width=2, depth=1)
    description = NetworkDescription("a", "b", 3, 1, 1, form.step, facts={"steps": 3})
    values = 100 + 30 * np.random.default_rng(0).random((1, 8, 8, 12), np.float32)
    written = write_network(RawValues(filled(form), 110.0, 20.0), description, tmp_path, values)
    network = load_network(tmp_path)
    assert network.radius == written.radius and network.is_3d and network.form.axes == "bczyx"
    expected = filled(form)((torch.from_numpy(values[None]) - 110) / 20).detach().numpy() * 20 + 110
    np.testing.assert_allclose(np.load(tmp_path / "test_output.npy"), expected, rtol=1e-4)
    np.save(tmp_path / "test_output.npy", expected + 1)
    with pytest.raises(Exception, match="checksum"):
        load_network(tmp_path)


@pytest.mark.parametrize("end", ["sigmoid", "softmax", "none"])
def test_ends_of_networks(end: str, tmp_path: Path) -> None:
    form, tensor = UNetForm(width=2, depth=1, outputs=3), torch.randn(1, 1, 4, 4)
    network = filled(form)
    model = to_onnx(RawValues(network, 2.0, 4.0, end), 1, 3, 2)
    raw = network((tensor - 2) / 4)
    expected = {"sigmoid": raw.sigmoid(), "softmax": raw.softmax(1), "none": raw}[end]
    np.testing.assert_allclose(by_onnx_runtime(model, tensor), expected.detach().numpy(), rtol=1e-3, atol=1e-5)


def test_what_cannot_be_exported_is_named() -> None:
    with pytest.raises(InvalidInput, match="GELU cannot be exported"):
        to_onnx(torch.nn.Sequential(torch.nn.Conv2d(1, 1, 1), torch.nn.GELU()), 1, 1, 2)


def test_the_published_network_gives_the_same_in_pytorch() -> None:
    model = onnx.load(shared("networks/unet2d_nuclei.onnx"))
    with np.load(shared("networks/unet2d_nuclei_test.npz")) as file:
        image = file["input"].astype(np.float32)
    runtime = TorchRuntime(model, "cpu")
    found, expected = (
        one.run({model.graph.input[0].name: image})[0]
        for one in (runtime, open_runtime(RuntimeRequest(model.SerializeToString(), "cpu")))
    )
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.ptp(expected))


@pytest.mark.parametrize("normalised", [False, True])
def test_graphs_of_others_give_the_same_in_pytorch(normalised: bool, tmp_path: Path) -> None:
    tensor = torch.from_numpy(np.random.default_rng(0).standard_normal((1, 1, 8, 12, 8)).astype(np.float32))
    kernel = np.random.default_rng(1).standard_normal((1, 1, 3, 3, 3))
    paths = [
        unet(tmp_path / "u.onnx", normalised=normalised),
        convolution(tmp_path / "c.onnx", kernel, dilation=2),
        super_resolution(tmp_path / "s.onnx", kernel[0, 0].astype(np.float32)),
    ]
    for path in paths:
        model = onnx.load(path)
        name = model.graph.input[0].name
        found = TorchRuntime(model, "cpu").run({name: tensor.numpy()})[0]
        expected = open_runtime(RuntimeRequest(model.SerializeToString(), "cpu")).run({name: tensor.numpy()})[0]
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def graph(kind: str, constants: dict[str, Any], **options: Any) -> "onnx.ModelProto":
    node = helper.make_node(kind, ["x", *constants], ["y"], **options)
    values = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    shape = (1, 4, 8, 8)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    made = helper.make_graph([node], "one", inputs, outputs, values)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 9
    return model


WEIGHTS = np.random.default_rng(0).standard_normal((4, 4, 3, 3)).astype(np.float32)
FOUR = np.linspace(0.5, 2, 4).astype(np.float32)
CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("LeakyRelu", {}, {"alpha": 0.3}),
    ("Elu", {}, {"alpha": 0.7}),
    ("PRelu", {"s": FOUR[:, None, None]}, {}),
    ("HardSigmoid", {}, {}),
    ("Softmax", {}, {"axis": 1}),
    ("Clip", {"low": np.float32(-0.5), "high": np.float32(0.25)}, {}),
    ("BatchNormalization", {"s": FOUR, "b": FOUR, "m": FOUR, "v": FOUR}, {}),
    ("InstanceNormalization", {"s": FOUR, "b": FOUR}, {}),
    ("AveragePool", {}, {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ("MaxPool", {}, {"kernel_shape": [3, 3], "strides": [1, 1], "auto_pad": "SAME_UPPER"}),
    ("GlobalAveragePool", {}, {}),
    ("ReduceMean", {"axes": np.array([2, 3])}, {"keepdims": 0}),
    ("Conv", {"w": WEIGHTS, "b": FOUR}, {"strides": [2, 1], "pads": [1, 0, 2, 1], "kernel_shape": [3, 3]}),
    ("ConvTranspose", {"w": WEIGHTS}, {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}),
    ("Pad", {"p": np.array([0, 0, 1, 2, 0, 0, 3, 1])}, {"mode": "reflect"}),
    ("Transpose", {}, {"perm": [0, 2, 3, 1]}),
    ("Unsqueeze", {"axes": np.array([0, 3])}, {}),
    ("Gather", {"i": np.array([2, 0])}, {"axis": 1}),
    ("Pow", {"e": np.float32(2)}, {}),
]


@pytest.mark.parametrize(("kind", "constants", "options"), CASES, ids=[case[0] for case in CASES])
def test_operators(kind: str, constants: dict[str, Any], options: dict[str, Any]) -> None:
    model = graph(kind, constants, **options)
    tensor = np.random.default_rng(3).standard_normal((1, 4, 8, 8)).astype(np.float32)
    expected = open_runtime(RuntimeRequest(model.SerializeToString(), "cpu")).run({"x": tensor})[0]
    found = to_torch(model)(torch.from_numpy(tensor))[0].numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("mode", "places"), list(product(["linear", "nearest"], ["half_pixel", "align_corners"])))
def test_resizing(mode: str, places: str) -> None:
    if mode == "nearest":
        places = "asymmetric"
    options = {"mode": mode, "coordinate_transformation_mode": places, "nearest_mode": "floor"}
    model = graph("Resize", {"": np.zeros(0), "s": np.array([1, 1, 2, 3], np.float32)}, **options)
    model.graph.initializer.pop(0)
    tensor = np.random.default_rng(3).standard_normal((1, 4, 8, 8)).astype(np.float32)
    expected = open_runtime(RuntimeRequest(model.SerializeToString(), "cpu")).run({"x": tensor})[0]
    np.testing.assert_allclose(to_torch(model)(torch.from_numpy(tensor))[0].numpy(), expected, rtol=1e-4, atol=1e-5)


def test_an_unknown_operator_is_named() -> None:
    model = graph("LpNormalization", {})
    assert unknown_operators(model) == ["LpNormalization"]
    with pytest.raises(InvalidInput, match="LpNormalization"):
        to_torch(model)


def test_without_a_gpu_pytorch_does_not_offer_itself(tmp_path: Path) -> None:
    path = convolution(tmp_path / "a.onnx", np.ones((1, 1, 3, 3)))
    assert open_torch(RuntimeRequest(path.read_bytes(), "cpu")) is None


@pytest.mark.gpu
def test_on_a_gpu_windows_are_the_same_in_bfloat16(tmp_path: Path) -> None:
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    form = FORMS[0]
    network, tensor = filled(form), example(form, 16)
    runtime = open_torch(RuntimeRequest(to_onnx(network, 11, 1, 2), "cuda"))
    assert runtime is not None and runtime.is_gpu
    expected = network(tensor).detach().numpy()
    with torch.no_grad():
        halves = network.cuda().to(torch.bfloat16)(tensor.cuda().to(torch.bfloat16)).float().cpu().numpy()
    rounded = np.sqrt(np.mean((halves - expected) ** 2))  # What so few bits cost at least.
    assert rounded < 0.03 * expected.std()
    for _ in range(8):  # From the fifth on compiled.
        found = runtime.run({INPUT: tensor.numpy()})[0]
        assert np.sqrt(np.mean((found - expected) ** 2)) < 1.2 * rounded
        assert np.abs(found - expected).max() < 1.5 * np.abs(halves - expected).max()


RULES = [
    None,
    OutputRule("labels", threshold=0.1),
    OutputRule("values", values=ValueMap("float32")),
    OutputRule("values", values=ValueMap("uint16", (-3.0, 2.0))),
    OutputRule("values", values=ValueMap("int8", (-3.0, 2.0))),
]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_windows_that_are_cut_on_the_device_are_the_same(
    form: UNetForm, rule: OutputRule | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also at the border of the volume, whose edges are no multiples of the network's step."""
    (tmp_path / "a.onnx").write_bytes(to_onnx(filled(form), form.channels, form.outputs, form.axes))
    network = load_network(tmp_path / "a.onnx")
    values = np.random.default_rng(0).integers(0, 5, (9, 21, 30)).astype(np.uint16)
    source = VolumeSource([Volume.from_array(values)])
    size, halo = ((10, 12, 16), (4, 4, 4)) if network.is_3d else ((1, 24, 24), (0, 8, 8))
    windows = Windows(size, halo, network.step)
    runtime = TorchRuntime(onnx.load_from_string(network.model), "cpu")
    predictor = Predictor(network, windows, runtime, (ValueStatistics(),), batch=3)
    box = Box((2, 0, 8), (9, 21, 30))
    usual = predictor.predict(source, box, rule)
    monkeypatch.setattr(TorchRuntime, "run_region", lambda self, request: self._regions.run(request))
    found = predictor.predict(source, box, rule)
    assert found.dtype == usual.dtype and found.shape == usual.shape
    far = np.abs(found.astype(np.float64) - usual)
    assert far.max() <= (1e-4 if found.dtype == np.float32 else 1) and np.mean(far > 1e-4) < 0.02


def test_a_region_is_read_into_the_memory_of_the_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From pinned memory it gets to a GPU without another copy. Of two volumes, each is one channel."""
    form = UNetForm(channels=2, width=4, depth=1)
    (tmp_path / "a.onnx").write_bytes(to_onnx(filled(form), 2, 1, 2))
    network = load_network(tmp_path / "a.onnx", NetworkForm(axes="bcyx"))
    runtime = TorchRuntime(onnx.load_from_string(network.model), "cpu")
    made, seen = [], []

    def host_array(self: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        made.append(np.zeros(shape, dtype))
        return made[-1]

    def run_region(self: Any, request: Any) -> Any:
        seen.append(request)
        return self._regions.run(request)

    monkeypatch.setattr(TorchRuntime, "host_array", host_array)
    monkeypatch.setattr(TorchRuntime, "run_region", run_region)
    values = np.random.default_rng(0).integers(0, 250, (3, 20, 24)).astype(np.uint16)
    source = VolumeSource([Volume.from_array(values), Volume.from_array((values // 2).astype(np.uint8))])
    predictor = Predictor(network, Windows((1, 20, 24), (0, 4, 4), network.step), runtime, (ValueStatistics(),))
    predictor.predict(source, Box((1, 0, 0), (3, 20, 24)), OutputRule("values"))
    assert seen[0].voxels is made[0] and len(made) == 1
    np.testing.assert_array_equal(seen[0].voxels, np.stack([values[1:], values[1:] // 2]))


def test_regions_are_read_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the device can begin with the first of them."""
    form = UNetForm(channels=1, width=4, depth=1)
    (tmp_path / "a.onnx").write_bytes(to_onnx(filled(form), 1, 1, 2))
    network = load_network(tmp_path / "a.onnx")
    meeting = threading.Barrier(2)
    together: list[bool] = []

    class Source(VolumeSource):
        def read(self, box: Box, allocate: Any = np.empty) -> Any:
            try:
                meeting.wait(0.3)
                together.append(True)
            except threading.BrokenBarrierError:
                together.append(False)
            return super().read(box, allocate)

    source = Source([Volume.from_array(np.ones((4, 20, 24), np.uint16))])
    runtime = TorchRuntime(onnx.load_from_string(network.model), "cpu")
    predictor = Predictor(network, Windows((1, 20, 24), (0, 4, 4), network.step), runtime, (ValueStatistics(),))
    boxes = [Box((z, 0, 0), (z + 1, 20, 24)) for z in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert len(list(pool.map(lambda box: predictor.predict(source, box), boxes))) == 4
    assert together == [False] * 4


def test_what_is_not_computed_on_the_device_is_left_to_the_host() -> None:
    for values in (ValueMap("uint32", (0.0, 1.0)), ValueMap("uint8"), ValueMap("float32", (0.0, 1.0))):
        assert output_type(OutputRule("values", values=values)) is None
