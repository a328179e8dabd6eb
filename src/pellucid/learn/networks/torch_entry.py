"""The entry point of PyTorch as a runtime of networks; it is loaded also where PyTorch is not installed.

Here: open_torch.
Not here: the runtime (runtime).
"""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.infer.runtime import RuntimeRequest

if TYPE_CHECKING:
    from pellucid.learn.networks.runtime import TorchRuntime

DRIVERS = ("/dev/nvidiactl", "/proc/driver/nvidia", "/dev/dxg")
"""One of them is there where a driver for NVIDIA's GPUs is; importing PyTorch takes seconds."""


def open_torch(request: RuntimeRequest) -> "TorchRuntime | None":
    """The network on a GPU; None without PyTorch, without a GPU that it can use, or with an operator that it lacks."""
    has_driver = any(Path(path).exists() for path in DRIVERS)
    if not has_driver or find_spec("torch") is None or request.device.partition(":")[0] != "cuda":
        return None
    from pellucid.learn.networks import runtime

    return runtime.open_torch(request)
