"""Runtimes that take a region of a volume to their device once, and cut its windows there.

Here: DeviceRegionRequest, RegionRuntime, the protocol; whether a network can be run that way.
Not here: such a runtime (learn), cutting windows on the host (prediction).

A 2.5D network sees every slice in all of its windows' neighbours: cut on the host, each voxel would travel eleven
times.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from pellucid.box import Box, Shape
from pellucid.formats.protocol import Voxels
from pellucid.infer.network_files.network import Network
from pellucid.infer.output_rule import OutputRule
from pellucid.infer.windows import Window

CHANNELS_FIRST = ("bcyx", "bczyx")


@dataclass(frozen=True)
class DeviceRegionRequest:
    """voxels: (channel, z, y, x) of the source from ``origin`` on. shape: of the source. windows: that tile the box, to
    be computed ``batch`` at a time. neighbours, scale, is_volumetric (3D): of the network. rule: what is kept of its
    output; None for all channels."""

    voxels: Voxels
    origin: Shape
    shape: Shape
    box: Box
    windows: Sequence[Window]
    batch: int
    neighbours: int
    scale: Shape
    rule: OutputRule | None
    is_volumetric: bool


@runtime_checkable
class RegionRuntime(Protocol):
    """May be called by several threads at once."""

    def run_region(self, request: DeviceRegionRequest) -> Voxels | None:
        """The box of the output: (z, y, x), or (channel, z, y, x) without a rule. None for what it cannot do."""

    def host_array(self, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> Voxels:
        """Memory to read a region into, from which it gets to the device fastest."""


def takes_regions(network: Network) -> bool:
    """Whether the network has one input, channels first, and takes voxel values as they are."""
    form = network.form
    is_plain = not form.preprocess and not form.postprocess and len(network.inputs) == 1
    return is_plain and network.inputs[0].axes in CHANNELS_FIRST and network.output.axes == network.inputs[0].axes
