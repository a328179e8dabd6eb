"""Steps that need whole projections, done once, before slices are made of some rows at a time.

Here: Preparation, and prepare(), which writes transmissions to a file and gives them back as a scan.
Not here: the steps (correction, offset_scans, phase), slices (slabs).

A few projections are in memory at once. Rows without light are written as 0, which the correction of the new scan takes
for what it is and replaces.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pellucid.box import Box
from pellucid.device import Array, Device, choose, launch, primitives
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level, Writer
from pellucid.formats.registry import open_writer
from pellucid.tomo.correction import Calibration, Correction, attenuate, bin_frames
from pellucid.tomo.offset_scans import OffsetAxis, stitch, turn_upright
from pellucid.tomo.phase import Paganin, retrieve
from pellucid.tomo.scan import Frames, Scan
from pellucid.volume.volume import open_volume

VIEWS_AT_ONCE = 16


@dataclass(frozen=True)
class Preparation:
    """What is done, in this order. offset: joins the opposite views of a full turn. roll_rad: by which the detector is
    turned against the axis. binning: pixels along the edge of a new one. phase: its pixel size is that before binning.
    """

    offset: OffsetAxis | None = None
    roll_rad: float = 0.0
    binning: int = 1
    phase: Paganin | None = None

    def __post_init__(self) -> None:
        if self.offset is not None and self.roll_rad:
            raise InvalidInput(
                "An offset scan cannot be put upright: its opposite views no longer meet.",
                do="Give a tilt to the reconstruction instead of a roll.",
            )

    @property
    def fitted_phase(self) -> Paganin | None:
        """For the pixels that are left."""
        return self.phase and replace(self.phase, pixel_size_um=self.phase.pixel_size_um * self.binning)

    def shape(self, scan: Scan) -> tuple[int, int, int]:
        """Of the prepared projections."""
        views = scan.count // 2 if self.offset else scan.count
        columns = self.offset.joined_columns if self.offset else scan.columns
        return views, scan.rows // self.binning, columns // self.binning

    def axis_column(self, scan: Scan) -> float | None:
        """Of the prepared projections, where it is known."""
        column = self.offset.joined_axis if self.offset else scan.axis_column
        return None if column is None else (column - (self.binning - 1) / 2) / self.binning


def prepare(scan: Scan, wish: Preparation, path: str | Path | Location, device: Device | None = None) -> Scan:
    """Write the transmissions of a scan, prepared, to a new file, and open it as a scan."""
    device, location = device or choose(), Location.parse(path)
    shape = wish.shape(scan)
    if wish.fitted_phase is not None:
        wish.fitted_phase.check(shape)
    writer = open_writer(location, Layout((Level(shape, (1, *shape[1:])),), np.dtype(np.float32)))
    try:
        _write(scan, wish, writer, device)
        writer.finish()
    finally:
        writer.close()
    pixel = scan.pixel_size_um * wish.binning if scan.pixel_size_um else None
    said = (*scan.assumptions, f"Prepared from {scan.name}: {_said(wish)}.")
    frames = Frames.whole(open_volume(location))
    angles = scan.angles_rad[: shape[0]]
    return Scan(str(location), "prepared", frames, angles, None, None, pixel, wish.axis_column(scan), said)


def _said(wish: Preparation) -> str:
    steps = ["flats and darks corrected"]
    steps += [f"opposite views joined about column {wish.offset.column}"] if wish.offset else []
    steps += [f"turned by {np.rad2deg(wish.roll_rad):.3g} degrees"] if wish.roll_rad else []
    steps += [f"binned by {wish.binning}"] if wish.binning > 1 else []
    phase = wish.fitted_phase
    steps += [f"phase retrieved with a radius of {phase.radius_px:.1f} pixels"] if phase else []
    return ", ".join(steps)


def _write(scan: Scan, wish: Preparation, writer: Writer, device: Device) -> None:
    calibration = Calibration.of(scan)
    views, rows, columns = wish.shape(scan)
    grain = writer.grains[0][0]
    for first, stop in _blocks(views, -(-VIEWS_AT_ONCE // grain) * grain):
        frames = prepared_frames(scan, calibration, wish, (first, stop), device)
        writer.write(Box((first, 0, 0), (stop, rows, columns)), primitives(device).to_host(frames))


def _blocks(views: int, size: int) -> Iterator[tuple[int, int]]:
    yield from ((first, min(views, first + size)) for first in range(0, views, size))


def prepared_frames(
    scan: Scan, calibration: Calibration, wish: Preparation, views: tuple[int, int], device: Device
) -> Array:
    """Some prepared transmissions (view, row, column), on the device."""
    frames = _transmissions(scan, calibration, wish, views, device)
    if wish.roll_rad:
        frames = turn_upright(frames, wish.roll_rad, device)
    if wish.binning > 1:
        frames = bin_frames(frames, wish.binning, device)
    if wish.fitted_phase is not None:
        from pellucid.tomo.kernels import correction as kernels

        smooth = retrieve(frames, wish.fitted_phase, device)
        launch(kernels.transmit_again, frames.shape, inputs=[smooth], outputs=[frames], device=device)
    return frames


def _transmissions(
    scan: Scan, calibration: Calibration, wish: Preparation, views: tuple[int, int], device: Device
) -> Array:
    from pellucid.tomo.kernels import correction as kernels

    room = primitives(device)
    corrected = _corrected(scan, calibration, wish.offset, views, device)
    sinograms, bad = corrected.sinograms, corrected.bad
    if wish.offset is not None:
        count = views[1] - views[0]
        sinograms, bad = stitch(sinograms, wish.offset, device), bad[:, :count] | bad[:, count:]
    rows, count, columns = sinograms.shape
    frames = room.empty((count, rows, columns), np.float32)
    inputs = [room.to_device(bad.astype(np.uint8)), sinograms]
    launch(kernels.transmit, frames.shape, inputs=inputs, outputs=[frames], device=device)
    return frames


def _corrected(
    scan: Scan, calibration: Calibration, offset: OffsetAxis | None, views: tuple[int, int], device: Device
) -> Correction:
    """Some views; of an offset scan those half a turn later behind them."""
    chosen = np.arange(*views)
    if offset is not None:
        chosen = np.concatenate([chosen, chosen + scan.count // 2])
    frames = scan.projections.choose(chosen)
    return attenuate(frames.read(), frames.times, calibration, device)
