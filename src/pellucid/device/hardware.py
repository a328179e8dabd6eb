"""The devices of this machine: its CPU, and the CUDA GPUs that Warp can use.

Here: Device, devices(), choose().
Not here: what runs on them (kernel_launch, primitives).
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pellucid import settings
from pellucid.device import runtime
from pellucid.errors import DeviceUnavailable

CPU = "cpu"
CUDA = "cuda"
ALL = "all"
KEPT_BYTES = 256 * 2**20
"""Of a card's memory that stays with this process when it is freed: images need the same again and again."""


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
        """What could be allocated now."""
        if not self.is_cuda:
            return settings.available_memory_bytes()
        with runtime.LOCK:
            return int(runtime.start().get_device(self.name).free_memory)

    def __str__(self) -> str:
        return self.name


def devices() -> list[Device]:
    """Every usable device, the CPU first."""
    return list(_found())


def choose(request: str | None = None) -> Device:
    """The device of that name (``auto``, ``cpu``, ``cuda``, ``cuda:1``); by default that of the settings.

    ``auto`` is the first CUDA device where there is one, else the CPU.
    """
    request = request or settings.current().device
    if request == CPU:
        return _cpu()
    found = devices()
    if request == "auto":
        return next((device for device in found if device.is_cuda), found[0])
    name = "cuda:0" if request == CUDA else request
    for device in found:
        if device.name == name:
            return device
    raise DeviceUnavailable(request, [device.name for device in found])


def choose_all(request: str | None = None) -> tuple[Device, ...]:
    """The devices of a list (``cuda:0,cuda:1``); for ``all`` every CUDA device where there is one, else the CPU.

    >>> [device.name for device in choose_all("cpu,cpu")]
    ['cpu', 'cpu']
    """
    request = request or settings.current().device
    if request != ALL:
        return tuple(choose(name.strip()) for name in request.split(","))
    return tuple(device for device in devices() if device.is_cuda) or (_cpu(),)


@cache
def _found() -> tuple[Device, ...]:
    with runtime.LOCK:
        warp = runtime.start()
        cards = [Device(card.alias, CUDA, card.name, int(card.total_memory)) for card in warp.get_cuda_devices()]
        for card in warp.get_cuda_devices():
            if card.is_mempool_enabled:
                warp.set_mempool_release_threshold(card, KEPT_BYTES)
    return (_cpu(), *cards)


@cache
def _cpu() -> Device:
    return Device(CPU, CPU, cpu_model(), settings.total_memory_bytes())


def count_gpus(root: Path = Path("/"), environment: Mapping[str, str] = os.environ) -> int:
    """The NVIDIA cards that this process could use, as the machine's files say: no driver is started for it."""
    found = sum(1 for path in (root / "dev").glob("nvidia*") if re.fullmatch(r"nvidia\d+", path.name))
    found = found or int((root / "dev/dxg").exists())  # Windows Subsystem for Linux
    allowed = environment.get("CUDA_VISIBLE_DEVICES")
    if allowed is None:
        return found
    names = [name.strip() for name in allowed.split(",")]
    end = next((index for index, name in enumerate(names) if name in ("", "-1")), len(names))
    return min(found, end)


def cpu_model() -> str:
    """What the processor calls itself."""
    try:
        match = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        match = None
    return match[1] if match else "CPU"
