"""Windows of volumes as a dataset for PyTorch's DataLoader.

Here: VolumeChannels, WindowDataset: windows by number, read from the volumes when they are asked for; window_loader.
Not here: where windows lie (window_grid), windows that are stored as tensors (stored_windows).
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import current_process
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from pellucid.box import Box, Shape, triple
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from pellucid.infer.windows import reflected
from pellucid.learn.data.augmentation import Augmentation
from pellucid.learn.data.chunk_cache import ChunkCache
from pellucid.learn.data.window_grid import RandomWindows, WindowGrid, WindowPlaces
from pellucid.volume.volume import Volume, open_volume

DEFAULT_CACHE_BYTES = 2**28
Name = str | Path | Location


@dataclass(frozen=True)
class VolumeChannels:
    """Volumes of one shape. source: input channels of the network. target: the result that it should learn, such as
    labels."""

    source: tuple[Name, ...]
    target: tuple[Name, ...] = ()


@dataclass(frozen=True)
class WindowOptions:
    """window, step: (z, y, x); step: between windows, by default the window. random: so many windows anywhere instead.
    dtypes: of the tensors, of the source and of the target. cache_bytes: in each process, for chunks in use."""

    window: Shape
    step: Shape | None = None
    random: int | None = None
    augmentation: Augmentation | None = None
    seed: int = 0
    dtypes: tuple[str | None, str | None] = ("float32", None)
    cache_bytes: int = DEFAULT_CACHE_BYTES


class WindowDataset(Dataset[Any]):
    """Windows of several volumes, with random access. Nothing but the windows that are asked for is read.

    An item is (source, target), each (channel, z, y, x), or the source alone where there are no targets. ``dataset[5]``
    is the sixth of all windows; ``dataset[2, 5]`` that of the third volume. Files are opened in the process that reads.
    """

    def __init__(self, volumes: Sequence[VolumeChannels | Name], options: WindowOptions) -> None:
        self.volumes = tuple(one if isinstance(one, VolumeChannels) else VolumeChannels((one,)) for one in volumes)
        self.options = options
        self._epoch = torch.zeros(1, dtype=torch.int64).share_memory_()  # Workers see when it changes.
        self._process, self._opened = 0, list[tuple[list[Volume], list[Volume]]]()
        self.shapes = self._check_shapes()
        self.places = _places(self.shapes, options)

    @property
    def shape(self) -> tuple[int, int, int, int, int, int]:
        """(dataset, batch, channel, z, y, x): of the windows of the volume that has most."""
        channels = len(self.volumes[0].source) + len(self.volumes[0].target)
        return len(self.volumes), max(self.places.counts), channels, *self.options.window

    def set_epoch(self, epoch: int) -> None:
        """Other random windows, and other augmentation; also in workers that run already."""
        self._epoch[0] = epoch

    def __len__(self) -> int:
        return sum(self.places.counts)

    def __getitem__(self, index: int | tuple[int, int]) -> Any:
        arrays = self.arrays(*self._located(index))
        tensors = tuple(map(_tensor, arrays, self.options.dtypes))
        return tensors if len(tensors) > 1 else tensors[0]

    def arrays(self, volume: int, number: int) -> tuple[Voxels, ...]:
        """A window of a volume: (channel, z, y, x) of the source, and of the target if there is one."""
        random = np.random.default_rng((self.options.seed, int(self._epoch[0]), volume, number))
        box = self.places.box(volume, number, random)
        sources, targets = self._volumes()[volume]
        arrays = tuple(
            np.stack([self._read(one, (volume, name), box) for name, one in enumerate(group, first)])
            for group, first in ((sources, 0), (targets, len(sources))) if group
        )  # fmt: skip
        return self.options.augmentation.apply(arrays, random) if self.options.augmentation else arrays

    def _read(self, volume: Volume, name: tuple[int, int], box: Box) -> Voxels:
        voxels = self._cache.read(volume, name, box)
        for axis, length in enumerate(self.options.window):  # A volume that is smaller than the window.
            if voxels.shape[axis] < length:
                voxels = np.take(voxels, reflected(np.arange(length), voxels.shape[axis]), axis=axis)
        return voxels

    def _located(self, index: int | tuple[int, int]) -> tuple[int, int]:
        counts = self.places.counts
        if isinstance(index, tuple):
            volume, number = index
            if not (0 <= volume < len(counts) and 0 <= number < counts[volume]):
                raise IndexError(f"There is no window {index}.")
            return volume, number
        number = index + len(self) if index < 0 else index
        for volume, count in enumerate(counts):
            if 0 <= number < count:
                return volume, number
            number -= count
        raise IndexError(f"There is no window {index}.")

    def _volumes(self) -> list[tuple[list[Volume], list[Volume]]]:
        """Opened by this process, when it needs them first."""
        if self._process != os.getpid():
            _refuse_fork()
            self._opened = [
                ([open_volume(one) for one in each.source], [open_volume(one) for one in each.target])
                for each in self.volumes
            ]
            self._cache, self._process = ChunkCache(self.options.cache_bytes), os.getpid()
        return self._opened

    def _check_shapes(self) -> tuple[Shape, ...]:
        if not self.volumes:
            raise InvalidInput("No volumes were given.", remedy="Pass at least one.")
        found = []
        for sources, targets in self._volumes():
            shapes = {volume.shape for volume in (*sources, *targets)}
            if len(shapes) != 1:
                named = ", ".join(str(one.location) for one in (*sources, *targets))
                raise InvalidInput(f"{named} have different shapes.", remedy="Use volumes of one shape.")
            found.append(shapes.pop())
        channels = {(len(one.source), len(one.target)) for one in self.volumes}
        if len(channels) > 1:
            raise InvalidInput(
                "The volumes have different channels.", remedy="Use as many sources and targets for each."
            )
        return tuple(found)

    def close(self) -> None:
        """Close the files of this process."""
        for volume in (volume for groups in self._opened for group in groups for volume in group):
            with suppress(OSError):
                volume.close()
        self._process, self._opened = 0, []

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_process": 0, "_opened": [], "_cache": None}


def window_loader(
    dataset: "Dataset[Any]", batch: int, *, workers: int = 2, is_shuffled: bool = True, seed: int = 0, **options: Any
) -> "DataLoader[Any]":
    """A DataLoader whose workers are not forks, so that they may open files. options: as of DataLoader."""
    if workers:
        options = {"multiprocessing_context": "forkserver", "persistent_workers": True, **options}
    generator = torch.Generator().manual_seed(seed)
    return DataLoader(
        dataset, batch, shuffle=is_shuffled, num_workers=workers, generator=generator,
        worker_init_fn=partial(_quiet_threads, 1) if workers else None, **options,
    )  # fmt: skip


def _quiet_threads(count: int, _: int) -> None:
    """A worker decodes chunks; PyTorch's threads would only be in the way of those of other workers."""
    torch.set_num_threads(count)


def _places(shapes: Sequence[Shape], options: WindowOptions) -> WindowPlaces:
    if min(options.window) < 1:
        raise InvalidInput(
            f"Windows of {options.window} (z, y, x) have no voxels.", remedy="Use at least 1 voxel along each axis."
        )
    if options.random is not None:
        return RandomWindows(shapes, options.window, options.random)
    step = options.step or options.window
    return WindowGrid(shapes, options.window, triple(step))


def _tensor(array: Voxels, dtype: str | None) -> Tensor:
    wanted = np.dtype(dtype) if dtype else array.dtype.newbyteorder("=")
    return torch.from_numpy(np.ascontiguousarray(array, wanted))


def _refuse_fork() -> None:
    """A fork has the locks of tensorstore's threads, and not the threads that would release them."""
    if type(current_process()).__name__ == "ForkProcess":
        raise InvalidInput(
            "The workers of the DataLoader are forks, which may not open volumes.",
            remedy="Use window_loader, or DataLoader(..., multiprocessing_context='forkserver').",
        )
