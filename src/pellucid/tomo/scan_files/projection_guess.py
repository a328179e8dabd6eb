"""Whether the images of a volume look like the projections of a scan, where no file says so.

Here: resembles_projections.
Not here: files that are scans (registry), volumes for which a scan says it (workers.queries.describe).

What X-rays lose on their way through an object is the same in every view: each row of the detector sees the same
matter from all sides, while it moves along the row. Slices of an object differ in how much there is in a row.
"""

import numpy as np

from pellucid.box import Box
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import Volume

MIN_VIEWS, MIN_COLUMNS = 16, 16
VIEWS, ROWS = 24, 24
MAX_BYTES, MAX_DEPTH = 2**28, 8
"""Of larger volumes, only those whose slices can be read by themselves are looked at."""
LIT, MIN_LIT = 0.8, 0.05
"""Of the unattenuated intensity, and the part of the pixels that are as bright."""
MIN_DIFFERENCE = 0.05
MAX_VARIATION = 0.03


def resembles_projections(volume: Volume) -> bool:
    """Whether every row of every slice loses as much light as the same row of the others, at other places."""
    views, _, columns = volume.shape
    if views < MIN_VIEWS or columns < MIN_COLUMNS or volume.dtype.kind not in "uif" or len(volume.levels) > 1:
        return False
    if volume.nbytes > MAX_BYTES and volume.chunk[0] > MAX_DEPTH:
        return False
    some = np.unique(np.linspace(0, views - 1, VIEWS).astype(int))
    images = np.stack([_rows_of(volume, int(view)) for view in some])
    return _have_equal_rows(images)


def _rows_of(volume: Volume, view: int) -> Voxels:
    _, rows, columns = volume.shape
    image = volume.read(Box((view, 0, 0), (view + 1, rows, columns)))[0].astype(np.float64)
    bands = np.array_split(image, min(ROWS, rows))
    return np.stack([band.mean(axis=0) for band in bands])


def _have_equal_rows(images: Voxels) -> bool:
    """images: (view, row, column)."""
    if not np.isfinite(images).all():
        return False
    light = float(np.percentile(images, 99))
    if light <= 0 or (images > LIT * light).mean() < MIN_LIT:
        return False
    lost = -np.log(np.maximum(images, light * 1e-4) / light)
    in_rows = lost.sum(axis=2)
    matter = float(in_rows.mean())
    if matter <= 0.02 * images.shape[2]:  # Nothing but noise around full light.
        return False
    variation = float(np.sqrt(in_rows.var(axis=0).mean())) / matter
    difference = float(np.abs(np.diff(lost, axis=0)).mean()) / float(np.abs(lost).mean())
    return variation < MAX_VARIATION and difference > MIN_DIFFERENCE
