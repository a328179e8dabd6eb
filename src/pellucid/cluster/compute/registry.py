"""What can be computed on blocks.

Here: the table of computations, and what each is given.
Not here: the computations.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.box import Box, Shape
from pellucid.choices import check_choice
from pellucid.device import Device

COMPUTATIONS = {
    "check_gl": "pellucid.cluster.compute.opengl.drawing:check_gl",
    "composite": "pellucid.cluster.compute.compositing:composite",
    "count_surface": "pellucid.cluster.compute.surface:count_surface",
    "draw": "pellucid.cluster.compute.drawing:draw_block",
    "draw_gl": "pellucid.cluster.compute.opengl.drawing:draw_gl",
    "draw_surface": "pellucid.cluster.compute.mesh_drawing:draw_surface",
    "front": "pellucid.cluster.compute.front:advance_front",
    "kernel": "pellucid.cluster.compute.user_kernels:run_kernel",
    "light": "pellucid.cluster.compute.light:follow_light",
    "multiply_light": "pellucid.cluster.compute.light:multiply_light",
    "read": "pellucid.cluster.compute.reading:read_block",
    "start_gl": "pellucid.cluster.compute.opengl.drawing:start_gl",
    "write_surface": "pellucid.cluster.compute.surface:write_surface",
}


@dataclass(frozen=True)
class BlockView:
    """A block on the device. outer: its array with the halo, as a NumPy array on the CPU, as a Warp array on a GPU."""

    outer: Any
    dtype: np.dtype[Any]
    shape: Shape
    halo: Shape

    @property
    def core(self) -> Any:
        """The array without its halo."""
        return self.outer[Box.whole(self.shape).shift(self.halo).slices]


@dataclass(frozen=True)
class ComputeContext:
    """device: where the blocks are. touch: to be called now and then by what takes long. state: kept by computations
    from one call to the next, such as what they have compiled."""

    device: Device
    touch: Callable[[], None]
    state: dict[str, Any]


Computation = Callable[[ComputeContext, dict[str, Any], Sequence[BlockView], BlockView | None], object]
"""(context, arguments, inputs, output) -> a value that JSON can hold."""


def computation_named(name: str) -> Computation:
    check_choice("computation", name, COMPUTATIONS)
    module, _, function = COMPUTATIONS[name].partition(":")
    found: Computation = getattr(importlib.import_module(module), function)
    return found
