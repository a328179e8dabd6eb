"""Trying a network on small inputs: shapes inside it, and whether its fixed window can be changed.

Here: NetworkProbe, relax.
Not here: following the graph (graph), signatures (signature).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.infer.network_files.onnx_file import onnx_package
from pellucid.infer.network_files.signature import TensorSignature
from pellucid.infer.runtime import RuntimeRequest, open_runtime

if TYPE_CHECKING:
    import onnx

EDGES = (32, 64, 128, 96, 48, 256)
"""Of windows that are tried: most networks accept one of them."""
TOLERANCE = 1e-4
"""Relative to the largest value."""


@dataclass(frozen=True)
class NetworkProbe:
    """A network on one small random input. edges: along the spatial axes of the first input. outputs: what it made."""

    model: "onnx.ModelProto"
    inputs: tuple[TensorSignature, ...]
    edges: tuple[int, ...]
    outputs: Sequence[Voxels] = ()

    def shapes(self, names: list[str]) -> Mapping[str, Sequence[int]]:
        """The shapes of tensors inside the network."""
        onnx = onnx_package()
        watched = onnx.ModelProto()
        watched.CopyFrom(self.model)
        known = {one.name for one in (*watched.graph.output, *watched.graph.input)}
        extra = [name for name in dict.fromkeys(names) if name not in known]
        watched.graph.output.extend(onnx.ValueInfoProto(name=name) for name in extra)
        arrays = self.run(watched)
        listed = dict(zip([one.name for one in watched.graph.output], arrays, strict=True))
        given = {one.name: one for one in self.inputs}
        return {name: listed[name].shape if name in listed else self.tensor_shape(given[name]) for name in names}

    def run(self, model: "onnx.ModelProto | None" = None) -> Sequence[Voxels]:
        runtime = open_runtime(RuntimeRequest((model or self.model).SerializeToString(), "cpu"))
        return runtime.run({one.name: random_input(one, self.tensor_shape(one)) for one in self.inputs})

    def tensor_shape(self, tensor: TensorSignature) -> tuple[int, ...]:
        edges = dict(zip(self.inputs[0].spatial, self.edges, strict=True))
        shape = zip(tensor.axes, tensor.shape, strict=True)
        return tuple(edges.get(letter, length or 1) for letter, length in shape)


def random_input(tensor: TensorSignature, shape: tuple[int, ...]) -> Voxels:
    return np.random.default_rng(0).random(shape, np.float32).astype(tensor.dtype)


def probe(path: str, model: "onnx.ModelProto", inputs: tuple[TensorSignature, ...]) -> NetworkProbe:
    """A probe whose window the network accepts."""
    first, refusals = inputs[0], []
    for edge in EDGES:
        edges = tuple(first.length(letter) or edge for letter in first.spatial)
        try:
            return NetworkProbe(model, inputs, edges, NetworkProbe(model, inputs, edges).run())
        except InvalidInput as refusal:
            refusals.append(refusal)
    raise InvalidInput(f"{path} does not run: {refusals[0].what}", remedy=refusals[0].remedy)


def relax(tried: NetworkProbe, step: Mapping[str, int]) -> "onnx.ModelProto | None":
    """The network with a free window, where its fixed one is not part of what it computes; None where it is.

    tried: on its fixed window. A window that is cut off must give the same values near the corner that both have.
    """
    relaxed, first = onnx_package().ModelProto(), tried.inputs[0]
    relaxed.CopyFrom(tried.model)
    del relaxed.graph.value_info[:]
    names = {one.name for one in tried.inputs}
    for value in (*relaxed.graph.output, *(one for one in relaxed.graph.input if one.name in names)):
        dims = value.type.tensor_type.shape.dim
        for index, dim in enumerate(dims):
            if len(dims) != len(first.axes) or first.axes[index] in "bzyx":
                dim.dim_param = f"free_{index}"
    smaller = tuple(_smaller(n, step[letter]) for n, letter in zip(tried.edges, first.spatial, strict=True))
    try:
        return relaxed if smaller == tried.edges or _agrees(tried, relaxed, smaller) else None
    except InvalidInput:
        return None


def _smaller(edge: int, step: int) -> int:
    unit = lcm(step, 2)
    return max(unit, edge * 3 // 4 // unit * unit) if edge > unit else edge


def _agrees(tried: NetworkProbe, relaxed: "onnx.ModelProto", smaller: tuple[int, ...]) -> bool:
    """Whether values at the first corner are the same; how far from the cut they are depends on the network."""
    expected, cut = tried.outputs[0], NetworkProbe(relaxed, tried.inputs, smaller)
    parts = {
        one.name: random_input(one, tried.tensor_shape(one))[tuple(slice(n) for n in cut.tensor_shape(one))]
        for one in tried.inputs
    }
    found = open_runtime(RuntimeRequest(relaxed.SerializeToString(), "cpu")).run(parts)[0]
    if found.ndim != expected.ndim or found.shape == expected.shape:
        return False
    corner = tuple(slice(max(1, n // 8)) for n in found.shape)
    limit = TOLERANCE * max(1.0, float(np.abs(expected).max()))
    return bool(np.abs(found[corner].astype(np.float64) - expected[corner]).max() <= limit)
