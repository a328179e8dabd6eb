"""Several volumes stacked along z, read as one.

Here: stack().
Not here: volumes over time or channel (series).
"""

from collections.abc import Sequence

import numpy as np

from pellucid.box import Box
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Header, Level, Voxels
from pellucid.volume.closable_reader import ClosableReader
from pellucid.volume.volume import Volume


def stack(volumes: Sequence[Volume]) -> Volume:
    """One volume with the slices of all; closing it closes them. Types that differ become one that holds both.

    >>> first, second = (Volume.from_array(np.full((2, 1, 1), value)) for value in (3, 4))
    >>> stack([first, second])[:].ravel().tolist()
    [3, 3, 4, 4]
    """
    if len(volumes) == 1:
        return volumes[0]
    return Volume(ClosableReader(_StackReader(volumes)), volumes[0].location)


class _StackReader:
    def __init__(self, volumes: Sequence[Volume]) -> None:
        first = volumes[0]
        for volume in volumes:
            if volume.shape[1:] != first.shape[1:]:
                sizes = f"{volume.shape[1:]} (y, x), but {first.location} of {first.shape[1:]}"
                raise InvalidInput(
                    f"{volume.location} has slices of {sizes}.",
                    remedy="Choose volumes with slices of the same size.",
                )
        self._volumes = tuple(volumes)
        self._starts = np.cumsum([0, *(volume.shape[0] for volume in volumes)]).tolist()
        level = Level((self._starts[-1], *first.shape[1:]), first.chunk, first.spacing)
        self.header = Header((level,), np.result_type(*(volume.dtype for volume in volumes)), first.unit)

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        (first, *near), (stop, *far) = box.start, box.stop
        for volume, start in zip(self._volumes, self._starts[:-1], strict=True):
            low, high = max(first, start), min(stop, start + volume.shape[0])
            if low < high:
                inside = Box((low - start, near[0], near[1]), (high - start, far[0], far[1]))
                out[low - first : high - first] = volume.read(inside)

    def close(self) -> None:
        for volume in self._volumes:
            volume.close()
