"""From a network in PyTorch to an ONNX graph.

Here: to_onnx, for networks that torch.fx can follow.
Not here: the files around it (network_folder), the way back (graph_import).

Written here, because torch.onnx needs two more packages, and because batch normalisation is folded into the
convolutions on the way.
"""

import copy
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import fx, nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval

from pellucid.errors import InvalidInput

OPSET, IR_VERSION = 18, 9
INPUT, OUTPUT = "input", "output"
LETTERS = {4: ("batch", "channel", "y", "x"), 5: ("batch", "channel", "z", "y", "x")}


def to_onnx(network: nn.Module, channels: int, outputs: int, axes: int, scale: Sequence[int] = ()) -> bytes:
    """The network as an ONNX file whose batch and window are free. scale: output voxels for an input voxel, along
    (z, y, x) or (y, x)."""
    folded = fold_normalisation(copy.deepcopy(network).cpu().float().eval())
    traced = fx.symbolic_trace(folded)
    writer = _Writer(dict(traced.named_modules()), axes)
    for node in traced.graph.nodes:
        writer.add(node)
    free = LETTERS[axes + 2]
    end = tuple(
        f"{letter}{'' if n == 1 else f'*{n}'}" for letter, n in zip(free[2:], scale or (1,) * axes, strict=True)
    )
    graph = helper.make_graph(
        writer.nodes,
        type(network).__name__,
        [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, ("batch", channels, *free[2:]))],
        [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ("batch", outputs, *end))],
        [numpy_helper.from_array(array, name) for name, array in writer.constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="pellucid")
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


def fold_normalisation(network: nn.Module) -> nn.Module:
    """Batch normalisation that follows a convolution becomes part of it, in place."""
    for part in network.modules():
        if not isinstance(part, nn.Sequential):
            continue
        for number in range(len(part) - 1):
            if isinstance(part[number], nn.Conv2d | nn.Conv3d) and isinstance(
                part[number + 1], nn.BatchNorm2d | nn.BatchNorm3d
            ):
                part[number] = fuse_conv_bn_eval(part[number], part[number + 1])
                part[number + 1] = nn.Identity()
    return network


class _Writer:
    """The nodes of a graph, and their constants."""

    def __init__(self, modules: dict[str, Any], axes: int) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self._modules, self._axes = modules, axes
        self._names: dict[fx.Node, str] = {}

    def add(self, node: fx.Node) -> None:
        match node.op:
            case "placeholder":
                self._names[node] = INPUT
            case "output":
                self.nodes.append(helper.make_node("Identity", [self._input(node.args[0])], [OUTPUT]))
            case "call_module":
                self._add_module(node, self._modules[str(node.target)])
            case "call_function" | "call_method":
                self._add_function(node)
            case _:
                raise _unknown(node.op)

    def _add_module(self, node: fx.Node, module: nn.Module) -> None:
        write = MODULES.get(type(module))
        if write is None:
            raise _unknown(type(module).__name__)
        write(self, node, module)

    def _add_function(self, node: fx.Node) -> None:
        write = FUNCTIONS.get(node.target)
        if write is None:
            raise _unknown(str(node.target))
        write(self, node)

    def write(self, node: fx.Node, kind: str, inputs: Sequence[str], **options: Any) -> None:
        self._names[node] = node.name
        self.nodes.append(helper.make_node(kind, list(inputs), [node.name], name=node.name, **options))

    def pass_on(self, node: fx.Node) -> None:
        self._names[node] = self._input(node.args[0])

    def constant(self, name: str, array: Any) -> str:
        self.constants[name] = np.ascontiguousarray(array)
        return name

    def inputs(self, node: fx.Node, count: int = 1) -> list[str]:
        return [self._input(argument) for argument in node.args[:count]]

    def _input(self, argument: Any) -> str:
        if isinstance(argument, int | float):
            return self.constant(f"number_{argument!r}", np.array(argument, np.float32))
        return self._names[argument]


def _unknown(name: str) -> InvalidInput:
    return InvalidInput(
        f"{name} cannot be exported to ONNX.", remedy="Use the operations that networks in pellucid.learn consist of."
    )


def _convolution(writer: _Writer, node: fx.Node, layer: Any) -> None:
    is_transposed = isinstance(layer, nn.ConvTranspose2d | nn.ConvTranspose3d)
    named = [*writer.inputs(node), writer.constant(f"{node.name}.weight", layer.weight.detach().numpy())]
    if layer.bias is not None:
        named.append(writer.constant(f"{node.name}.bias", layer.bias.detach().numpy()))
    options = {"pads": [*layer.padding] * 2, "strides": [*layer.stride], "group": layer.groups}
    options |= {"dilations": [*layer.dilation], "kernel_shape": [*layer.kernel_size]}
    if is_transposed:
        options["output_padding"] = [*layer.output_padding]
    writer.write(node, "ConvTranspose" if is_transposed else "Conv", named, **options)


def _pool(writer: _Writer, node: fx.Node) -> None:
    edges = list(node.args[1] if len(node.args) > 1 else node.kwargs["kernel_size"])
    writer.write(node, "MaxPool", writer.inputs(node), kernel_shape=edges, strides=edges)


def _resize(writer: _Writer, node: fx.Node) -> None:
    """torch's interpolation by whole factors: nearest, or linear between voxel centres."""
    factors, mode = node.kwargs["scale_factor"], str(node.kwargs["mode"])
    scales = writer.constant(f"{node.name}.scales", np.array([1, 1, *factors], np.float32))
    inputs = [*writer.inputs(node), "", scales]
    if mode == "nearest":
        options = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    else:
        options = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
    writer.write(node, "Resize", inputs, **options)


def _gather(writer: _Writer, node: fx.Node) -> None:
    """Channels first to stop: ``x[:, first:stop]``."""
    _, channels = node.args[1]
    chosen = np.arange(channels.start, channels.stop, dtype=np.int64)
    writer.write(node, "Gather", [*writer.inputs(node), writer.constant(f"{node.name}.chosen", chosen)], axis=1)


def _binary(kind: str) -> Callable[[_Writer, fx.Node], None]:
    return lambda writer, node: writer.write(node, kind, writer.inputs(node, 2))


def _unary(kind: str, **options: Any) -> Callable[..., None]:
    return lambda writer, node, *_: writer.write(node, kind, writer.inputs(node), **options)


def _attribute(writer: _Writer, node: fx.Node) -> None:
    """``x.to(y.dtype)``: everything is float32 here."""
    writer.pass_on(node)


def _ignored(writer: _Writer, node: fx.Node) -> None:
    """``y.dtype``, which ``x.to`` uses."""


def _leaky(writer: _Writer, node: fx.Node, layer: Any) -> None:
    writer.write(node, "LeakyRelu", writer.inputs(node), alpha=float(layer.negative_slope))


def _softmax(writer: _Writer, node: fx.Node, layer: Any) -> None:
    writer.write(node, "Softmax", writer.inputs(node), axis=int(layer.dim))


def _identity(writer: _Writer, node: fx.Node, _: Any) -> None:
    writer.pass_on(node)


MODULES: dict[type, Callable[[_Writer, fx.Node, Any], None]] = {
    nn.Conv2d: _convolution,
    nn.Conv3d: _convolution,
    nn.ConvTranspose2d: _convolution,
    nn.ConvTranspose3d: _convolution,
    nn.LeakyReLU: _leaky,
    nn.ReLU: _unary("Relu"),
    nn.Sigmoid: _unary("Sigmoid"),
    nn.Softmax: _softmax,
    nn.Identity: _identity,
}
FUNCTIONS: dict[Any, Callable[[_Writer, fx.Node], None]] = {
    functional.max_pool2d: _pool,
    functional.max_pool3d: _pool,
    functional.interpolate: _resize,
    operator.add: _binary("Add"),
    operator.mul: _binary("Mul"),
    operator.getitem: _gather,
    torch.sigmoid: _unary("Sigmoid"),
    getattr: _ignored,
    "to": _attribute,
}
