"""Windows that are stored as tensors, for those who train for days: each is one chunk, read without the volumes.

Here: store_windows, StoredWindows.
Not here: windows of volumes (datasets), N5 (formats.chunked.n5_tensors).

In the container, ``tensors/source`` and ``tensors/target`` have the axes (dataset, batch, channel, z, y, x); with
several iterations, each with other random windows and augmentation, (iteration, dataset, batch, channel, z, y, x).
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from pellucid import progress
from pellucid.errors import NotFound
from pellucid.formats.chunked.n5_tensors import StoredTensor, create_tensor, open_tensor
from pellucid.learn.data.datasets import WindowDataset

NAMES = ("source", "target")
GROUP = "tensors"


def store_windows(dataset: WindowDataset, container: str | Path, *, iterations: int = 1) -> None:
    """Write every window of a dataset to a container; the volumes are not needed afterwards."""
    names, counts = NAMES if dataset.volumes[0].target else NAMES[:1], dataset.places.counts
    leading = (*((iterations,) if iterations > 1 else ()), len(counts), max(counts))
    stored = [
        create_tensor(
            container, f"{GROUP}/{name}", (*leading, *array.shape), (*[1] * len(leading), *array.shape),
            np.dtype(dtype or array.dtype).name, counts=list(counts),
        )
        for name, array, dtype in zip(names, dataset.arrays(0, 0), dataset.options.dtypes, strict=False)
    ]  # fmt: skip
    with progress.task("Storing windows", total=iterations * len(dataset), unit="windows") as bar:
        for iteration in range(iterations):
            dataset.set_epoch(iteration)
            _store_iteration(dataset, stored, (iteration,) if iterations > 1 else ())
            bar.advance(len(dataset))


def _store_iteration(dataset: WindowDataset, stored: list[StoredTensor], leading: tuple[int, ...]) -> None:
    for volume, count in enumerate(dataset.places.counts):
        for number in range(count):
            for tensor, array in zip(stored, dataset.arrays(volume, number), strict=True):
                place = (*leading, volume, number)
                tensor.write((*place, 0, 0, 0, 0), array[(None,) * len(place)])


class StoredWindows(Dataset[Any]):
    """Windows from a container. Items are as those of the dataset that was stored. shape: (dataset, batch, channel, z,
    y, x) of the source, after the iteration if there are several."""

    def __init__(self, container: str | Path) -> None:
        self.container = str(container)
        self._process, self._tensors = 0, list[StoredTensor]()
        source = self._opened()[0]
        self.shape = source.shape
        counts = source.attributes.get("counts") or [self.shape[-5]] * self.shape[-6]
        self._places = [
            (*iteration, volume, number)
            for iteration in np.ndindex(self.shape[:-6])
            for volume, count in enumerate(counts)
            for number in range(count)
        ]

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: int) -> Any:
        place = self._places[index]
        found = tuple(torch.from_numpy(_item(tensor, place)) for tensor in self._opened())
        return found if len(found) > 1 else found[0]

    def _opened(self) -> list[StoredTensor]:
        if self._process != os.getpid():
            self._tensors = [open_tensor(self.container, f"{GROUP}/{NAMES[0]}")]
            with suppress(NotFound):
                self._tensors.append(open_tensor(self.container, f"{GROUP}/{NAMES[1]}"))
            self._process = os.getpid()
        return self._tensors

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_process": 0, "_tensors": []}


def _item(tensor: StoredTensor, place: tuple[int, ...]) -> Any:
    stop = (*(n + 1 for n in place), *tensor.shape[-4:])
    return tensor.read((*place, 0, 0, 0, 0), stop)[(0,) * len(place)]
