"""Requests of a Device Worker to its child, and the reply.

Here: the types, added to those that Workers exchange.
Not here: carrying them (workers.channel), handling them (service), sending them (worker.block_child).
"""

from dataclasses import dataclass

from pellucid.box import Shape
from pellucid.workers.protocol.messages import register_kinds


@dataclass(frozen=True)
class ShareBuffer:
    """A buffer of the Worker's device: its memory comes along, or link names it to the device's driver."""

    number: int
    nbytes: int
    link: str = ""


@dataclass(frozen=True)
class ForgetBuffers:
    """Let go of these buffers: their memory is freed with the reply."""

    request: int
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class ArraySpec:
    """A block in a buffer: as worker.device_buffers.BlockArray."""

    buffer: int
    dtype: str
    shape: Shape
    halo: Shape


@dataclass(frozen=True)
class RunComputation:
    """A computation by its name in the registry. arguments: JSON."""

    request: int
    name: str
    arguments: str
    inputs: tuple[ArraySpec, ...]
    output: ArraySpec | None


@dataclass(frozen=True)
class ComputationDone:
    """value: JSON that the computation returned. Also the reply to ForgetBuffers."""

    request: int
    value: str = "null"


register_kinds(ShareBuffer, ForgetBuffers, RunComputation, ComputationDone)
