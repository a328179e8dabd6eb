"""The value range of every cell of a volume that is not in memory.

Here: going through a volume block by block, and keeping what was found.
Not here: the same for voxels on a device (kernels.cell_ranges_cpu; on CUDA kernels.sampling), which are visible
(device_field).
"""

from concurrent.futures import ThreadPoolExecutor
from math import prod

import numpy as np

from pellucid import progress
from pellucid.box import Box, Shape, grid_shape, triple
from pellucid.fields.sizes import CELL, LOWEST
from pellucid.formats.protocol import Voxels
from pellucid.settings import current
from pellucid.volume.cache import load, store
from pellucid.volume.statistics import piece_shape
from pellucid.volume.volume import Volume

NAME = f"cells-{CELL}"


def cell_ranges(volume: Volume) -> Voxels:
    """(z, y, x, 2) float32: lowest and highest value that a sample inside each cell can have; computed once."""
    found = load(volume.location, NAME)
    if found is None:
        ranges = find_ranges(volume, volume.box)
        store(volume.location, NAME, (ranges[..., 0], ranges[..., 1]))
        return ranges
    return np.stack(found, axis=-1)


def touched_cells(box: Box, shape: Shape) -> Box:
    """The cells, as a box of them, whose range the voxels of a box have a part in."""
    grown = box.grow((1, 1, 1)).intersect(Box.whole(shape))
    start = triple(n // CELL for n in grown.start)
    return Box(start, triple(-(-n // CELL) for n in grown.stop))


def find_ranges(volume: Volume, box: Box) -> Voxels:
    """The ranges of the cells that a box touches; edges of the box that are not the volume's are multiples of CELL."""
    start = triple(n // CELL for n in box.start)
    ranges: Voxels = np.empty((*grid_shape(box.shape, (CELL,) * 3), 2), np.float32)

    def one(piece: Box) -> int:
        cells = Box(triple(n // CELL for n in piece.start), triple(-(-n // CELL) for n in piece.stop))
        ranges[cells.relative_to(start).slices] = _piece_ranges(volume, piece)
        return piece.size

    pieces = list(box.tiles(piece_shape(volume, CELL)))
    with (
        progress.task("Finding value ranges", total=prod(box.shape), unit="voxels") as bar,
        ThreadPoolExecutor(current().threads) as pool,
    ):
        for size in pool.map(one, pieces):
            bar.advance(size)
    return ranges


def _piece_ranges(volume: Volume, piece: Box) -> Voxels:
    """Each cell's voxels and one around them: what is interpolated inside it."""
    grown = piece.grow((1, 1, 1)).intersect(volume.box)
    voxels = volume.read(grown)
    if voxels.dtype.kind == "f":
        voxels[np.isnan(voxels)] = -np.inf  # NaN is drawn like the lowest value.
    # Beyond the border its voxels again: they change neither the lowest nor the highest.
    before = (a - b + 1 for a, b in zip(grown.start, piece.start, strict=True))
    lengths = (-(-n // CELL) * CELL + 2 for n in piece.shape)
    widths = [(b, n - b - m) for b, n, m in zip(before, lengths, voxels.shape, strict=True)]
    padded = np.pad(voxels, widths, mode="edge") if np.any(widths) else voxels
    both = [_over_cells(extreme, padded).astype(np.float32) for extreme in (np.minimum, np.maximum)]
    return np.stack(both, axis=-1).clip(np.float32(LOWEST), None)


def _over_cells(extreme: np.ufunc, voxels: Voxels) -> Voxels:
    """Axis by axis, the extreme of each cell's voxels and of the one before and after them."""
    for axis in range(3):
        # Whole planes are compared at once, twenty times faster than ufunc.reduceat.
        planes = np.moveaxis(voxels, axis, 0)
        end = len(planes) - 2 - CELL + 1
        found = extreme(planes[0:end:CELL], planes[1 : end + 1 : CELL])
        for offset in range(2, CELL + 2):
            extreme(found, planes[offset : end + offset : CELL], out=found)
        voxels = np.moveaxis(found, 0, axis)
    return voxels
