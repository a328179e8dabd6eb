"""Windows that are cut, computed and put together on a GPU.

Here: DeviceRegions.
Not here: the network on the device (runtime), which windows (infer).

A region is copied to the device once, by the thread that has read it; the network computes for one thread at a time, in
one stream; the result is copied back while the next region is computed.
"""

import threading
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pellucid.box import Box
from pellucid.conversion.values import ValueMap
from pellucid.engines.stopping import raise_if_stopped
from pellucid.formats.protocol import Voxels
from pellucid.infer.output_rule import OutputRule
from pellucid.infer.region_runtime import DeviceRegionRequest
from pellucid.infer.windows import Window, output_box, reflected

Compute = Callable[[Sequence[Tensor]], Sequence[Tensor]]
TYPES = {name: getattr(torch, name) for name in ("uint8", "int8", "uint16", "int16", "float16", "float32", "float64")}


class DeviceRegions:
    """compute: the network, for tensors on the device."""

    def __init__(self, device: str, compute: Compute) -> None:
        self._device, self._compute = device, compute
        self._is_gpu, self._turn = device.startswith("cuda"), threading.Lock()
        # One for each direction: memory that was used in one stream is not free for another.
        self._up, self._down = (torch.cuda.Stream(device) if self._is_gpu else None for _ in range(2))

    def run(self, request: DeviceRegionRequest) -> Voxels | None:
        rule = request.rule
        if str(request.voxels.dtype) not in TYPES or (rule is not None and output_type(rule) is None):
            return None
        region = self._upload(request.voxels)
        with self._turn:
            made = self._computed(region, request)
            if self._is_gpu:
                torch.cuda.current_stream(self._device).synchronize()
        return self._download(made)

    def host_array(self, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> Voxels:
        """For voxels on their way to the device: pinned memory, which is used again when the array is gone."""
        if not self._is_gpu or dtype.name not in TYPES:
            return np.empty(shape, dtype)
        return torch.empty(shape, dtype=TYPES[dtype.name], pin_memory=True).numpy()

    def _upload(self, voxels: Voxels) -> Tensor:
        tensor = torch.from_numpy(np.ascontiguousarray(voxels))
        if self._up is None:
            return tensor
        with torch.cuda.stream(self._up):
            copied = tensor.to(self._device, non_blocking=True)
            event = self._up.record_event()
        event.synchronize()
        return copied

    def _download(self, made: Tensor) -> Voxels:
        if self._down is None:
            return made.numpy()
        # Pinned as well, and not copied again: pages of fresh memory cost more time than the copy to it.
        pinned = torch.empty(made.shape, dtype=made.dtype, pin_memory=True)
        with torch.cuda.stream(self._down):
            pinned.copy_(made, non_blocking=True)
            event = self._down.record_event()
        event.synchronize()
        return pinned.numpy()

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _computed(self, region: Tensor, request: DeviceRegionRequest) -> Tensor:
        target = output_box(request.box, request.scale)
        made: Tensor | None = None
        for alike in _batches(request.windows, request.batch):
            raise_if_stopped()
            outputs = self._compute([torch.cat([_cut(region, one, request) for one in alike])])[0]
            for window, output in zip(alike, outputs, strict=True):
                volume = output if output.ndim == 4 else output[:, None]
                core = output_box(window.core_in_outer, request.scale)
                kept = finished(volume[(slice(None), *core.slices)], request.rule)
                if made is None:
                    made = torch.empty((*kept.shape[:-3], *target.shape), dtype=kept.dtype, device=kept.device)
                place = output_box(window.core.relative_to(request.box.start), request.scale)
                made[(..., *place.slices)] = kept
        if made is None:
            raise AssertionError("a box has at least one window")
        return made


def _batches(windows: Sequence[Window], count: int) -> list[list[Window]]:
    """Windows of the same shape, so many at a time."""
    groups = (list(alike) for _, alike in groupby(windows, key=lambda one: one.outer.shape))
    return [group[start : start + count] for group in groups for start in range(0, len(group), count)]


def _cut(region: Tensor, window: Window, request: DeviceRegionRequest) -> Tensor:
    """(1, channel, [z,] y, x) as float32; beyond the volume's border, reflected."""
    outer = window.outer.grow((request.neighbours, 0, 0))
    voxels = region
    if Box.whole(request.shape).contains(outer):
        voxels = voxels[(slice(None), *outer.relative_to(request.origin).slices)]
    else:
        for axis, (start, stop, length) in enumerate(zip(outer.start, outer.stop, request.shape, strict=True)):
            places = torch.from_numpy(reflected(np.arange(start, stop), length) - request.origin[axis])
            voxels = voxels.index_select(axis + 1, places.to(voxels.device))
    voxels = voxels.to(torch.float32)
    if request.neighbours:
        return voxels  # (1, slices, y, x): the slices are the channels.
    return voxels[None] if request.is_volumetric else voxels[:, 0][None]


def output_type(rule: OutputRule) -> torch.dtype | None:
    """Of what a rule keeps; None where it is not computed here."""
    if rule.kind == "labels":
        return torch.uint8
    wanted = TYPES.get(rule.values.dtype)
    is_float = rule.values.dtype.startswith("float")
    return wanted if (rule.values.value_range is not None) != is_float else None


def finished(output: Tensor, rule: OutputRule | None) -> Tensor:
    """As OutputRule.finish, on the device. output: (channel, z, y, x)."""
    if rule is None:
        return output.float()
    if rule.kind == "labels":
        found = output.argmax(0) if len(output) > 1 else output[0] > rule.threshold
        return found.to(torch.uint8)
    return _mapped(output[rule.channel].float(), rule.values)


def _mapped(values: Tensor, rule: ValueMap) -> Tensor:
    if rule.value_range is None:
        return values.to(TYPES[rule.dtype])
    (low, high), limits = rule.value_range, np.iinfo(rule.dtype)
    span = float(limits.max) - float(limits.min)
    scaled = (values.nan_to_num(nan=low, posinf=high, neginf=low) - low) * (span / (high - low))
    return (scaled.round().clamp(0, span) + float(limits.min)).to(torch.int32).to(TYPES[rule.dtype])
