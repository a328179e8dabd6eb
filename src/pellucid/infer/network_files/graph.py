"""What the graph of a network says about windows: its receptive field, its strides, its normalisation.

Here: GraphFacts, and following every axis of the input, or of any tensor, through the operators.
Not here: reading the file (onnx_file), the shapes that depend on the input (the caller measures those).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.infer.network_files.onnx_file import onnx_package
from pellucid.infer.network_files.receptive_field import AxisReach, convolved, resized, transposed

if TYPE_CHECKING:
    import onnx

Reach = list[AxisReach | None]
"""For every axis of a tensor; None where the axis is none of the input's."""
MeasureShapes = Callable[[list[str]], Mapping[str, Sequence[int]]]

POOLS = {"MaxPool", "AveragePool", "LpPool"}
WINDOW_STATISTICS = {
    "InstanceNormalization", "GroupNormalization", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool",
    "MeanVarianceNormalization",
}  # fmt: skip
REDUCTIONS = {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceSum", "ReduceL1", "ReduceL2", "ReduceProd"}
ALONG_ONE_AXIS = {"Softmax", "LogSoftmax", "Hardmax", "LayerNormalization", "ArgMax", "CumSum"}
ELEMENTWISE = {
    "Abs", "Add", "And", "BatchNormalization", "Cast", "Ceil", "Celu", "Clip", "Cos", "Div", "Dropout", "Elu", "Equal",
    "Erf", "Exp", "Floor", "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish", "Identity", "LRN",
    "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Mean", "Min", "Mish", "Mul", "Neg", "Not", "Or", "PRelu", "Pow",
    "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Sqrt", "Sub", "Sum",
    "Tan", "Tanh", "ThresholdedRelu", "Where", "Concat", "QuantizeLinear", "DequantizeLinear",
}  # fmt: skip


@dataclass(frozen=True)
class GraphFacts:
    """radius: how far an output voxel reaches into the input, by axis letter. step: what the edges of a window and its
    position must be multiples of. window_statistics: operators whose result depends on the whole window. unknown:
    operators that were not followed, so that the radius is not known."""

    radius: dict[str, int]
    step: dict[str, int]
    window_statistics: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def is_followed(self) -> bool:
        """Whether an output voxel depends on what is within the radius, and on nothing else."""
        return not self.window_statistics and not self.unknown


def read_graph(model: "onnx.ModelProto", axes: Mapping[str, str], measure: MeasureShapes) -> GraphFacts:
    """Facts of a graph. axes: letters of every input tensor's axes, such as "bczyx". measure: shapes of tensors."""
    tracer = _Tracer(model, measure)
    for name, letters in axes.items():
        tracer.reaches[name] = [AxisReach() if letter in "zyx" else None for letter in letters]
    for node in model.graph.node:
        tracer.follow(node)
    letters = next(iter(axes.values()))
    spatial = [letter for letter in letters if letter in "zyx"]
    found = [one for one in tracer.reaches.get(model.graph.output[0].name, []) if one is not None]
    radius = {}
    if len(found) == len(spatial):
        radius = {letter: one.radius for letter, one in zip(spatial, found, strict=True)}
    else:
        tracer.unknown.append("its output")
    step = {letter: tracer.steps.get(index, 1) for index, letter in enumerate(spatial)}
    return GraphFacts(radius, step, tuple(dict.fromkeys(tracer.statistics)), tuple(dict.fromkeys(tracer.unknown)))


def follow(model: "onnx.ModelProto", sources: Mapping[str, Reach]) -> dict[str, Reach]:
    """How every tensor reaches into the sources, which may be any tensors of the graph. The graph states all shapes
    that this depends on; otherwise a KeyError."""
    tracer = _Tracer(model, lambda names: {}, dict(sources))
    for node in model.graph.node:
        tracer.follow(node)
    return tracer.reaches


def constants_of(model: "onnx.ModelProto") -> dict[str, Any]:
    """Arrays that a graph has by name."""
    to_array = onnx_package().numpy_helper.to_array
    found = {one.name: to_array(one) for one in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            found[node.output[0]] = to_array(node.attribute[0].t)
    return found


@dataclass
class _Tracer:
    model: "onnx.ModelProto"
    measure: MeasureShapes
    reaches: dict[str, Reach] = field(default_factory=dict)
    reshaped: dict[str, Reach] = field(default_factory=dict)
    statistics: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    steps: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.constants = constants_of(self.model)

    def follow(self, node: "onnx.NodeProto") -> None:
        inputs = [self.reaches[name] for name in node.input if name in self.reaches]
        if not inputs or node.output[0] in self.reaches or node.op_type in ("Shape", "Size", "ConstantOfShape"):
            return
        result = self._result(node, inputs)
        for name in node.output:
            self.reaches[name] = result
        jumps = [one.jump for one in result if one is not None]
        for index, jump in enumerate(jumps):
            self.steps[index] = lcm(self.steps.get(index, 1), jump.numerator if jump > 1 else 1)

    def _result(self, node: "onnx.NodeProto", inputs: list[Reach]) -> Reach:
        kind, first, options = node.op_type, inputs[0], options_of(node)
        if kind in POOLS or kind in ("Conv", "ConvTranspose"):
            return self._filtered(node, first, options)
        if kind in ("Resize", "Upsample"):
            return self._resized(node, first, options)
        if kind in WINDOW_STATISTICS:
            self.statistics.append(kind)
            return first
        if kind in REDUCTIONS or kind in ALONG_ONE_AXIS:
            return self._reduced(node, first, options)
        if kind in ELEMENTWISE:
            return _joined(inputs)
        return self._rearranged(node, first, options)

    def _filtered(self, node: "onnx.NodeProto", reach: Reach, options: dict[str, Any]) -> Reach:
        """Kernels slide along every axis after batch and channel."""
        kernel = options.get("kernel_shape") or list(self.constants[node.input[1]].shape[2:])
        count = len(kernel)
        strides, dilations = options.get("strides") or [1] * count, options.get("dilations") or [1] * count
        pads = options.get("pads") or [0] * 2 * count
        if options.get("auto_pad", b"NOTSET") in (b"SAME_UPPER", b"SAME_LOWER"):
            # What is padded depends on the size; the larger side is the bound.
            pads = [d * (k - 1) // 2 + (d * (k - 1) % 2) for k, d in zip(kernel, dilations, strict=True)] * 2
        change = transposed if node.op_type == "ConvTranspose" else convolved
        widths = zip(reach[2:], kernel, strides, dilations, pads[:count], strict=True)
        return [*reach[:2], *(one and change(one, k, s, d, p) for one, k, s, d, p in widths)]

    def _resized(self, node: "onnx.NodeProto", reach: Reach, options: dict[str, Any]) -> Reach:
        mode = options.get("mode", b"nearest").decode()
        coordinates = options.get("coordinate_transformation_mode", b"half_pixel").decode()
        if node.op_type == "Upsample":
            coordinates = "asymmetric"
        if coordinates == "align_corners":
            self.statistics.append("Resize with align_corners")
        scales = [self.constants.get(name) for name in node.input[1:]]
        found = next(
            (one for one in scales if one is not None and one.size == len(reach) and one.dtype.kind == "f"), None
        )
        if found is None:
            shapes = self.measure([node.input[0], node.output[0]])
            found = np.divide(shapes[node.output[0]], shapes[node.input[0]])
        factors = [Fraction(float(one)).limit_denominator(64) for one in found]
        return [one and resized(one, f, mode, coordinates) for one, f in zip(reach, factors, strict=True)]

    def _reduced(self, node: "onnx.NodeProto", reach: Reach, options: dict[str, Any]) -> Reach:
        """Over channels nothing changes; over an axis of the input the result depends on the whole window."""
        axes = self._axes(node, options)
        if node.op_type == "LayerNormalization" and axes:
            axes = list(range(axes[0] % len(reach), len(reach)))
        touched = [axis % len(reach) for axis in axes] if axes else list(range(len(reach)))
        if any(reach[axis] is not None for axis in touched):
            self.statistics.append(node.op_type)
        drops = (node.op_type in REDUCTIONS or node.op_type == "ArgMax") and not options.get("keepdims", 1)
        return [one for axis, one in enumerate(reach) if not (drops and axis in touched)]

    def _axes(self, node: "onnx.NodeProto", options: dict[str, Any]) -> list[int]:
        if node.op_type in ALONG_ONE_AXIS:
            return [options.get("axis", 0 if node.op_type == "ArgMax" else -1)]
        named = options.get("axes")
        if named is None and len(node.input) > 1 and node.input[1] in self.constants:
            named = self.constants[node.input[1]].tolist()
        return [int(axis) for axis in named or []]

    def _rearranged(self, node: "onnx.NodeProto", reach: Reach, options: dict[str, Any]) -> Reach:
        kind = node.op_type
        if kind == "Transpose":
            return [reach[axis] for axis in options.get("perm") or range(len(reach) - 1, -1, -1)]
        if kind in ("Split", "Gather") and reach[options.get("axis", 0)] is None:
            return reach
        if kind in ("DepthToSpace", "SpaceToDepth"):
            return _blocked(reach, kind, options["blocksize"])
        if kind == "Pad" and (pads := self._padding(node, options)) is not None:
            return [one and one.gathered(1, -int(p), -int(p)) for one, p in zip(reach, pads, strict=False)]
        return self._reshaped(node, reach, options)

    def _reshaped(self, node: "onnx.NodeProto", reach: Reach, options: dict[str, Any]) -> Reach:
        kind = node.op_type
        if kind in ("Squeeze", "Unsqueeze") and (axes := self._axes(node, options)):
            return _squeezed(reach, axes) if kind == "Squeeze" else _unsqueezed(reach, axes)
        if kind in ("Reshape", "Flatten"):
            return self._reshape(node, reach)
        self.unknown.append(kind)
        return reach

    def _padding(self, node: "onnx.NodeProto", options: dict[str, Any]) -> Any:
        pads = options.get("pads")
        return pads if pads is not None else self.constants.get(node.input[1])

    def _reshape(self, node: "onnx.NodeProto", reach: Reach) -> Reach:
        """Group normalisation is exported as a reshape, an instance normalisation and a reshape back."""
        source = node.input[0]
        shapes = self.measure([source, node.output[0]])
        before, after = shapes[source], shapes[node.output[0]]
        if list(before) == list(after):
            return reach
        original = self.reshaped.pop("last", None)
        if original is not None and len(original) == len(after):
            return original
        self.reshaped["last"] = reach
        return [None] * (len(after) - 1) + [next((one for one in reach if one is not None), None)]


def options_of(node: "onnx.NodeProto") -> dict[str, Any]:
    value = onnx_package().helper.get_attribute_value
    return {attribute.name: value(attribute) for attribute in node.attribute}


def _joined(inputs: list[Reach]) -> Reach:
    """Element by element; shapes are aligned at their last axis, as in NumPy."""
    longest = max(len(one) for one in inputs)
    result: Reach = [None] * longest
    for one in inputs:
        for axis, reach in enumerate(one, start=longest - len(one)):
            known = result[axis]
            if known is None:
                result[axis] = reach
            elif reach is not None:
                result[axis] = known.joined(reach)
    return result


def _blocked(reach: Reach, kind: str, block: int) -> Reach:
    """Channels that become a block of voxels, or the other way."""
    if kind == "SpaceToDepth":
        return [one and one.gathered(block, 0, block - 1) for one in reach]
    return [one and one.spread(Fraction(block), Fraction(1, block) - 1, Fraction(0)) for one in reach]


def _squeezed(reach: Reach, axes: list[int]) -> Reach:
    gone = {axis % len(reach) for axis in axes}
    return [one for axis, one in enumerate(reach) if axis not in gone]


def _unsqueezed(reach: Reach, axes: list[int]) -> Reach:
    length = len(reach) + len(axes)
    new, rest = {axis % length for axis in axes}, iter(reach)
    return [None if axis in new else next(rest) for axis in range(length)]
