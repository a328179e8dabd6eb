"""Where PyTorch trains, and in which precision.

Here: choose_devices, half_precision, is_compilable.
Not here: what runs there.
"""

import re
import shutil
from functools import cache
from importlib.util import find_spec

import torch

from pellucid.errors import InvalidInput


def choose_devices(name: str, count: int = 1) -> list[str]:
    """The devices of a training. name: auto, cpu, cuda, cuda:1 or mps. count: how many; on a CPU, processes."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if not re.fullmatch(r"cpu|mps|cuda(:\d{1,3})?", name):
        raise InvalidInput(f"Unknown device {name!r}.", remedy="Use auto, cpu, cuda, cuda:1 or mps.")
    if name.startswith("cuda"):
        return _gpus(name, count)
    if name == "mps" and not torch.backends.mps.is_available():
        raise InvalidInput("PyTorch found no Apple GPU on this machine.", remedy="Use --device cpu.")
    return [name] * count


def _gpus(name: str, count: int) -> list[str]:
    present = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not present:
        raise InvalidInput(
            "PyTorch found no CUDA GPU on this machine.", remedy="Use --device cpu, or install PyTorch with CUDA."
        )
    first = int(name.partition(":")[2] or 0)
    if first + count > present:
        raise InvalidInput(
            f"{count} GPUs starting with {name} are not available: this machine has {present}.",
            remedy="Use fewer with --gpus, or another --device.",
        )
    return [f"cuda:{first + number}" for number in range(count)]


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
