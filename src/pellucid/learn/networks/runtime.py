"""PyTorch as a runtime of ONNX networks, for GPUs that ONNX Runtime cannot use.

Here: open_torch, which is registered in the entry point group ``pellucid.network_runtimes``; TorchRuntime.
Not here: windows (infer), the operators (graph_import), measuring the time on the GPU (gpu_clock).
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import Any

import numpy as np
import onnx
import torch
from torch import Tensor

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.infer.region_runtime import DeviceRegionRequest
from pellucid.infer.runtime import RuntimeRequest
from pellucid.learn.networks.device_regions import DeviceRegions
from pellucid.learn.networks.gpu_clock import GpuClock
from pellucid.learn.networks.graph_import import to_torch, unknown_operators
from pellucid.learn.training.devices import (
    choose_devices,
    fast_convolutions,
    half_precision,
    is_compilable,
    to_channels_last,
)

MIN_EAGER_S = 4.0
"""Of a GPU's time for inputs of one shape, before the network is compiled for it. Compiling takes 10 s or more, which
short work does not earn back: a volume in a viewer, the first windows of a small one."""


def open_torch(request: RuntimeRequest) -> "TorchRuntime | None":
    """The network on a GPU; None where PyTorch has none, or does not know one of the operators."""
    model = onnx.load_from_string(request.model)
    if request.device.partition(":")[0] != "cuda" or not torch.cuda.is_available() or unknown_operators(model):
        return None
    return TorchRuntime(model, choose_devices(request.device)[0])


class TorchRuntime:
    """Convolutions in bfloat16 and channels last, where the device has them."""

    def __init__(self, model: "onnx.ModelProto", device: str, precision: str = "auto") -> None:
        self.device, self.is_gpu = device, device.startswith("cuda")
        self._half = half_precision(device, precision)
        self._names = [one.name for one in model.graph.input if one.name not in _constants(model)]
        self.network = to_channels_last(to_torch(model).to(device))
        kind = torch.cuda.get_device_name(device) if self.is_gpu else "CPU"
        self.name = f"PyTorch {torch.__version__} ({kind}, {'bfloat16' if self._half else 'float32'})"
        self._clocks: dict[tuple[int, ...], GpuClock] = {}
        self._regions = DeviceRegions(device, self.compute)

    def run(self, inputs: Mapping[str, Voxels]) -> Sequence[Voxels]:
        tensors = [torch.from_numpy(inputs[name]).to(self.device) for name in self._names]
        try:
            return [one.float().cpu().numpy() for one in self.compute(tensors)]
        except (RuntimeError, InvalidInput) as error:
            shapes = ", ".join(str(tuple(one.shape)) for one in tensors)
            raise InvalidInput(
                f"The network failed on {shapes}: {str(error).splitlines()[0][:300].rstrip('.')}.",
                remedy="Choose a smaller --window, or --device cpu.",
            ) from error

    def run_region(self, request: DeviceRegionRequest) -> Voxels | None:
        """Windows that are cut on the device; on a CPU, the usual way is as good."""
        return self._regions.run(request) if self.is_gpu else None

    def host_array(self, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> Voxels:
        return self._regions.host_array(shape, dtype)

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def compute(self, tensors: Sequence[Tensor], *, is_compiled: bool | None = None) -> Sequence[Tensor]:
        """All outputs for tensors that are on the device. is_compiled: None compiles when it is worth it."""
        clock = self._clocks.setdefault(tuple(tensors[0].shape), GpuClock())
        if is_compiled is None:
            is_compiled = clock.seconds >= MIN_EAGER_S
        tensors = [to_channels_last(one) for one in tensors]
        kind = torch.device(self.device).type
        with torch.autocast(kind, self._half) if self._half else nullcontext():
            if is_compiled and is_compilable(self.device):
                with fast_convolutions():
                    return list(self._compiled(*tensors))
            with clock.measuring(is_gpu=self.is_gpu):
                return list(self.network(*tensors))

    @cached_property
    def _compiled(self) -> Callable[..., Sequence[Tensor]]:
        """PyTorch's compiler takes twice as long to import as PyTorch itself: only where something is compiled."""
        compiled: Callable[..., Sequence[Tensor]] = torch.compile(self.network, dynamic=False)
        return compiled


def _constants(model: "onnx.ModelProto") -> set[str]:
    return {one.name for one in model.graph.initializer}
