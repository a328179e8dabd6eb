"""Getting ready for a network that is not known yet.

Here: warm_up, which imports and starts everything that running a network takes.
Not here: choosing the runtime (runtime), when it is worth it (instance, workers).
"""

import numpy as np

from pellucid.infer.network_files.onnx_file import onnx_package
from pellucid.infer.runtime import RuntimeRequest, open_runtime

EDGE, CHANNELS = 64, 16


def warm_up(device: str = "auto") -> str:
    """Run a network of one convolution on a device; the name of the runtime that does it. Importing PyTorch and
    starting CUDA take seconds, which the first network then finds done."""
    found = open_runtime(RuntimeRequest(_convolution(), device))
    found.run({"in": np.zeros((1, 1, EDGE, EDGE), np.float32)})
    return found.name


def _convolution() -> bytes:
    onnx = onnx_package()
    weights = np.zeros((CHANNELS, 1, 3, 3), np.float32)
    tensors = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["b", channels, "y", "x"])
        for name, channels in (("in", 1), ("out", CHANNELS))
    ]
    node = onnx.helper.make_node("Conv", ["in", "weights"], ["out"], pads=[1] * 4)
    constant = onnx.numpy_helper.from_array(weights, "weights")
    graph = onnx.helper.make_graph([node], "convolution", tensors[:1], tensors[1:], [constant])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)])
    model.ir_version = 9
    written: bytes = model.SerializeToString()
    return written
