"""A 3D U-Net with random weights, as an ONNX file and as a PyTorch function: the same network for both sides.

Here: weights, to_onnx, to_torch.
Not here: what is measured with it (learn).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.formats.protocol import Voxels

LAYERS = (
    ("a0", 1, 4), ("b0", 4, 4), ("a1", 4, 8), ("b1", 8, 8), ("a2", 8, 16), ("b2", 16, 16),
    ("c1", 24, 8), ("d1", 8, 8), ("c0", 12, 4), ("d0", 4, 4), ("e", 4, 1),
)  # fmt: skip
"""Name, channels in and out of every convolution of 3³; two poolings, linear resizing, skip connections."""


def weights() -> dict[str, Voxels]:
    random = np.random.default_rng(0)
    return {
        name: (random.standard_normal((outputs, inputs, 3, 3, 3)) * np.sqrt(2 / (27 * inputs))).astype(np.float32)
        for name, inputs, outputs in LAYERS
    }


def to_onnx(path: Path) -> Path:
    from onnx import TensorProto, helper, numpy_helper

    nodes: list[Any] = []

    def conv(source: str, name: str) -> str:
        nodes.append(helper.make_node("Conv", [source, name], [f"{name}_c"], pads=[1] * 6))
        if name == "e":
            return f"{name}_c"
        nodes.append(helper.make_node("Relu", [f"{name}_c"], [f"{name}_r"]))
        return f"{name}_r"

    def pool(source: str) -> str:
        nodes.append(helper.make_node("MaxPool", [source], [f"{source}_p"], kernel_shape=[2] * 3, strides=[2] * 3))
        return f"{source}_p"

    def join(coarse: str, fine: str) -> str:
        nodes.append(helper.make_node("Resize", [coarse, "", "double"], [f"{coarse}_u"], mode="linear"))
        nodes.append(helper.make_node("Concat", [f"{coarse}_u", fine], [f"{coarse}_j"], axis=1))
        return f"{coarse}_j"

    fine = conv(conv("in", "a0"), "b0")
    middle = conv(conv(pool(fine), "a1"), "b1")
    coarse = conv(conv(pool(middle), "a2"), "b2")
    up = conv(conv(join(coarse, middle), "c1"), "d1")
    last = conv(conv(conv(join(up, fine), "c0"), "d0"), "e")
    shape = ["b", 1, "z", "y", "x"]
    constants = {**weights(), "double": np.array([1, 1, 2, 2, 2], np.float32)}
    graph = helper.make_graph(
        nodes,
        "unet",
        [helper.make_tensor_value_info("in", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 9
    path.write_bytes(model.SerializeToString())
    return path


def to_torch() -> Callable[[Any], Any]:
    import torch
    from torch.nn import functional

    kernels = {name: torch.from_numpy(array) for name, array in weights().items()}

    def conv(tensor: Any, name: str) -> Any:
        made = functional.conv3d(tensor, kernels[name], padding=1)
        return made if name == "e" else functional.relu(made)

    def join(coarse: Any, fine: Any) -> Any:
        doubled = functional.interpolate(coarse, scale_factor=2, mode="trilinear", align_corners=False)
        return torch.cat([doubled, fine], 1)

    def run(tensor: Any) -> Any:
        with torch.inference_mode():
            fine = conv(conv(tensor, "a0"), "b0")
            middle = conv(conv(functional.max_pool3d(fine, 2), "a1"), "b1")
            coarse = conv(conv(functional.max_pool3d(middle, 2), "a2"), "b2")
            up = conv(conv(join(coarse, middle), "c1"), "d1")
            return conv(conv(conv(join(up, fine), "c0"), "d0"), "e")

    return run
