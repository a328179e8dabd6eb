"""Where PyTorch trains, and in which precision.

Here: choose_devices, half_precision, is_compilable, fast_convolutions; the order in which convolutions are fast.
Not here: what runs there.
"""

import shutil
from contextlib import AbstractContextManager
from functools import cache
from importlib.util import find_spec
from typing import TypeVar

import torch
from torch import Tensor, nn

from pellucid.device.names import parse_device_name
from pellucid.errors import InvalidInput
from pellucid.neural.torch_devices import torch_gpus

Tensors = TypeVar("Tensors", Tensor, nn.Module)
FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}
"""By the number of axes: tensor cores want the channels of a voxel side by side."""


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


def fast_convolutions() -> AbstractContextManager[None]:
    """Convolutions on CUDA by the fastest of cuDNN's algorithms for their shapes, which are tried once."""
    flags: AbstractContextManager[None] = torch.backends.cudnn.flags(
        enabled=True, benchmark=True, deterministic=False, allow_tf32=True
    )
    return flags


def to_channels_last(given: Tensors) -> Tensors:
    """A tensor, or a network with all its weights, whose channels are the last axis in memory."""
    if isinstance(given, Tensor):
        return given.contiguous(memory_format=FORMATS[given.ndim]) if given.ndim in FORMATS else given
    for parameter in [*given.parameters(), *given.buffers()]:
        parameter.data = to_channels_last(parameter.data)
    return given
