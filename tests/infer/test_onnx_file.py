"""Files that are damaged, or made to do harm, are errors that say so."""

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from pellucid.errors import Corrupted, EmptyFile, InvalidInput, NotFound
from pellucid.infer.apply import segment
from pellucid.infer.loading import load_network
from tests.infer.small_networks import convolution, free, save


class Harmful:
    """Leaves a trace where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.path,))


def test_a_pickle_is_refused_and_not_loaded(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    for protocol in range(2, 6):
        (tmp_path / "net.pt").write_bytes(pickle.dumps(Harmful(trace), protocol=protocol))
        with pytest.raises(
            InvalidInput, match=r"is a PyTorch file or a pickle, and loading it can run any code\. Export"
        ):
            load_network(tmp_path / "net.pt")
    assert not trace.exists()


def test_a_file_that_ends_too_soon_is_an_error(tmp_path: Path) -> None:
    content = convolution(tmp_path / "net.onnx", np.ones((1, 1, 3, 3))).read_bytes()
    for count in range(1, len(content), 7):
        (tmp_path / "cut.onnx").write_bytes(content[:count])
        with pytest.raises((Corrupted, InvalidInput)) as caught:
            load_network(tmp_path / "cut.onnx")
        assert "cut.onnx" in str(caught.value) or "ONNX Runtime did not accept" in str(caught.value)
    (tmp_path / "cut.onnx").write_bytes(b"")
    with pytest.raises(EmptyFile):
        load_network(tmp_path / "cut.onnx")
    with pytest.raises(NotFound):
        load_network(tmp_path / "absent.onnx")
    (tmp_path / "text.onnx").write_text("This is a text and no network.")
    with pytest.raises(Corrupted, match="it is not a complete ONNX model"):
        load_network(tmp_path / "text.onnx")


def external(path: Path, location: str) -> Path:
    model = onnx.load_model_from_string(convolution(path, np.ones((1, 1, 3, 3))).read_bytes())
    (tensor,) = model.graph.initializer
    raw = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", str(len(raw)))):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    path.write_bytes(model.SerializeToString())
    return path


def test_weights_may_be_in_another_file_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(np.ones(9, np.float32).tobytes())
    assert load_network(external(tmp_path / "net.onnx", "weights.bin")).radius == (0, 1, 1)


@pytest.mark.parametrize("location", ["../secret.bin", "/etc/passwd", "link.bin"])
def test_weights_outside_the_folder_are_refused(location: str, tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(np.ones(9, np.float32).tobytes())
    folder = tmp_path / "networks"
    folder.mkdir()
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    with pytest.raises(InvalidInput, match=r"which is outside its folder\. Put the file of its weights"):
        load_network(external(folder / "net.onnx", location))


def test_a_huge_shape_is_refused_before_anything_is_allocated(tmp_path: Path) -> None:
    shape = ["b", 1, 2**40, 2**40]
    node = helper.make_node("Relu", ["in"], ["out"])
    path = save(tmp_path / "net.onnx", [node], {}, {"in": shape}, {"out": shape})
    with pytest.raises(InvalidInput, match=r"Use axes of at most 1,048,576"):
        load_network(path)
    wide = ["b", 1, 2**19, 2**19]
    path = save(tmp_path / "net.onnx", [node], {}, {"in": wide}, {"out": wide})
    with pytest.raises(InvalidInput, match="voxels"):
        load_network(path)


def test_operators_of_others_are_refused(tmp_path: Path) -> None:
    node = helper.make_node("Evil", ["in"], ["out"], domain="org.example")
    graph = helper.make_graph(
        [node],
        "small",
        [helper.make_tensor_value_info("in", TensorProto.FLOAT, free(1, 2))],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, free(1, 2))],
    )
    (tmp_path / "net.onnx").write_bytes(helper.make_model(graph).SerializeToString())
    with pytest.raises(InvalidInput, match=r"uses operators of 'org.example'"):
        load_network(tmp_path / "net.onnx")


def test_a_network_of_one_axis_is_refused(tmp_path: Path) -> None:
    node = helper.make_node("Relu", ["in"], ["out"])
    path = save(tmp_path / "net.onnx", [node], {}, {"in": ["b"]}, {"out": ["b"]})
    with pytest.raises(InvalidInput, match="has 1 axes"):
        load_network(path)


def changed(path: Path, change: Callable[[onnx.ModelProto], object]) -> Path:
    model = onnx.load_model_from_string(convolution(path, np.ones((1, 1, 3, 3))).read_bytes())
    change(model)
    path.write_bytes(model.SerializeToString())
    return path


def test_a_tensor_of_an_unknown_type_is_an_error(tmp_path: Path) -> None:
    def change(model: onnx.ModelProto) -> None:
        model.graph.input[0].type.tensor_type.elem_type = 999

    with pytest.raises(Corrupted, match="the type of its tensor 'in' is unknown"):
        load_network(changed(tmp_path / "net.onnx", change))


@pytest.mark.parametrize(("key", "value"), [("offset", "-5"), ("offset", "a"), ("length", "9" * 30)])
def test_weights_at_an_impossible_place_of_their_file_are_an_error(key: str, value: str, tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(np.ones(9, np.float32).tobytes())
    path = external(tmp_path / "net.onnx", "weights.bin")
    model = onnx.load_model_from_string(path.read_bytes())
    (entry,) = (one for one in model.graph.initializer[0].external_data if one.key == key)
    entry.value = value
    path.write_bytes(model.SerializeToString())
    with pytest.raises(Corrupted, match="its weights in another file cannot be read"):
        load_network(path)


def test_the_name_of_a_file_with_a_null_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="which is outside its folder"):
        load_network(external(tmp_path / "net.onnx", "a\0b"))


def test_constants_of_functions_are_checked_too(tmp_path: Path) -> None:
    """ONNX Runtime would read the file itself."""

    def change(model: onnx.ModelProto) -> None:
        constant = helper.make_node("Constant", [], ["w"], value=model.graph.initializer[0])
        tensor = constant.attribute[0].t
        tensor.data_location = TensorProto.EXTERNAL
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", "../secret.bin"
        opset = helper.make_opsetid("", 18)
        model.functions.append(helper.make_function("", "Own", [], ["w"], [constant], [opset]))

    with pytest.raises(InvalidInput, match=r"'../secret\.bin', which is outside its folder"):
        load_network(changed(tmp_path / "net.onnx", change))


def test_a_length_that_ends_the_process_of_onnx_runtime_is_refused(tmp_path: Path) -> None:
    node = helper.make_node("DepthToSpace", ["in"], ["out"], blocksize=2**40)
    graph = helper.make_graph(
        [node],
        "small",
        [helper.make_tensor_value_info("in", TensorProto.FLOAT, free(1, 2))],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, free(1, 2))],
    )
    (tmp_path / "net.onnx").write_bytes(helper.make_model(graph).SerializeToString())
    with pytest.raises(InvalidInput, match=r"blocksize of an operator 'DepthToSpace' .* Use a network whose lengths"):
        load_network(tmp_path / "net.onnx")


def output(path: Path, node: onnx.NodeProto, kind: int) -> Path:
    """A network of one node, whose output has this type."""
    values = [
        helper.make_tensor_value_info(name, type, ["b", 1, "y", "x"])
        for name, type in (("in", TensorProto.FLOAT), ("out", kind))
    ]
    graph = helper.make_graph([node], "small", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 9
    path.write_bytes(model.SerializeToString())
    return path


def test_an_output_of_texts_is_refused(tmp_path: Path) -> None:
    node = helper.make_node("Cast", ["in"], ["out"], to=TensorProto.STRING)
    with pytest.raises(InvalidInput, match="is not numbers"):
        load_network(output(tmp_path / "net.onnx", node, TensorProto.STRING))


def test_an_output_that_is_true_or_false_makes_labels(tmp_path: Path) -> None:
    voxels = np.random.default_rng(3).normal(size=(4, 40, 40)).astype(np.float32)
    np.save(tmp_path / "scan.npy", voxels)
    node = helper.make_node("Greater", ["in", "zero"], ["out"])
    path = output(tmp_path / "net.onnx", node, TensorProto.BOOL)
    model = onnx.load_model_from_string(path.read_bytes())
    model.graph.initializer.append(numpy_helper.from_array(np.zeros((), np.float32), "zero"))
    path.write_bytes(model.SerializeToString())
    labels, _ = segment(str(tmp_path / "scan.npy"), str(tmp_path / "labels.zarr"), str(path))
    assert np.array_equal(labels.read() > 0, voxels > 0)
