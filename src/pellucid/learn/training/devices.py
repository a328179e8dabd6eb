"""Where PyTorch trains, and in which precision.

Here: choose_devices, half_precision, is_compilable.
Not here: what runs there.
"""

import shutil
from functools import cache
from importlib.util import find_spec

import torch

from pellucid.device.names import parse_device_name
from pellucid.errors import InvalidInput
from pellucid.neural.torch_devices import torch_gpus


def choose_devices(name: str, count: int = 1) -> list[str]:
    """The devices of a training. name: auto, cpu, cuda, cuda:1 or mps. count: how many; on a CPU, processes."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    kind, number = parse_device_name(name, "mps")
    if kind == "cuda":
        return torch_gpus(number or 0, count)
    if kind == "mps" and not torch.backends.mps.is_available():
        raise InvalidInput("PyTorch found no Apple GPU on this machine.", remedy="Use --device cpu.")
    return [name] * count


def half_precision(device: str, precision: str) -> torch.dtype | None:
    """The type in which convolutions are computed; None for float32."""
    if precision == "float32":
        return None
    has_bfloat16 = device.startswith("cuda") and torch.cuda.is_bf16_supported(including_emulation=False)
    if precision == "bfloat16" or has_bfloat16:
        return torch.bfloat16
    return None


@cache
def is_compilable(device: str) -> bool:
    """Whether torch.compile works here: it needs an NVIDIA GPU, Triton, and a C compiler."""
    if not device.startswith("cuda") or not (shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")):
        return False
    return find_spec("triton") is not None and torch.cuda.get_device_capability(device) >= (7, 0)


def distributed_backend(device: str) -> str:
    return "nccl" if device.startswith("cuda") else "gloo"
