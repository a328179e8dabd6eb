"""Models by name and size: AMGSRN, fV-SRN and NGP as published, and our own two.

Here: make_network, and the sizes.
Not here: what networks consist of (network), training (training).
"""

import math
from collections.abc import Callable

import torch

from pellucid.box import Shape
from pellucid.errors import InvalidInput
from pellucid.neural.network import FieldNetwork, GridGroup, HashGrid


def make_network(kind: str, parameters: int, shape: Shape, *, seed: int = 42) -> FieldNetwork:
    """A new network. parameters: about how many. shape: of the volume, (z, y, x)."""
    if kind not in MODELS:
        raise InvalidInput(f"Unknown model {kind!r}.", remedy=f"Use one of: {', '.join(MODELS)}.")
    torch.manual_seed(seed)
    return MODELS[kind](max(parameters, 256), shape)


def amgsrn(parameters: int, shape: Shape) -> FieldNetwork:
    """16 adaptive grids that cover the volume at first; one, two or four features by size, as published."""
    features = 1 if parameters < 1 << 18 else 2 if parameters < 1 << 22 else 4
    nodes = grid_shape(shape, parameters // (16 * features), is_cubic=True)
    return FieldNetwork("amgsrn", [GridGroup(16, features, nodes, is_adaptive=True)])


def adaptive(parameters: int, shape: Shape) -> FieldNetwork:
    """Our own: 16 adaptive grids of two features in the volume's aspect ratio."""
    nodes = grid_shape(shape, parameters // (16 * 2))
    return FieldNetwork("adaptive", [GridGroup(16, 2, nodes, is_adaptive=True)], hidden=_hidden(parameters))


def fvsrn(parameters: int, shape: Shape) -> FieldNetwork:
    """One latent grid and Fourier features."""
    features = 2 if parameters < 1 << 18 else 4 if parameters < 1 << 22 else 8
    nodes = grid_shape(shape, parameters // features, is_cubic=True)
    waves = [2.0**octave * torch.eye(3)[axis] for octave in range(5) for axis in range(3)][:14]
    group = GridGroup(1, features, nodes, is_adaptive=False)
    return FieldNetwork("fvsrn", [group], frequencies=torch.stack(waves), activation="snake")


def ngp(parameters: int, shape: Shape) -> FieldNetwork:
    """Hash grids of growing resolution, up to that of the data."""
    count = 16
    rows = 1 << max(8, round(math.log2(parameters / (2 * count))))
    first, last = (8 if parameters < 1 << 18 else 16), max(max(shape) - 1, 32)
    growth = (last / first) ** (1 / (count - 1))
    return FieldNetwork("ngp", [], hash_grid=HashGrid([round(first * growth**i) for i in range(count)], rows))


def pyramid(parameters: int, shape: Shape) -> FieldNetwork:
    """Grids of two features that cover the whole volume, each with five times the nodes of the one before."""
    groups: list[GridGroup] = []
    left, nodes = parameters // 2, parameters * 0.78 / 2
    while nodes >= 32 and len(groups) < 7:
        groups.append(GridGroup(1, 2, grid_shape(shape, int(min(nodes, left))), is_adaptive=False))
        left -= groups[-1].features[0, 0].numel()
        nodes /= 5
    return FieldNetwork("pyramid", groups[::-1], hidden=_hidden(parameters))


def _hidden(parameters: int) -> tuple[int, int]:
    """Widths of the decoder's layers: a small field has a small decoder, which takes its share of the bytes."""
    width = 64 if parameters >= 1 << 15 else 32 if parameters >= 1 << 13 else 16
    return width, width


def grid_shape(shape: Shape, nodes: int, *, is_cubic: bool = False) -> Shape:
    """About so many nodes, in the aspect ratio of the volume, never more along an axis than it has voxels."""
    if is_cubic:
        side = max(2, round(nodes ** (1 / 3)))
        return side, side, side
    found: dict[int, int] = {}
    while len(found) < 3:
        free = [axis for axis in range(3) if axis not in found]
        share = max(nodes, 8) / math.prod(found.values())
        scale = (share / math.prod(shape[axis] for axis in free)) ** (1 / len(free))
        # Axes that are too short for two nodes, or have fewer voxels, leave their share to the others.
        limited = [axis for axis in free if shape[axis] * scale < 2 or scale >= 1]
        for axis in limited or free:
            found[axis] = min(max(2, round(shape[axis] * scale)), shape[axis])
    return found[0], found[1], found[2]


MODELS: dict[str, Callable[[int, Shape], FieldNetwork]] = {
    "adaptive": adaptive,
    "pyramid": pyramid,
    "amgsrn": amgsrn,
    "fvsrn": fvsrn,
    "ngp": ngp,
}
