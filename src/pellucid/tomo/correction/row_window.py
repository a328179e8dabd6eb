"""One row of prepared projections, from as few rows of the detector as possible.

Here: RowWindow: which rows those are, and the row made of them.
Not here: whole prepared projections (preparation), slices (preview).
"""

from dataclasses import dataclass
from math import ceil, cos, floor, sin

import numpy as np

from pellucid.device import Device, primitives
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.flat_field import Calibration
from pellucid.tomo.correction.preparation import FrameRange, Preparation, check_binning, prepared_frames
from pellucid.tomo.scan import Floats, Scan

Rows = tuple[int, int]


@dataclass(frozen=True)
class RowWindow:
    """Rows of a scan's detector that one row of its prepared projections depends on.

    index: of that row. near: it, and the prepared rows around it that phase retrieval mixes in. upright: the rows of
    upright frames that these are binned from. stored: those of the detector.
    """

    request: Preparation
    index: int
    near: Rows
    upright: Rows
    stored: Rows

    @classmethod
    def of(cls, scan: Scan, request: Preparation, row: int) -> "RowWindow":
        """row: of the detector."""
        check_binning(scan, request.binning)
        count, phase = scan.rows // request.binning, request.fitted_phase
        index = min(row // request.binning, count - 1)
        reach = phase.pad_px if phase else 0
        near = (max(0, index - reach), min(count, index + reach + 1))
        upright = (near[0] * request.binning, near[1] * request.binning)
        return cls(request, index, near, upright, _stored(upright, scan, request.roll_rad))

    def read(self, scan: Scan, calibration: Calibration, views: Rows, device: Device) -> Voxels:
        """The row of some views, as (view, column). calibration: of the stored rows."""
        room = primitives(device)
        part = FrameRange(views, self.stored, lambda frames: room.to_device(self._turned(room.to_host(frames), scan)))
        made, _ = prepared_frames(scan, calibration, self.request, part, device)
        return np.asarray(room.to_host(made)[:, self.index - self.near[0]])

    def _turned(self, frames: Voxels, scan: Scan) -> Voxels:
        """As ``turn_upright`` does with whole frames: linearly interpolated, beyond the border is the border."""
        at_y, at_x = _places(self.upright, scan, self.request.roll_rad)
        top = np.minimum(at_y.astype(int), max(scan.rows - 2, 0))
        left = np.minimum(at_x.astype(int), max(scan.columns - 2, 0))
        down, across = (at_y - top).astype(np.float32), (at_x - left).astype(np.float32)
        bottom, right = np.minimum(top + 1, scan.rows - 1), np.minimum(left + 1, scan.columns - 1)
        above, below = top - self.stored[0], np.minimum(bottom, self.stored[1] - 1) - self.stored[0]
        upper = frames[:, above, left] * (1 - across) + frames[:, above, right] * across
        lower = frames[:, below, left] * (1 - across) + frames[:, below, right] * across
        return np.asarray(upper * (1 - down) + lower * down, np.float32)


def _stored(upright: Rows, scan: Scan, roll_rad: float) -> Rows:
    if not roll_rad:
        return upright
    places = _places(upright, scan, roll_rad)[0]
    return max(0, min(floor(places.min()), scan.rows - 2)), min(scan.rows, ceil(places.max()) + 1)


def _places(rows: Rows, scan: Scan, roll_rad: float) -> tuple[Floats, Floats]:
    """Where on the detector the pixels of some rows of upright frames lie: rows and columns."""
    middle_row, middle_column = (scan.rows - 1) / 2, (scan.columns - 1) / 2
    y, x = np.arange(*rows)[:, None] - middle_row, np.arange(scan.columns)[None, :] - middle_column
    at_y = cos(roll_rad) * y - sin(roll_rad) * x + middle_row
    at_x = sin(roll_rad) * y + cos(roll_rad) * x + middle_column
    return np.clip(at_y, 0, scan.rows - 1), np.clip(at_x, 0, scan.columns - 1)
