"""Running a network so that only what is kept of a window is computed.

Here: open_network, which chooses that where it can; TrimmedRuntime.
Not here: the graph (graph_cuts), windows (prediction).
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.formats.protocol import Voxels
from pellucid.infer.network_files.network import Network
from pellucid.infer.network_files.onnx_file import onnx_package
from pellucid.infer.runtime import NetworkRuntime, RuntimeRequest, open_runtime
from pellucid.infer.trimming.graph_cuts import TrimmedModel, trim

LAYOUT = "bczyx"


@runtime_checkable
class KeepingRuntime(Protocol):
    """A runtime that may leave out what is not kept."""

    def run_kept(self, inputs: Mapping[str, Voxels], core: Box, outer: Shape) -> tuple[Voxels, Box]:
        """The output for the core of a window, and the part of the window that it has."""


def open_network(network: Network, device: str = "auto") -> NetworkRuntime:
    """The runtime of a network. On a CPU it computes only what is kept, if the graph can be cut. On a GPU windows are
    so large that it would save little."""
    runtime = open_runtime(RuntimeRequest(network.model, device))
    trimmed = None if runtime.is_gpu else trimmed_model(network)
    return runtime if trimmed is None else TrimmedRuntime(open_runtime(RuntimeRequest(trimmed.model, "cpu")), trimmed)


def trimmed_model(network: Network) -> TrimmedModel | None:
    """The network with cuts; None where it cannot be cut."""
    is_plain = network.inputs[0].axes == network.output.axes == LAYOUT
    if not is_plain or not network.facts.is_followed or network.fixed_window is not None:
        return None
    return trim(onnx_package().load_model_from_string(network.model), network.step)


class TrimmedRuntime:
    """runtime: of the trimmed model."""

    is_gpu = False

    def __init__(self, runtime: NetworkRuntime, model: TrimmedModel) -> None:
        self._runtime, self._model, self.name = runtime, model, runtime.name

    def run(self, inputs: Mapping[str, Voxels]) -> Sequence[Voxels]:
        """Whole windows."""
        (array,) = inputs.values()
        outer = triple(array.shape[2:])
        return [self.run_kept(inputs, Box.whole(outer), outer)[0]]

    def run_kept(self, inputs: Mapping[str, Voxels], core: Box, outer: Shape) -> tuple[Voxels, Box]:
        places = {name: np.array(place, np.int64) for name, place in self._model.places(core, outer).items()}
        return self._runtime.run({**inputs, **places})[0], self._model.kept_box(core, outer)
