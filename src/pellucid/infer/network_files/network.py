"""A network: what its file says of its tensors, its windows and its values.

Here: Network, NetworkForm, examine_network.
Not here: files (loading, onnx_file), running it (runtime, prediction).
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.box import Shape, triple
from pellucid.errors import InvalidInput
from pellucid.infer.network_files.graph import GraphFacts, read_graph
from pellucid.infer.network_files.onnx_file import digest_of
from pellucid.infer.network_files.probing import NetworkProbe, probe, relax
from pellucid.infer.network_files.signature import TensorSignature, guess_axes, parse_axes, read_tensor
from pellucid.infer.network_files.transforms import ValueTransform

if TYPE_CHECKING:
    import onnx

PROBABILITY_ENDS = {"Sigmoid", "HardSigmoid", "Softmax"}


@dataclass(frozen=True)
class NetworkForm:
    """What a bare ONNX file does not state; None and empty: guessed, or nothing.

    axes, output_axes: one letter each: b, c, z, y, x. halo: voxels around the core of a window, (z, y, x). stated_halo:
    that of a manifest, used where the receptive field is not known.
    """

    axes: str | None = None
    halo: Shape | None = None
    preprocess: tuple[ValueTransform, ...] = ()
    postprocess: tuple[ValueTransform, ...] = ()
    output_axes: str | None = None
    stated_halo: Shape | None = None


@dataclass(frozen=True)
class Network:
    """A network whose signature is known. model: its file's bytes. scale: output voxels for an input voxel, (z, y, x).

    fixed_window: the only window that it accepts; None where any multiple of its step will do.
    """

    path: str
    digest: str
    model: bytes = field(repr=False)
    inputs: tuple[TensorSignature, ...]
    output: TensorSignature
    facts: GraphFacts
    scale: Shape
    fixed_window: Shape | None
    form: NetworkForm
    ends_in_probability: bool = False

    @property
    def name(self) -> str:
        return Path(self.path).name

    @property
    def is_3d(self) -> bool:
        return "z" in self.inputs[0].axes

    @property
    def neighbours(self) -> int:
        """Slices on either side of a slice that are its other channels; 0 for 2D and 3D networks."""
        channels = self.inputs[0].channels or 1
        return 0 if self.is_3d or len(self.inputs) > 1 or channels % 2 == 0 else channels // 2

    @property
    def kind(self) -> str:
        return "3D" if self.is_3d else "2.5D" if self.neighbours else "2D"

    @property
    def radius(self) -> Shape | None:
        """How far an output voxel reaches into the input, (z, y, x); None where that is not known."""
        if self.facts.unknown:
            return None
        return triple(self.facts.radius.get(letter, 0) for letter in "zyx")

    @property
    def step(self) -> Shape:
        return triple(self.facts.step.get(letter, 1) for letter in "zyx")

    @property
    def output_channels(self) -> int:
        return self.output.channels or 1

    @property
    def max_batch(self) -> int | None:
        """Windows that it accepts at a time; None for any number."""
        return self.inputs[0].length("b") if "b" in self.inputs[0].axes else 1

    @property
    def warnings(self) -> tuple[str, ...]:
        if not self.facts.window_statistics:
            return ()
        named = ", ".join(self.facts.window_statistics)
        return (
            f"{self.name} normalises with statistics of the window ({named}): its result depends on the size of the "
            "window, whatever the halo. Use a network with batch normalisation for a result that does not.",
        )

    def describe(self) -> str:
        """One line for users."""
        window = "any window" if self.fixed_window is None else f"windows of {self.fixed_window}"
        reach = "receptive radius unknown" if self.radius is None else f"receptive radius {self.radius}"
        scaled = "" if self.scale == (1, 1, 1) else f", output scaled by {self.scale}"
        return f"{self.name}: {self.kind}, {window}, {reach} voxels (z, y, x){scaled}"


def examine_network(place: str, model: "onnx.ModelProto", form: NetworkForm) -> Network:
    """The network of a model; what its signature does not say is in the form."""
    digest = digest_of(model)
    if late := [one.name for one in form.postprocess if one.needs_statistics]:
        raise InvalidInput(
            f"{late[0]} after {place} needs statistics of the whole output, which are not known before it has run.",
            remedy="Choose another --postprocess, or apply it to the output.",
        )
    inputs = _inputs(place, model, form)
    tried = probe(place, model, inputs)
    axes = {one.name: one.axes for one in inputs}
    facts = read_graph(model, axes, tried.shapes)
    fixed = inputs[0].fixed_window
    if fixed is not None and (free := relax(tried, facts.step)) is not None:
        model, fixed = free, None
        inputs = tuple(replace(one, shape=_freed(one)) for one in inputs)
    output, scale = _output(place, model, tried, form.output_axes)
    return Network(
        path=place,
        digest=digest,
        model=model.SerializeToString(),
        inputs=inputs,
        output=output,
        facts=facts,
        scale=scale,
        fixed_window=fixed,
        form=form,
        ends_in_probability=_last_operator(model) in PROBABILITY_ENDS,
    )


def _inputs(path: str, model: "onnx.ModelProto", form: NetworkForm) -> tuple[TensorSignature, ...]:
    constants = {one.name for one in model.graph.initializer}
    values = [one for one in model.graph.input if one.name not in constants]
    if not values:
        raise InvalidInput(f"{path} has no inputs.", remedy="Use a network that takes a volume.")
    inputs = tuple(read_tensor(path, value, form.axes) for value in values)
    if len({one.spatial for one in inputs}) > 1:
        raise InvalidInput(
            f"The inputs of {path} have different spatial axes.",
            remedy="Use a network whose inputs have the same axes.",
        )
    return inputs


def _freed(tensor: TensorSignature) -> tuple[int | None, ...]:
    return tuple(n if letter == "c" else None for letter, n in zip(tensor.axes, tensor.shape, strict=True))


def _output(
    path: str, model: "onnx.ModelProto", tried: NetworkProbe, stated: str | None
) -> tuple[TensorSignature, Shape]:
    """The first output, with the axes of the input, and how it is scaled."""
    first, value = tried.inputs[0], model.graph.output[0]
    array = tried.outputs[0]
    if array.dtype.kind not in "biuf":
        raise InvalidInput(f"The output of {path} is not numbers.", remedy="Use a network that makes numbers.")
    axes = first.axes if array.ndim == len(first.axes) else guess_axes(path, value.name, array.shape)
    if array.ndim == len(first.axes) - 1 and "c" in first.axes:
        axes = first.axes.replace("c", "")
    axes = stated or axes
    parse_axes(path, value.name, axes, array.shape)
    edges = dict(zip(first.spatial, tried.edges, strict=True))
    factors = {letter: array.shape[axes.index(letter)] / edges[letter] for letter in first.spatial if letter in axes}
    if len(factors) != len(edges) or any(factor < 1 or factor % 1 for factor in factors.values()):
        raise InvalidInput(
            f"{path} makes an output of {array.shape} from windows of {tried.edges} (z, y, x).",
            remedy="Use a network whose output has the size of its input, or a whole multiple of it.",
        )
    shape = tuple(n if letter == "c" else None for letter, n in zip(axes, array.shape, strict=True))
    scale = triple(int(factors.get(letter, 1)) for letter in "zyx")
    return TensorSignature(value.name, axes, shape, str(array.dtype)), scale


def _last_operator(model: "onnx.ModelProto") -> str:
    made = {name: node for node in model.graph.node for name in node.output}
    node = made.get(model.graph.output[0].name)
    while node is not None and node.op_type in ("Identity", "Cast", "Transpose", "Squeeze"):
        node = made.get(node.input[0])
    return node.op_type if node is not None else ""
