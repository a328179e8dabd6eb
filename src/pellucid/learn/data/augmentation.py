"""Changes that make one window many: the same geometry for all its arrays, other values for the source.

Here: Augmentation.
Not here: where windows lie (window_grid).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pellucid.formats.protocol import Voxels

Arrays = tuple[Voxels, ...]


@dataclass(frozen=True)
class Augmentation:
    """What may happen to a window of arrays (channel, z, y, x).

    flips: axes that may be reversed, of "zyx". turns: planes in which it may turn by 90 degrees, of "xy", "xz", "yz";
    where the window is square in them. gain, offset: the source becomes g × source + o, with g within 1 ± gain and o
    within ± offset. noise: standard deviation of normal noise that is added to the source.
    """

    flips: str = "zyx"
    turns: tuple[str, ...] = ("xy",)
    gain: float = 0.0
    offset: float = 0.0
    noise: float = 0.0

    def apply(self, arrays: Sequence[Voxels], random: np.random.Generator) -> Arrays:
        """The first array is the source."""
        axes = tuple(1 + "zyx".index(axis) for axis in self.flips if random.random() < 0.5)
        planes = [(1 + "zyx".index(turn[1]), 1 + "zyx".index(turn[0])) for turn in self.turns]
        turns = [(plane, int(random.integers(4))) for plane in planes if _is_square(arrays, plane)]
        changed = [_turned(array, axes, turns) for array in arrays]
        source = changed[0]
        if self.gain or self.offset:
            gain, offset = 1 + self.gain * random.uniform(-1, 1), self.offset * random.uniform(-1, 1)
            source = (source * gain + offset).astype(source.dtype)
        if self.noise:
            source = (source + random.normal(0, self.noise, source.shape)).astype(source.dtype)
        return (source, *changed[1:])


def _turned(array: Voxels, axes: tuple[int, ...], turns: Sequence[tuple[tuple[int, int], int]]) -> Voxels:
    array = np.flip(array, axes) if axes else array
    for plane, quarters in turns:
        array = np.rot90(array, quarters, plane)
    return array


def _is_square(arrays: Sequence[Voxels], plane: tuple[int, int]) -> bool:
    return all(array.shape[plane[0]] == array.shape[plane[1]] for array in arrays)
