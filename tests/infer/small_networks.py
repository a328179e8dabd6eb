"""Small networks that tests build: convolutions, a U-Net without weights to speak of, and what surrounds them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from pellucid.formats.protocol import Voxels

OPSET = 18
FREE = ("b", "c", "z", "y", "x")


def save(path: Path, nodes: Sequence[Any], weights: dict[str, Voxels], inputs: Any, outputs: Any) -> Path:
    """inputs, outputs: {name: shape}; a text in a shape is a free length."""
    graph = helper.make_graph(
        list(nodes),
        "small",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = 9
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    return path


def free(channels: int, axes: int, *, fixed: Sequence[int] = ()) -> list[Any]:
    """The shape of a tensor with channels first."""
    return ["b", channels, *(fixed or FREE[-axes:])]


def convolution(path: Path, kernel: Voxels, *, fixed: Sequence[int] = (), dilation: int = 1) -> Path:
    """One convolution that keeps the size. kernel: (outputs, inputs, [z,] y, x), of odd edges."""
    axes = kernel.ndim - 2
    pads = [dilation * (n // 2) for n in kernel.shape[2:]] * 2
    node = helper.make_node("Conv", ["in", "w"], ["out"], pads=pads, dilations=[dilation] * axes)
    shapes = free(kernel.shape[1], axes, fixed=fixed), free(kernel.shape[0], axes, fixed=fixed)
    return save(path, [node], {"w": kernel.astype(np.float32)}, {"in": shapes[0]}, {"out": shapes[1]})


def endless(path: Path) -> Path:
    """A loop whose condition stays true."""
    value = helper.make_tensor_value_info
    inputs = [
        value("round", TensorProto.INT64, []),
        value("goes", TensorProto.BOOL, []),
        value("a", TensorProto.FLOAT, None),
    ]
    outputs = [value("goes_on", TensorProto.BOOL, []), value("b", TensorProto.FLOAT, None)]
    same = [helper.make_node("Identity", [one], [other]) for one, other in (("goes", "goes_on"), ("a", "b"))]
    body = helper.make_graph(same, "body", inputs, outputs)
    nodes = [
        helper.make_node("Conv", ["in", "w"], ["c"]),
        helper.make_node("Loop", ["", "yes", "c"], ["out"], body=body),
    ]
    weights = {"w": np.ones((1, 1, 1, 1), np.float32), "yes": np.array(True)}
    return save(path, nodes, weights, {"in": free(1, 2)}, {"out": free(1, 2)})


def unet(path: Path, axes: int = 3, *, normalised: bool = False, fixed: Sequence[int] = ()) -> Path:
    """Two poolings, resizing, skip connections; all weights random. normalised: with instance normalisation."""
    random = np.random.default_rng(0)

    def weight(outputs: int, inputs: int) -> Voxels:
        values = random.standard_normal((outputs, inputs, *[3] * axes)) / np.sqrt(inputs * 3**axes)
        return np.asarray(values, np.float32)

    weights = {"w1": weight(3, 1), "w2": weight(4, 3), "w3": weight(4, 4), "w4": weight(3, 8), "w5": weight(1, 6)}
    weights["double"] = np.array([1, 1, *[2] * axes], np.float32)
    weights |= {"one": np.ones(3, np.float32), "zero": np.zeros(3, np.float32)}
    pads, two = [1] * 2 * axes, [2] * axes

    def conv(source: str, number: int) -> list[Any]:
        made = helper.make_node("Conv", [source, f"w{number}"], [f"c{number}"], pads=pads)
        return [made, helper.make_node("Relu", [f"c{number}"], [f"r{number}"])]

    def up(source: str, target: str) -> Any:
        return helper.make_node("Resize", [source, "", "double"], [target], mode="linear")

    first = "n1" if normalised else "r1"
    nodes = [*conv("in", 1)]
    if normalised:
        nodes += [helper.make_node("InstanceNormalization", ["r1", "one", "zero"], ["n1"])]
    nodes += [helper.make_node("MaxPool", [first], ["p1"], kernel_shape=two, strides=two), *conv("p1", 2)]
    nodes += [helper.make_node("MaxPool", ["r2"], ["p2"], kernel_shape=two, strides=two), *conv("p2", 3)]
    nodes += [up("r3", "u3"), helper.make_node("Concat", ["u3", "r2"], ["j3"], axis=1), *conv("j3", 4)]
    nodes += [up("r4", "u4"), helper.make_node("Concat", ["u4", first], ["j4"], axis=1)]
    nodes += [helper.make_node("Conv", ["j4", "w5"], ["out"], pads=pads)]
    shape = free(1, axes, fixed=fixed)
    return save(path, nodes, weights, {"in": shape}, {"out": shape})


def super_resolution(path: Path, kernel: Voxels) -> Path:
    """z twice as fine: every voxel becomes two, then a convolution. kernel: (z, y, x), of odd edges."""
    node = helper.make_node("Resize", ["in", "", "scales"], ["u"], mode="nearest", nearest_mode="floor",
                            coordinate_transformation_mode="asymmetric")  # fmt: skip
    pads = [n // 2 for n in kernel.shape] * 2
    weights = {"w": kernel[None, None].astype(np.float32), "scales": np.array([1, 1, 2, 1, 1], np.float32)}
    nodes = [node, helper.make_node("Conv", ["u", "w"], ["out"], pads=pads)]
    return save(path, nodes, weights, {"in": free(1, 3)}, {"out": ["b", 1, "z2", "y", "x"]})
