"""Where PyTorch finds GPUs.

Here: count_torch_gpus, torch_gpus.
Not here: what Warp finds (device.hardware), which precision suits a device (learn.training.devices).
"""

import torch

from pellucid.errors import InvalidInput


def count_torch_gpus() -> int:
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def torch_gpus(first: int, count: int = 1) -> list[str]:
    """The names of so many GPUs, from a number on."""
    present = count_torch_gpus()
    if not present:
        raise InvalidInput(
            "PyTorch found no CUDA GPU on this machine.", remedy="Use --device cpu, or install PyTorch with CUDA."
        )
    if first + count > present:
        raise InvalidInput(
            f"{count} GPUs starting with cuda:{first} are not available: this machine has {present}.",
            remedy="Use fewer with --gpus, or another --device.",
        )
    return [f"cuda:{first + number}" for number in range(count)]
