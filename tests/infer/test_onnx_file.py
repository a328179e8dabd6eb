"""Files that are damaged, or made to do harm, are errors that say so."""

import pickle
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from pellucid.errors import Corrupted, EmptyFile, InvalidInput, NotFound
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
