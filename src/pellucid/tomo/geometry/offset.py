"""Offset scans: full turns with the axis near the edge of the detector; and the roll of a detector.

Here: the overlap of opposite views, joining them to half a turn of wide views; turning frames upright.
Not here: axes near the middle (axis).
"""

from dataclasses import dataclass
from math import ceil, floor

import numpy as np

from pellucid.device import Array, Device, launch, primitives
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.tomo.geometry.axis import lowest
from pellucid.tomo.geometry.opposite_views import OppositeViews
from pellucid.tomo.scan import Floats

MIN_OVERLAP = 8
WHOLE = 0.1
"""Totals this near to a whole number count as whole: their opposite views are joined without interpolation."""


@dataclass(frozen=True)
class OffsetAxis:
    """total: a column and the one that shows the same from behind add up to it. columns: of the detector.

    The columns of a joined view are those of the front view, continued. Where the total is not whole, they fall between
    columns of the view from behind, which is interpolated.

    >>> axis = OffsetAxis(total=180, columns=100)
    >>> axis.column, axis.overlap, axis.joined_columns, axis.joined_axis
    (90.0, 19, 181, 90.0)
    >>> axis = OffsetAxis(total=58.5, columns=100)
    >>> axis.column, axis.start, axis.overlap, axis.joined_columns, axis.joined_axis
    (29.25, -40, 59, 140, 69.25)
    """

    total: float
    columns: int

    @property
    def column(self) -> float:
        """Of the axis, on the detector."""
        return self.total / 2

    @property
    def start(self) -> int:
        """The first column that a view or the one behind it shows; negative where the axis is at the left."""
        return min(0, self._first_behind)

    @property
    def overlap(self) -> int:
        """Columns that both show."""
        return min(floor(self.total), self.columns - 1) - max(0, self._first_behind) + 1

    @property
    def _first_behind(self) -> int:
        """The first column that the view from behind shows."""
        return ceil(self.total) - self.columns + 1

    @property
    def joined_columns(self) -> int:
        return max(floor(self.total), self.columns - 1) - self.start + 1

    @property
    def joined_axis(self) -> float:
        """The column of the axis in a joined view."""
        return self.column - self.start


def find_offset_axis(sinogram: Voxels, angles_rad: Floats, smallest_overlap: int = MIN_OVERLAP) -> OffsetAxis:
    """From a full turn (view, column): the overlap in which opposite views differ least, on either side.

    The difference is measured against how much the views vary there, so that empty overlaps do not win. Whole totals
    are tried; a parabola through the best three gives the position between them, unless that is next to a whole one.
    """
    views, columns = sinogram.shape
    pairs = OppositeViews.of(angles_rad)
    if pairs.count < 2 or columns <= smallest_overlap:
        raise InvalidInput(
            f"A full turn of {views} views and {columns} columns is too small to find the overlap.",
            remedy="Set the center.",
        )
    front, mirrored = sinogram[pairs.front].astype(np.float64), sinogram[:, ::-1]
    behind = mirrored[pairs.before] + pairs.shares[:, None] * (mirrored[pairs.after] - mirrored[pairs.before])
    totals = np.arange(smallest_overlap - 1, 2 * columns - smallest_overlap)
    differences = [difference(front, behind, int(total)) for total in totals]
    total = lowest(totals.astype(np.float64), np.array(differences))
    return OffsetAxis(round(total) if abs(total - round(total)) < WHOLE else total, columns)


def difference(front: Voxels, mirrored: Voxels, total: int) -> float:
    """Between views and those from behind, mirrored, where both see the same; as a share of how much they vary."""
    columns = front.shape[1]
    first, stop = max(0, total - columns + 1), min(total, columns - 1) + 1
    a = front[:, first:stop]
    # Column total - j from behind is column columns - 1 - total + j once mirrored.
    b = mirrored[:, first + columns - 1 - total : stop + columns - 1 - total]
    varied = a.var() + b.var()
    return float(((a - b) ** 2).mean() / varied) if varied > 0 else np.inf


def join_opposite_views(
    sinograms: Array, axis: OffsetAxis, pairs: OppositeViews, device: Device | None = None
) -> Array:
    """Half a turn of wide views (slice, view, column) from a full turn of narrow ones."""
    from pellucid.tomo.kernels import alignment as kernels

    slices, views, columns = sinograms.shape
    if columns != axis.columns or views < 2:
        raise InvalidInput(
            f"Sinograms of {views} views and {columns} columns do not fit an axis of {axis.columns} columns.",
            remedy="Find the axis in sinograms of the same scan.",
        )
    room, shape = primitives(device), (pairs.count, slices, axis.joined_columns)
    joined = room.empty((slices, pairs.count, axis.joined_columns), np.float32)
    whole, numbers = floor(axis.total), (pairs.front, pairs.before, pairs.after)
    views_of = [room.to_device(one.astype(np.int32)) for one in numbers]
    shares = room.to_device(pairs.shares.astype(np.float32))
    inputs = [whole, axis.total - whole, axis.start, *views_of, shares, sinograms]
    launch(kernels.stitch, shape, inputs=inputs, outputs=[joined], device=device)
    return joined


def correct_roll(frames: Array, roll_rad: float, device: Device | None = None) -> Array:
    """Frames (frame, row, column) of a detector that is turned by an angle, so that the axis runs along the columns.

    roll_rad: as AxisLine.roll_rad says it: the axis moves to higher columns in lower rows.
    """
    from pellucid.tomo.kernels import alignment as kernels

    turned = primitives(device).empty(frames.shape, np.float32)
    inputs = [float(np.cos(roll_rad)), float(np.sin(roll_rad)), frames]
    launch(kernels.turn_frames, frames.shape, inputs=inputs, outputs=[turned], device=device)
    return turned
