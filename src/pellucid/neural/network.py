"""Networks that map points in [-1, 1]³ to values: grids, hash grids and Fourier features before a small decoder.

Here: GridGroup, HashGrid, FieldNetwork; turning a network into a NeuralField that can be stored.
Not here: published sizes (models), training (training), fused steps on GPUs (cuda_training).

Any module with ``forward(points (n, 3)) -> values (n,)`` can be trained with training.train; these can also be stored.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from pellucid.formats.neural_field.field import (
    Decoder,
    FeatureGrid,
    FourierFeatures,
    HashLevel,
    NeuralField,
)

SMALL_FEATURES = 1e-4
_PRIMES = (1, 2654435761, 805459861)


class GridGroup(nn.Module):
    """Grids of one shape. Adaptive grids have transforms that the density loss moves; others cover the whole volume.

    shape: nodes along (z, y, x). spread: standard deviation of the initial transforms about the identity. zoom: initial
    scale; above 1 a grid covers a part of the volume, about a random centre.
    """

    def __init__(
        self,
        count: int,
        features: int,
        shape: Sequence[int],
        *,
        is_adaptive: bool,
        spread: float = 0.05,
        zoom: float = 1.0,
    ) -> None:
        super().__init__()
        self.is_adaptive = is_adaptive
        self.features = nn.Parameter(torch.empty(count, features, *shape).uniform_(-SMALL_FEATURES, SMALL_FEATURES))
        self.transforms = nn.Parameter(torch.eye(3, 4).repeat(count, 1, 1))
        if is_adaptive:
            with torch.no_grad():
                self.transforms += spread * torch.randn(count, 3, 4)
                self.transforms *= zoom
                if zoom > 1:
                    self.transforms[:, :, 3] = zoom * torch.empty(count, 3).uniform_(-0.9, 0.9)

    def forward(self, points: Tensor, features: Tensor | None = None) -> Tensor:
        """(n, count * features): trilinear, zero outside. Positions carry no gradient to the transforms."""
        grids = self.features if features is None else features
        transforms = self.transforms.detach()
        local = torch.einsum("mij,nj->mni", transforms[:, :, :3], points) + transforms[:, None, :, 3]
        sampled = nn.functional.grid_sample(grids, local[:, None, None], align_corners=True, padding_mode="zeros")
        return sampled[:, :, 0, 0].permute(2, 0, 1).reshape(len(points), -1)


class HashGrid(nn.Module):
    """Levels of a multi-resolution hash grid. resolutions: cells along an axis of each level."""

    def __init__(self, resolutions: Sequence[int], rows: int, features: int = 2) -> None:
        super().__init__()
        self.resolutions = tuple(resolutions)
        sizes = [min(rows, (resolution + 1) ** 3) for resolution in resolutions]
        self.tables = nn.ParameterList(
            [torch.empty(size, features).uniform_(-SMALL_FEATURES, SMALL_FEATURES) for size in sizes]
        )

    def forward(self, points: Tensor) -> Tensor:
        """(n, levels * features): all corners of all levels are looked up at once."""
        resolutions = torch.tensor(self.resolutions, device=points.device)[:, None, None]
        position = (points.T.unsqueeze(0) + 1) * (0.5 * resolutions)  # (levels, 3, n)
        position = torch.minimum(position.clamp(min=0), resolutions)
        cell = torch.minimum(position.long(), resolutions - 1)
        part = position - cell
        ups = torch.tensor([[corner >> axis & 1 for axis in range(3)] for corner in range(8)], device=points.device)
        nodes = cell[:, None] + ups[None, :, :, None]  # (levels, corners, 3, n)
        weights = torch.where(ups[None, :, :, None].bool(), part[:, None], 1 - part[:, None]).prod(dim=2)
        rows, table = self._rows(nodes), torch.cat(list(self.tables))
        # index_select: the gradient of plain indexing sorts all rows first.
        found = table.index_select(0, rows.reshape(-1)).reshape(*rows.shape, -1)
        total = (found * weights[..., None]).sum(dim=1)  # (levels, n, features)
        return total.transpose(0, 1).reshape(len(points), -1)

    def _rows(self, nodes: Tensor) -> Tensor:
        """(levels, corners, n): rows of all tables together for nodes (levels, corners, 3, n)."""
        sides = [resolution + 1 for resolution in self.resolutions]
        lengths = [len(table) for table in self.tables]
        numbers = torch.tensor([[side, length] for side, length in zip(sides, lengths, strict=True)])
        side, length = (one.to(nodes.device)[:, None, None] for one in numbers.unbind(dim=1))
        first = torch.tensor([sum(lengths[:level]) for level in range(len(lengths))], device=nodes.device)
        x, y, z = nodes.unbind(dim=2)
        dense = x + (y + z * side) * side
        mixed = [one * prime & 0xFFFFFFFF for one, prime in zip((x, y, z), _PRIMES, strict=True)]
        hashed = (mixed[0] ^ mixed[1] ^ mixed[2]) % length
        return torch.where(side**3 <= length, dense, hashed) + first[:, None, None]


class FieldNetwork(nn.Module):
    """Encodings and a decoder. kind: the model's name."""

    def __init__(
        self,
        kind: str,
        groups: Sequence[GridGroup],
        *,
        hash_grid: HashGrid | None = None,
        frequencies: Tensor | None = None,
        hidden: Sequence[int] = (64, 64),
        activation: str = "relu",
    ) -> None:
        super().__init__()
        self.kind, self.activation = kind, activation
        self.groups = nn.ModuleList(groups)
        self.hash_grid = hash_grid
        self.register_buffer("frequencies", frequencies)
        width = sum(group.features.shape[0] * group.features.shape[1] for group in groups)
        width += sum(table.shape[1] for table in hash_grid.tables) if hash_grid else 0
        width += 2 * len(frequencies) if frequencies is not None else 0
        sizes = [width, *hidden, 1]
        self.weights = nn.ParameterList([_initial_weights(rows, columns) for rows, columns in pairwise(sizes)])

    def grid_groups(self) -> list[GridGroup]:
        return [group for group in self.groups if isinstance(group, GridGroup)]

    def encode(self, points: Tensor) -> Tensor:
        parts = [group(points) for group in self.groups]
        if self.hash_grid is not None:
            parts.append(self.hash_grid(points))
        if isinstance(self.frequencies, Tensor):
            phases = math.pi * (points @ self.frequencies.T)
            parts += [torch.sin(phases), torch.cos(phases)]
        return torch.cat(parts, dim=1)

    def decode(self, features: Tensor) -> Tensor:
        *hidden, last = list(self.weights)
        for weights in hidden:
            features = features @ weights
            features = torch.relu(features) if self.activation == "relu" else features + torch.sin(features) ** 2
        return (features @ last)[:, 0]

    def forward(self, points: Tensor) -> Tensor:
        """Values at (n, 3) points (x, y, z); 0 to 1 is the volume's range."""
        return self.decode(self.encode(points))

    def adaptive_groups(self) -> list[GridGroup]:
        return [group for group in self.grid_groups() if group.is_adaptive]

    def to_field(self, value_range: tuple[float, float]) -> NeuralField:
        """The network as plain arrays."""
        grids = [
            FeatureGrid(_array(features), _array(transform))
            for group in self.grid_groups()
            for features, transform in zip(group.features, group.transforms, strict=True)
        ]
        tables = self.hash_grid.tables if self.hash_grid else []
        resolutions = self.hash_grid.resolutions if self.hash_grid else ()
        levels = [HashLevel(resolution, _array(table)) for resolution, table in zip(resolutions, tables, strict=True)]
        waves = FourierFeatures(_array(self.frequencies)) if isinstance(self.frequencies, Tensor) else None
        decoder = Decoder(tuple(_array(weights) for weights in self.weights), self.activation)
        return NeuralField(self.kind, decoder, tuple(grids), tuple(levels), waves, value_range)

    def load_field(self, field: NeuralField) -> None:
        """Take the parameters of a field of the same structure: a warm start, or parameters that were rounded."""
        grids, tables = iter(field.grids), iter(field.hash_levels)
        with torch.no_grad():
            for group in self.grid_groups():
                for number in range(len(group.features)):
                    grid = next(grids)
                    group.features[number] = torch.from_numpy(grid.features)
                    group.transforms[number] = torch.from_numpy(grid.transform)
            for table in self.hash_grid.tables if self.hash_grid else []:
                table.copy_(torch.from_numpy(next(tables).table))
            for weights, stored in zip(self.weights, field.decoder.weights, strict=True):
                weights.copy_(torch.from_numpy(stored))


def _initial_weights(rows: int, columns: int) -> Tensor:
    bound = math.sqrt(6 / rows)
    return torch.empty(rows, columns).uniform_(-bound, bound)


def _array(tensor: Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.ascontiguousarray(tensor.detach().float().cpu().numpy())
