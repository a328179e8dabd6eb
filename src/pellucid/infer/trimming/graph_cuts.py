"""A graph that computes only what is kept of a window.

Here: trim, which cuts tensors inside a graph to the core of the window and the halo that they still need; TrimmedModel.
Not here: running it (trimmed_runtime), receptive fields (graph).

The halo of a window is the radius of the whole network. What follows a tensor reaches less far: of the decoder of a
U-Net, most of the halo need not be computed. Cuts are at multiples of the network's step. Only graphs of 3D networks
are cut: those of 2D networks would be slower, because ONNX Runtime orders the values of 2D convolutions in blocks of
channels and has to undo that for a cut.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any

from pellucid.box import Box, Shape, triple
from pellucid.infer.network_files.graph import ELEMENTWISE, POOLS, constants_of, follow, options_of
from pellucid.infer.network_files.onnx_file import onnx_package
from pellucid.infer.network_files.receptive_field import AxisReach

if TYPE_CHECKING:
    import onnx

FINER = {"ConvTranspose", "Resize", "Upsample"}
MIN_OPSET = 11
"""Since when the ends of a slice, and the second input of a resizing, are what they are."""
CORE: Shape = (0, 0, 0)
AXES = "pellucid_axes"
SPATIAL = [None, None, AxisReach(), AxisReach(), AxisReach()]
Density = tuple[Fraction, Fraction, Fraction]


@dataclass(frozen=True)
class Cut:
    """Where tensors are cut. starts, ends: inputs of the graph. reach: voxels of the window's input around the core
    that are kept, (z, y, x). before: the same of what is cut; None for the whole window. density: elements of the
    tensor for a voxel of the input."""

    starts: str
    ends: str
    reach: Shape
    before: Shape | None
    density: Density


@dataclass(frozen=True)
class TrimmedModel:
    """model: as bytes. step: of the network. The output is cut to the core of the window, in whole steps."""

    model: bytes = field(repr=False)
    step: Shape
    cuts: tuple[Cut, ...]

    def kept_box(self, core: Box, outer: Shape, reach: Shape | None = CORE) -> Box:
        """The part of a window around its core, in whole steps."""
        if reach is None:
            return Box.whole(outer)
        lows = (max(0, (a - r) // s * s) for a, r, s in zip(core.start, reach, self.step, strict=True))
        highs = (-(-(b + r) // s) * s for b, r, s in zip(core.stop, reach, self.step, strict=True))
        return Box(triple(lows), triple(min(high, n) for high, n in zip(highs, outer, strict=True)))

    def places(self, core: Box, outer: Shape) -> dict[str, list[int]]:
        """The inputs of the graph that say where it is cut, for a core in a window."""
        found: dict[str, list[int]] = {}
        for cut in self.cuts:
            before = self.kept_box(core, outer, cut.before)
            kept = self.kept_box(core, outer, cut.reach).relative_to(before.start)
            found[cut.starts] = [int(n * density) for n, density in zip(kept.start, cut.density, strict=True)]
            found[cut.ends] = [int(n * density) for n, density in zip(kept.stop, cut.density, strict=True)]
        return found


def trim(model: "onnx.ModelProto", step: Shape) -> TrimmedModel | None:
    """A copy of the graph of a 3D network with one input and one output, channels first, with cuts; None where it has
    operators that are not known to compute the same in a part of a window."""
    known = constants_of(model)
    inputs = [one.name for one in model.graph.input if one.name not in known]
    opset = max((one.version for one in model.opset_import if one.domain in ("", "ai.onnx")), default=0)
    is_plain = opset >= MIN_OPSET and len(inputs) == len(model.graph.output) == 1
    if not is_plain or not all(_is_the_same_in_a_part(node, known) for node in model.graph.node):
        return None
    trimmer = _Trimmer(model, step, inputs[0])
    for node in model.graph.node:
        trimmer.add(node)
    return trimmer.trimmed()


class _Trimmer:
    """Builds the new graph, node by node. to_input: how its tensors reach into the input. reaches: how far around the
    core they are computed; None for the whole window. made: names of what was cut, by name and reach."""

    def __init__(self, model: "onnx.ModelProto", step: Shape, source: str) -> None:
        self._model, self._step = model, step
        self._to_input = follow(model, {source: SPATIAL})
        self._output = model.graph.output[0].name
        self._reaches: dict[str, Shape | None] = {source: None}
        self._cuts: dict[tuple[Shape | None, Shape, Density], Cut] = {}
        self._made: dict[tuple[str, Shape], str] = {}
        self._nodes: list[Any] = []

    def add(self, node: "onnx.NodeProto") -> None:
        """A node, and the cuts before it."""
        copied = onnx_package().NodeProto()
        copied.CopyFrom(node)
        used = [name for name in node.input if name in self._reaches]
        reaches = {self._reaches[name] for name in used}
        reach = next(iter(reaches), None)
        if node.op_type in FINER:
            reach = _least(self._needed(used[0]), reaches)
        elif len(reaches) > 1 or (node.op_type == "Concat" and len(used) > 1):
            reach = _least(self._needed(node.output[0]), reaches)
        for number, name in enumerate(node.input):
            if name in self._reaches:
                copied.input[number] = self._cut(name, reach)
        self._nodes.append(copied)
        if used:
            self._reaches |= dict.fromkeys(node.output, reach)

    def trimmed(self) -> TrimmedModel:
        onnx = onnx_package()
        made = onnx.ModelProto()
        made.CopyFrom(self._model)
        self._cut_output()
        del made.graph.node[:], made.graph.value_info[:]
        made.graph.node.extend(self._nodes)
        made.graph.initializer.append(onnx.helper.make_tensor(AXES, onnx.TensorProto.INT64, [3], [2, 3, 4]))
        for cut in self._cuts.values():
            for name in (cut.starts, cut.ends):
                value = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT64, [3])
                made.graph.input.append(value)
        return TrimmedModel(made.SerializeToString(), self._step, tuple(self._cuts.values()))

    def _needed(self, tensor: str) -> Shape:
        """How far around the core a tensor is needed, in voxels of the input."""
        found = follow(self._model, {tensor: SPATIAL})[self._output]
        radii = (one.radius for one in found if one is not None)
        return triple(ceil(radius / density) for radius, density in zip(radii, self._density(tensor), strict=True))

    def _density(self, tensor: str) -> Density:
        z, y, x = (1 / one.jump for one in self._to_input[tensor] if one is not None)
        return (z, y, x)

    def _cut(self, tensor: str, reach: Shape | None) -> str:
        before = self._reaches[tensor]
        if reach is None or before == reach:
            return tensor
        key = (tensor, reach)
        if key not in self._made:
            self._made[key] = f"{tensor}_pellucid_{len(self._made)}"
            self._nodes.append(self._slice(tensor, self._made[key], reach))
        return self._made[key]

    def _slice(self, tensor: str, target: str, reach: Shape) -> Any:
        key = (self._reaches[tensor], reach, self._density(tensor))
        number = len(self._cuts)
        cut = self._cuts.setdefault(key, Cut(f"pellucid_starts_{number}", f"pellucid_ends_{number}", reach, *key[::2]))
        return onnx_package().helper.make_node("Slice", [tensor, cut.starts, cut.ends, AXES], [target])

    def _cut_output(self) -> None:
        """The output keeps its name."""
        if self._reaches[self._output] == CORE:
            return
        whole = f"{self._output}_pellucid_whole"
        for node in self._nodes:
            for names in (node.input, node.output):
                for number, name in enumerate(names):
                    names[number] = whole if name == self._output else name
        cut = self._slice(self._output, self._output, CORE)
        cut.input[0] = whole
        self._nodes.append(cut)


def _least(needed: Shape, reaches: set[Shape | None]) -> Shape:
    """Not more than there is: what is needed is in whole elements, which may be larger than those that were cut."""
    return triple(min(lengths) for lengths in zip(needed, *(one for one in reaches if one is not None), strict=True))


def _is_the_same_in_a_part(node: "onnx.NodeProto", known: dict[str, Any]) -> bool:
    """Whether every element is computed as in the whole window."""
    kind, options = node.op_type, options_of(node)
    constants = [known[name] for name in node.input if name in known]
    if kind == "Constant":
        return node.output[0] in known
    if kind == "Concat":
        return options["axis"] == 1 and not constants
    if kind in ("Resize", "Upsample"):
        scales = [one for one in constants if one.dtype.kind == "f" and one.size == len(SPATIAL)]
        return len(scales) == 1 and "antialias" not in options and all(one >= 1 and one % 1 == 0 for one in scales[0])
    if kind in POOLS or kind in ("Conv", "ConvTranspose"):
        return _keeps_size(kind, options, constants)
    if kind == "BatchNormalization":
        return True
    return kind in ELEMENTWISE and all(set(one.shape[-3:]) <= {1} for one in constants)


def _keeps_size(kind: str, options: dict[str, Any], constants: list[Any]) -> bool:
    """Whether whole steps become whole steps: lengths are divided, or multiplied, by the stride."""
    kernel = list(options.get("kernel_shape") or constants[0].shape[2:])
    count = len(kernel)
    if options.get("auto_pad", b"NOTSET") != b"NOTSET" or options.get("ceil_mode", 0) or "output_shape" in options:
        return False
    strides, dilations = options.get("strides") or [1] * count, options.get("dilations") or [1] * count
    pads, extra = options.get("pads") or [0] * 2 * count, options.get("output_padding") or [0] * count
    for axis, (k, s, d) in enumerate(zip(kernel, strides, dilations, strict=True)):
        margin, width, length = pads[axis] + pads[axis + count], d * (k - 1), 8 * s
        if kind == "ConvTranspose":
            is_kept = (length - 1) * s + width + 1 + extra[axis] - margin == length * s
        else:
            is_kept = (length + margin - width - 1) // s + 1 == length // s
        if not is_kept:
            return False
    return True
