"""Points of a volume with their values, drawn at random.

Here: VolumeSamples, a volume that fits on the device; BlockSamples, blocks of one that does not, exchanged in turn.
Not here: what is learnt from them (training).
"""

from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from pellucid.box import Box, triple
from pellucid.volume.volume import Volume

RESIDENT_BLOCKS = 64
DRAWS_PER_BLOCK = 4

State = np.ndarray[Any, np.dtype[np.uint8]]


class Samples(Protocol):
    """Draws points. value_range: of values that become 0 and 1."""

    value_range: tuple[float, float]

    def draw(self, count: int) -> tuple[Tensor, Tensor]:
        """(count, 3) points (x, y, z) in [-1, 1], and their values in [0, 1]."""

    def state(self) -> State:
        """What restore() needs to continue the sequence of points."""

    def restore(self, state: State) -> None: ...


class VolumeSamples:
    """All voxels on the device. at_voxels: draw voxel centres; otherwise any positions, interpolated trilinearly."""

    def __init__(
        self, voxels: Tensor, value_range: tuple[float, float], *, at_voxels: bool = False, seed: int = 42
    ) -> None:
        self.voxels, self.value_range, self._at_voxels = voxels, value_range, at_voxels
        self._generator = torch.Generator(voxels.device).manual_seed(seed)
        self._last = torch.tensor([n - 1 for n in voxels.shape[::-1]], dtype=torch.float32, device=voxels.device)

    def draw(self, count: int) -> tuple[Tensor, Tensor]:
        unit = torch.rand(count, 3, generator=self._generator, device=self.voxels.device)
        if self._at_voxels:
            index = (unit * (self._last + 1)).floor().minimum(self._last)
            values = self._read(index.long())
            return index / self._last.clamp(min=1) * 2 - 1, values
        position = unit * self._last
        low = position.floor().minimum((self._last - 1).clamp(min=0))
        part, first = position - low, low.long()
        values = torch.zeros(count, device=self.voxels.device)
        for corner in range(8):
            up = torch.tensor([corner >> axis & 1 for axis in range(3)], device=self.voxels.device)
            weight = torch.where(up.bool(), part, 1 - part).prod(dim=1)
            values += weight * self._read(torch.minimum(first + up, self._last.long()))
        return unit * 2 - 1, values

    def state(self) -> State:
        return self._generator.get_state().numpy()

    def restore(self, state: State) -> None:
        self._generator.set_state(torch.from_numpy(state.copy()))

    def _read(self, index: Tensor) -> Tensor:
        low, high = self.value_range
        values = self.voxels[index[:, 2], index[:, 1], index[:, 0]].float()
        return (values - low) / ((high - low) or 1.0)


class BlockSamples:
    """A few random blocks of a volume; one is read anew every few draws, so that in time all of it is seen.

    box: the part of the volume that points are drawn from. value_range: of values that become 0 and 1.
    """

    def __init__(
        self,
        volume: Volume,
        device: torch.device,
        *,
        box: Box | None = None,
        value_range: tuple[float, float] | None = None,
        side: int = 64,
    ) -> None:
        self._volume, self._device, self._side = volume, device, side
        self._box, self.value_range = box or volume.box, value_range or volume.value_range
        self._random = np.random.default_rng(42)
        self._generator = torch.Generator(device).manual_seed(42)
        self._blocks = [self._read() for _ in range(RESIDENT_BLOCKS)]
        self._draws = 0

    def draw(self, count: int) -> tuple[Tensor, Tensor]:
        self._draws += 1
        if self._draws % DRAWS_PER_BLOCK == 0:
            self._blocks[self._draws // DRAWS_PER_BLOCK % len(self._blocks)] = self._read()
        share = -(-count // len(self._blocks))
        parts = [self._draw_from(box, voxels, share) for box, voxels in self._blocks]
        points, values = (torch.cat([part[i] for part in parts])[:count] for i in range(2))
        return points, values

    def state(self) -> State:
        """Only how many were drawn: blocks are read anew."""
        return np.frombuffer(self._draws.to_bytes(8, "little"), np.uint8)

    def restore(self, state: State) -> None:
        self._draws = int.from_bytes(state.tobytes(), "little")
        self._random = np.random.default_rng([42, self._draws])
        self._generator.manual_seed(42 + self._draws)

    def _draw_from(self, box: Box, voxels: Tensor, count: int) -> tuple[Tensor, Tensor]:
        size = torch.tensor(voxels.shape, device=self._device)
        index = (torch.rand(count, 3, generator=self._generator, device=self._device) * size).long()
        low, high = self.value_range
        values = (voxels[index[:, 0], index[:, 1], index[:, 2]].float() - low) / ((high - low) or 1.0)
        start = torch.tensor(box.relative_to(self._box.start).start, device=self._device)
        last = torch.tensor([max(n - 1, 1) for n in self._box.shape], device=self._device)
        return ((index + start) / last * 2 - 1).flip(1).float(), values

    def _read(self) -> tuple[Box, Tensor]:
        start = triple(int(self._random.integers(0, max(1, n - self._side + 1))) for n in self._box.shape)
        block = Box(start, triple(n + self._side for n in start)).shift(self._box.start)
        box = block.intersect(self._box)
        return box, to_tensor(self._volume.read(box)).to(self._device)


def to_tensor(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> Tensor:
    """Voxels as a tensor of a type that PyTorch can index on every device."""
    keeps = array.dtype.name in ("uint8", "int16", "float32")
    return torch.from_numpy(np.ascontiguousarray(array if keeps else array.astype(np.float32)))
