"""Memory of a GPU that another process of this machine has allocated.

Here: export_memory, which names it to other processes; MappedMemory, which is at the other end.
Not here: allocating it (Warp), which blocks are in it (cluster).

The driver is called directly. Warp's functions for this do not report errors: without a context on the calling thread
they give a name of random bytes, and where a name cannot be opened they give new memory of this process.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from pellucid.device import runtime
from pellucid.errors import InvalidInput

LIBRARY = "libcuda.so.1"
HANDLE_BYTES = 64
LAZY_PEER_ACCESS = 1
"""The only flag that the driver accepts."""


class _Handle(ctypes.Structure):
    _fields_ = (("reserved", ctypes.c_ubyte * HANDLE_BYTES),)


def export_memory(device_name: str, address: int) -> str:
    """A name for memory that was not allocated from a pool. It holds for as long as the memory is allocated."""
    base, size, handle = ctypes.c_uint64(), ctypes.c_size_t(), _Handle()
    with _context(device_name):
        # The driver names a whole allocation, whichever address in it is passed.
        _call("cuMemGetAddressRange_v2", ctypes.byref(base), ctypes.byref(size), ctypes.c_uint64(address))
        _call("cuIpcGetMemHandle", ctypes.byref(handle), base)
    return f"{bytes(handle).hex()}+{address - base.value}"


class MappedMemory:
    """address: of the memory in this process, until it is closed."""

    def __init__(self, device_name: str, name: str) -> None:
        self._device_name, self._base = device_name, ctypes.c_uint64()
        packed, _, offset = name.partition("+")
        handle = _Handle.from_buffer_copy(bytes.fromhex(packed))
        with _context(device_name):
            _call("cuIpcOpenMemHandle_v2", ctypes.byref(self._base), handle, ctypes.c_uint(LAZY_PEER_ACCESS))
        self.address = self._base.value + int(offset)

    def close(self) -> None:
        """The other process may free the memory then, and not before."""
        with _context(self._device_name):
            _call("cuIpcCloseMemHandle", self._base)


@contextmanager
def _context(device_name: str) -> Iterator[None]:
    """On this thread. The driver has one for each, and that of a new thread has none."""
    with runtime.LOCK, runtime.start().get_device(device_name).context_guard:
        yield


def _call(function: str, *arguments: Any) -> None:
    status = getattr(_driver(), function)(*arguments)
    if status:
        what = f"The NVIDIA driver did not share memory between processes ({function}: {_error_name(status)})."
        remedy = "Use a driver and a container that support CUDA's inter-process handles, or start Workers on the CPU."
        raise InvalidInput(what, remedy=remedy)


def _error_name(status: int) -> str:
    name = ctypes.c_char_p()
    _driver().cuGetErrorName(ctypes.c_int(status), ctypes.byref(name))
    return name.value.decode() if name.value else f"error {status}"


@cache
def _driver() -> ctypes.CDLL:
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError as error:
        what = f"The library of the NVIDIA driver, {LIBRARY}, cannot be loaded."
        raise InvalidInput(what, remedy="Install the driver, or start Workers on the CPU.") from error
