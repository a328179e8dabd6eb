"""From an ONNX graph to a network in PyTorch.

Here: to_torch, for the operators in OPERATORS.
Not here: running it on windows (runtime), the way to ONNX (graph_export).

The result is a torch.fx graph, so that torch.compile can join its operations.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx
import torch
from onnx import helper, numpy_helper
from torch import Tensor, fx, nn
from torch.nn import functional

from pellucid.errors import InvalidInput
from pellucid.learn.networks import graph_operators as operators

Options = Mapping[str, Any]
Operator = Callable[..., Any]


def to_torch(model: "onnx.ModelProto") -> fx.GraphModule:
    """A module that takes the graph's inputs in their order, and returns the list of its outputs."""
    builder = _Builder(model)
    for node in model.graph.node:
        builder.add(node)
    outputs = [builder.values[one.name] for one in model.graph.output]
    builder.graph.output(outputs)
    made = fx.GraphModule(builder.root, builder.graph)
    made.graph.lint()
    return made.requires_grad_(False).eval()


def unknown_operators(model: "onnx.ModelProto") -> list[str]:
    return sorted({node.op_type for node in model.graph.node} - {*OPERATORS, "Constant"})


class _Builder:
    """Values of the graph by their names: nodes, or arrays that are known."""

    def __init__(self, model: "onnx.ModelProto") -> None:
        self.root, self.graph = nn.Module(), fx.Graph()
        self.values: dict[str, Any] = {}
        self._constants: dict[str, Tensor] = {}
        for one in model.graph.initializer:
            self._constants[one.name] = torch.from_numpy(numpy_helper.to_array(one).copy())
        for one in model.graph.input:
            if one.name not in self._constants:
                self.values[one.name] = self.graph.placeholder(f"input_{len(self.values)}")

    def add(self, node: "onnx.NodeProto") -> None:
        options = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        if node.op_type == "Constant":
            self._constants[node.output[0]] = torch.from_numpy(numpy_helper.to_array(options["value"]).copy())
            return
        if node.op_type not in OPERATORS:
            raise InvalidInput(
                f"The operator {node.op_type} cannot be run by PyTorch here.",
                remedy="Run the network with --device cpu, or install onnxruntime-gpu.",
            )
        make, fixed = OPERATORS[node.op_type]
        arguments = [self._argument(name, number in fixed) for number, name in enumerate(node.input)]
        made = self.graph.call_function(make, tuple(arguments), _plain(options))
        if len(node.output) == 1:
            self.values[node.output[0]] = made
            return
        for number, name in enumerate(node.output):
            self.values[name] = self.graph.call_function(operator.getitem, (made, number))

    def _argument(self, name: str, is_fixed: bool) -> Any:
        """A value; where the operator needs numbers (axes, sizes) and not a tensor, those."""
        if not name:
            return None
        if name in self.values:
            return self.values[name]
        if is_fixed:
            return self._constants[name].tolist()
        key = "constant_" + "".join(c if c.isalnum() else "_" for c in name) + f"_{len(self.values)}"
        self.root.register_buffer(key, self._constants[name])
        self.values[name] = self.graph.get_attr(key)
        return self.values[name]


def _plain(options: Options) -> dict[str, Any]:
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in options.items()}


ALL: Sequence[int] = ()
OPERATORS: dict[str, tuple[Operator, Sequence[int]]] = {
    "Add": (operator.add, ALL),
    "Sub": (operator.sub, ALL),
    "Mul": (operator.mul, ALL),
    "Div": (operator.truediv, ALL),
    "Pow": (operator.pow, ALL),
    "Neg": (operator.neg, ALL),
    "Abs": (torch.abs, ALL),
    "Exp": (torch.exp, ALL),
    "Log": (torch.log, ALL),
    "Sqrt": (torch.sqrt, ALL),
    "Erf": (torch.erf, ALL),
    "Tanh": (torch.tanh, ALL),
    "Sigmoid": (torch.sigmoid, ALL),
    "Relu": (functional.relu, ALL),
    "Softplus": (functional.softplus, ALL),
    "Identity": (operators.identity, ALL),
    "Dropout": (operators.identity, ALL),
    "Cast": (operators.identity, ALL),
    "LeakyRelu": (operators.leaky_relu, ALL),
    "Elu": (operators.elu, ALL),
    "PRelu": (operators.prelu, ALL),
    "HardSigmoid": (operators.hard_sigmoid, ALL),
    "HardSwish": (functional.hardswish, ALL),
    "Clip": (operators.clip, (1, 2)),
    "Softmax": (operators.softmax, ALL),
    "Max": (torch.maximum, ALL),
    "Min": (torch.minimum, ALL),
    "Concat": (operators.concat, ALL),
    "Conv": (operators.convolution, ALL),
    "ConvTranspose": (operators.transposed_convolution, ALL),
    "BatchNormalization": (operators.batch_normalisation, ALL),
    "InstanceNormalization": (operators.instance_normalisation, ALL),
    "MaxPool": (operators.max_pool, ALL),
    "AveragePool": (operators.average_pool, ALL),
    "GlobalAveragePool": (operators.global_average_pool, ALL),
    "ReduceMean": (operators.mean, (1,)),
    "Resize": (operators.resize, (2, 3)),
    "Upsample": (operators.upsample, (1,)),
    "Gather": (operators.gather, (1,)),
    "Pad": (operators.pad, (1, 2)),
    "Transpose": (operators.transpose, ALL),
    "Squeeze": (operators.squeeze, (1,)),
    "Unsqueeze": (operators.unsqueeze, (1,)),
}
"""What an operator becomes, and which of its inputs are numbers instead of tensors."""
