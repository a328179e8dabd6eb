"""Running a network: ONNX Runtime, or a runtime that another package registers.

Here: NetworkRuntime, the protocol; RuntimeRequest; choosing a runtime and a provider by what is available.
Not here: what is run (network), in which windows (windows).

Another package adds a runtime through the entry point group ``pellucid.network_runtimes``: a callable that takes a
RuntimeRequest and returns a NetworkRuntime, or None if it cannot run on that device.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Protocol

from pellucid.device.names import parse_device_name
from pellucid.errors import DeviceUnavailable, InvalidInput, MissingPackage
from pellucid.formats.protocol import Voxels

GROUP = "pellucid.network_runtimes"
PROVIDERS = {
    "TensorrtExecutionProvider": "TensorRT",
    "CUDAExecutionProvider": "CUDA",
    "CPUExecutionProvider": "CPU",
}
"""Of ONNX Runtime, the fastest first, and what users call them."""


@dataclass(frozen=True)
class RuntimeRequest:
    """model: the ONNX file's bytes, with all weights. device: auto, cpu, cuda or cuda:1. threads: 0 for all cores."""

    model: bytes
    device: str = "auto"
    threads: int = 0


class NetworkRuntime(Protocol):
    """A network that is ready to run. name: of the runtime and its device, for users. is_gpu: where it runs."""

    name: str
    is_gpu: bool

    def run(self, inputs: Mapping[str, Voxels]) -> Sequence[Voxels]:
        """All outputs of the graph for these inputs; one call at a time."""


def open_runtime(request: RuntimeRequest) -> NetworkRuntime:
    """ONNX Runtime where it has the device, else the first registered runtime that has it."""
    runtime = _open_onnxruntime(request)
    if runtime is not None:
        return runtime
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        found: NetworkRuntime | None = point.load()(request)
        if found is not None:
            return found
    raise DeviceUnavailable(request.device, ["cpu"])


def available_providers() -> list[str]:
    """What ONNX Runtime has here, the fastest first."""
    listed = _onnxruntime().get_available_providers()
    return [name for name in PROVIDERS if name in listed]


def _onnxruntime() -> Any:
    try:
        import onnxruntime
    except ModuleNotFoundError:
        raise MissingPackage("onnxruntime", "infer") from None
    return onnxruntime


def _open_onnxruntime(request: RuntimeRequest) -> "OnnxRuntime | None":
    kind, number = parse_device_name(request.device)
    providers = available_providers()
    gpus = [name for name in providers if name != "CPUExecutionProvider"]
    if kind == "cuda" and not gpus:
        return None
    if kind == "auto" and not gpus and (plugged := _plugged_gpu(request)):
        return plugged  # type: ignore[return-value]
    chosen = ["CPUExecutionProvider"] if kind == "cpu" else providers
    return OnnxRuntime(request, chosen, number or 0)


def _plugged_gpu(request: RuntimeRequest) -> NetworkRuntime | None:
    """A registered runtime that has a GPU, where ONNX Runtime has none."""
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        found: NetworkRuntime | None = point.load()(RuntimeRequest(request.model, "cuda", request.threads))
        if found is not None:
            return found
    return None


class OnnxRuntime:
    """A session of ONNX Runtime."""

    def __init__(self, request: RuntimeRequest, providers: Sequence[str], gpu: int = 0) -> None:
        onnxruntime = _onnxruntime()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = request.threads
        # Memory of one window's shape is not kept for the next: shapes differ at the borders of a volume.
        options.enable_mem_pattern = False
        named = [(name, {"device_id": gpu}) if PROVIDERS[name] != "CPU" else name for name in providers]
        try:
            self._session = onnxruntime.InferenceSession(request.model, options, providers=named)
        except Exception as error:  # The border to C++, which has a class for each of its errors.
            raise InvalidInput(
                f"ONNX Runtime did not accept the network: {_first_line(error)}.",
                remedy="Check it with onnx.checker.check_model, or export it again.",
            ) from error
        in_use = self._session.get_providers()[0]
        self.is_gpu = in_use != "CPUExecutionProvider"
        self.name = f"ONNX Runtime {onnxruntime.__version__} ({PROVIDERS.get(in_use, in_use)})"

    def run(self, inputs: Mapping[str, Voxels]) -> Sequence[Voxels]:
        try:
            found: Sequence[Voxels] = self._session.run(None, dict(inputs))
        except Exception as error:  # The border to C++, which has a class for each of its errors.
            shapes = ", ".join(f"{name} {array.shape} {array.dtype}" for name, array in inputs.items())
            raise InvalidInput(
                f"The network failed on {shapes}: {_first_line(error)}.",
                remedy="Choose a window that suits it with --window, or check its axes with --axes.",
            ) from error
        return found


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:300].rstrip(".")
