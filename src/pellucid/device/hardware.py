"""The devices of this machine: its CPU, and the CUDA cards that Warp can use.

Here: Device, devices(), choose().
Not here: what runs on them (launches, primitives).
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pellucid import settings
from pellucid.device import runtime
from pellucid.errors import DeviceUnavailable

CPU = "cpu"
CUDA = "cuda"


@dataclass(frozen=True)
class Device:
    """Something that runs kernels and has memory.

    name: ``cpu``, ``cuda:0``, ``cuda:1``. kind: ``cpu`` or ``cuda``. label: what the maker calls it.
    total_bytes: its memory (of the CPU: what this process's control group may use).
    """

    name: str
    kind: str
    label: str
    total_bytes: int

    @property
    def is_cuda(self) -> bool:
        return self.kind == CUDA

    @property
    def index(self) -> int:
        """The number of a CUDA device; 0 for the CPU."""
        return int(self.name.rpartition(":")[2]) if self.is_cuda else 0

    def free_bytes(self) -> int:
        """What could be allocated now, if nobody else does."""
        if not self.is_cuda:
            return settings.available_memory_bytes()
        return int(runtime.start().get_device(self.name).free_memory)

    def __str__(self) -> str:
        return self.name


def devices() -> list[Device]:
    """Every usable device, the CPU first."""
    return list(_found())


def choose(asked: str | None = None) -> Device:
    """The device of that name (``auto``, ``cpu``, ``cuda``, ``cuda:1``); by default that of the settings.

    ``auto`` is the first CUDA device where there is one, else the CPU.
    """
    asked = asked or settings.current().device
    if asked == CPU:
        return _cpu()
    found = devices()
    if asked == "auto":
        return next((device for device in found if device.is_cuda), found[0])
    name = "cuda:0" if asked == CUDA else asked
    for device in found:
        if device.name == name:
            return device
    raise DeviceUnavailable(asked, [device.name for device in found])


@cache
def _found() -> tuple[Device, ...]:
    with runtime.LOCK:
        warp = runtime.start()
        cards = [Device(card.alias, CUDA, card.name, int(card.total_memory)) for card in warp.get_cuda_devices()]
    return (_cpu(), *cards)


@cache
def _cpu() -> Device:
    return Device(CPU, CPU, cpu_model(), settings.total_memory_bytes())


def cpu_model() -> str:
    """What the processor calls itself."""
    try:
        match = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        match = None
    return match[1] if match else "CPU"
