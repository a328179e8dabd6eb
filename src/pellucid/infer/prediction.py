"""Running a network on a box of a volume, window by window.

Here: Predictor; a Predictor as the source of the next network.
Not here: which windows there are (windows), whole volumes (task).
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.engines.stopping import raise_if_stopped
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.infer.network_files.network import Network
from pellucid.infer.network_files.transforms import Statistics, apply_transforms
from pellucid.infer.output_rule import OutputRule
from pellucid.infer.region_runtime import DeviceRegionRequest, RegionRuntime, takes_regions
from pellucid.infer.runtime import NetworkRuntime
from pellucid.infer.sources import VolumeSource, VoxelSource
from pellucid.infer.trimming.trimmed_runtime import KeepingRuntime
from pellucid.infer.window_cache import WindowCache
from pellucid.infer.windows import Window, Windows, cut, input_box, output_box, reflected

DEFAULT_CACHE_BYTES = 2**30
Finish = Callable[[Voxels], Voxels]
"""From (channel, z, y, x) of the network to what is kept, (z, y, x) or (channel, z, y, x)."""


@dataclass
class Predictor:
    """A network that is ready to fill boxes. batch: windows at a time. Threads may share it: the network runs for one
    of them at a time, while others read and write."""

    network: Network
    windows: Windows
    runtime: NetworkRuntime
    statistics: Statistics
    batch: int = 1
    turn: threading.Lock = field(default_factory=threading.Lock)
    reading: threading.Lock = field(default_factory=threading.Lock)
    cache: WindowCache = field(default_factory=lambda: WindowCache(DEFAULT_CACHE_BYTES))

    def predict(self, source: VoxelSource, box: Box, finish: Finish | None = None) -> Voxels:
        """The result on a box of the input; it has ``scale`` voxels for each of the input's."""
        check_channels(self.network, source.channels)
        if self.windows.is_blended:
            return self._blended(source, box, finish)
        region = self.read_box(box, source.shape)
        voxels = self._read(source, region)
        if (made := self._on_device(voxels, region, box, source.shape, finish)) is not None:
            return made
        results: list[Voxels] = []
        for batch in self._batches(self.windows.cover(box, source.shape)):
            raise_if_stopped()
            inputs = np.stack([self._cut(voxels, region.start, one, source.shape) for one in batch])
            outputs, computed = self._run_kept(inputs, batch)
            for window, output in zip(batch, outputs, strict=True):
                core = window.core_in_outer.relative_to(computed.start)
                kept = output[(slice(None), *self._scaled(core).slices)]
                kept = finish(kept) if finish else kept
                if not results:
                    results.append(np.empty((*kept.shape[:-3], *self._scaled(box).shape), kept.dtype))
                results[0][(..., *self._scaled(window.core.relative_to(box.start)).slices)] = kept
        return results[0]

    def _read(self, source: VoxelSource, region: Box) -> Voxels:
        """Into memory from which it gets to the device fastest. One region after the other, which many threads read:
        the device begins with the first while they read the second."""
        runtime = self.runtime
        if isinstance(source, VolumeSource) and isinstance(runtime, RegionRuntime) and takes_regions(self.network):
            with self.reading:
                return source.read(region, runtime.host_array)
        return source.read(region)

    def _on_device(self, voxels: Voxels, region: Box, box: Box, shape: Shape, finish: Finish | None) -> Voxels | None:
        """The same by a runtime that cuts windows itself; None without one."""
        is_known = finish is None or isinstance(finish, OutputRule)
        if not (isinstance(self.runtime, RegionRuntime) and takes_regions(self.network) and is_known):
            return None
        request = DeviceRegionRequest(
            voxels=voxels,
            origin=region.start,
            shape=shape,
            box=box,
            windows=self.windows.cover(box, shape),
            batch=self.batch,
            neighbours=self.network.neighbours,
            scale=self.network.scale,
            rule=finish if isinstance(finish, OutputRule) else None,
            is_volumetric=self.network.is_3d,
        )
        return self.runtime.run_region(request)

    def _blended(self, source: VoxelSource, box: Box, finish: Finish | None) -> Voxels:
        """From all windows that reach into the box, weighted; neighbouring boxes use the same windows."""
        scale, target = self.network.scale, self._scaled(box)
        total = np.zeros((self.network.output_channels, *target.shape), np.float32)
        weight = np.zeros(target.shape, np.float32)
        for window in self.windows.touching(box, source.shape):
            raise_if_stopped()
            result = self.cache.get((id(source), window.core), partial(self._whole, source, window))
            part = window.outer.intersect(box)
            own, place = self._scaled(part.relative_to(window.outer.start)), self._scaled(part.relative_to(box.start))
            z, y, x = (np.repeat(w, s) for w, s in zip(self.windows.weights(window, source.shape), scale, strict=True))
            weights = (z[:, None, None] * y[:, None] * x)[own.slices]
            total[(slice(None), *place.slices)] += result[(slice(None), *own.slices)] * weights
            weight[place.slices] += weights
        total /= weight
        return finish(total) if finish else total

    def _whole(self, source: VoxelSource, window: Window) -> Voxels:
        """The result of one window, with its halo."""
        needed = Box(
            triple(int(reflected(np.arange(a, b), n).min()) for a, b, n in _ends(window.outer, source.shape)),
            triple(int(reflected(np.arange(a, b), n).max()) + 1 for a, b, n in _ends(window.outer, source.shape)),
        )
        region = needed.grow((self.network.neighbours, 0, 0)).intersect(Box.whole(source.shape))
        voxels = source.read(region)
        return np.array(self.run(self._cut(voxels, region.start, window, source.shape)[None])[0])

    def predict_output(self, source: VoxelSource, box: Box, finish: Finish | None = None) -> Voxels:
        """The result on a box of the output."""
        covered = input_box(box, self.network.scale)
        found = self.predict(source, covered, finish)
        return found[(..., *box.relative_to(self._scaled(covered).start).slices)]

    def read_box(self, box: Box, shape: Shape) -> Box:
        """The voxels of the source that a box needs."""
        needed = self.windows.read_box(box, shape)
        return needed.grow((self.network.neighbours, 0, 0)).intersect(Box.whole(shape))

    def run(self, inputs: Voxels) -> Voxels:
        """Windows (window, channel, z, y, x) through the network, with what comes before and after it."""
        tensors = self._tensors(inputs)
        with self.turn:
            output = self.runtime.run(tensors)[0]
        return self._finished(output)

    def _run_kept(self, inputs: Voxels, windows: Sequence[Window]) -> tuple[Voxels, Box]:
        """The same for what is kept of the windows, and more where the runtime computes more: the part of each window
        that the output has."""
        outer = windows[0].outer.shape
        if len(windows) > 1 or not isinstance(self.runtime, KeepingRuntime):
            return self.run(inputs), Box.whole(outer)
        tensors = self._tensors(inputs)
        with self.turn:
            output, computed = self.runtime.run_kept(tensors, windows[0].core_in_outer, outer)
        return self._finished(output), computed

    def _tensors(self, inputs: Voxels) -> dict[str, Voxels]:
        tensors, first = {}, 0
        ready = apply_transforms(self.network.form.preprocess, inputs, self.statistics)
        for tensor in self.network.inputs:
            count = tensor.channels or 1
            tensors[tensor.name] = tensor.pack(ready[:, first : first + count])
            first += count
        return tensors

    def _finished(self, output: Voxels) -> Voxels:
        unpacked = self.network.output.unpack(output)
        return apply_transforms(self.network.form.postprocess, unpacked, self.statistics)

    def _batches(self, windows: Sequence[Window]) -> Iterator[list[Window]]:
        for _, alike in groupby(windows, key=lambda one: one.outer.shape):
            group = list(alike)
            for start in range(0, len(group), self.batch):
                yield group[start : start + self.batch]

    def _cut(self, voxels: Voxels, origin: Shape, window: Window, shape: Shape) -> Voxels:
        """The window's voxels; for a 2.5D network, the slices around it as channels."""
        count = self.network.neighbours
        if not count:
            return cut(voxels, origin, window.outer, shape)
        return cut(voxels, origin, window.outer.grow((count, 0, 0)), shape).transpose(1, 0, 2, 3)

    def _scaled(self, box: Box) -> Box:
        return output_box(box, self.network.scale)


def _ends(box: Box, shape: Shape) -> Iterator[tuple[int, int, int]]:
    return zip(box.start, box.stop, shape, strict=True)


class PredictedSource:
    """The result of a network, computed where the next network reads it."""

    def __init__(self, predictor: Predictor, source: VoxelSource) -> None:
        self._predictor, self._source = predictor, source
        self.channels = predictor.network.output_channels
        self.shape = triple(n * s for n, s in zip(source.shape, predictor.network.scale, strict=True))

    def read(self, box: Box) -> Voxels:
        return self._predictor.predict_output(self._source, box)


def check_channels(network: Network, channels: int) -> None:
    """Refuse a source that has not as many channels as the network takes."""
    wanted = sum(one.channels or 1 for one in network.inputs)
    if channels == wanted or (network.neighbours and channels == 1):
        return
    raise InvalidInput(
        f"The number of channels of {network.name} is {wanted}, but {channels} were passed.",
        remedy=f"Pass {wanted} volumes: the first one, then --also VOLUME for each of the others."
        if wanted > 1
        else "Pass one volume, without --also.",
    )
