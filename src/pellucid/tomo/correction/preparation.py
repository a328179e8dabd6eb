"""Steps that need whole projections, done before slices are made.

Here: Preparation, the task that writes prepared transmissions to a volume, and that volume as a scan.
Not here: the steps (correction, offset, phase), slices (slabs).

A few projections are in memory at once. Rows without light are written as 0, which the correction of the new scan takes
for what it is and replaces.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

import numpy as np

from pellucid.box import Shape
from pellucid.device import Array, Device, choose, launch, primitives
from pellucid.engines.task import TaskContext, Work
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level
from pellucid.formats.registry import open_writer
from pellucid.tomo.correction.flat_field import Calibration, Correction, attenuate, bin_frames
from pellucid.tomo.correction.phase import Paganin, padded_shape, retrieve
from pellucid.tomo.geometry.offset import OffsetAxis, correct_roll, join_opposite_views
from pellucid.tomo.geometry.opposite_views import OppositeViews
from pellucid.tomo.pipeline.plane_task import PlaneTask
from pellucid.tomo.scan import Floats, Frames, Scan
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.registry import open_scan
from pellucid.volume.blocks import Block
from pellucid.volume.volume import open_volume

CHUNK = (8, 16)
"""Views and rows of a chunk: rows of many views are read together later on."""

MAX_VIEWS = 32


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
                "Offset scans do not support roll correction.",
                remedy="Set roll to 0.",
            )

    @property
    def is_needed(self) -> bool:
        """Whether anything takes whole projections; opposite views can also be joined row by row."""
        return bool(self.roll_rad) or self.binning > 1 or self.phase is not None

    @property
    def fitted_phase(self) -> Paganin | None:
        """For the pixels that are left."""
        return self.phase and replace(self.phase, pixel_size_um=self.phase.pixel_size_um * self.binning)

    def shape(self, scan: Scan) -> Shape:
        """Of the prepared projections: (view, row, column)."""
        views = OppositeViews.of(scan.angles_rad).count if self.offset else scan.count
        columns = self.offset.joined_columns if self.offset else scan.columns
        return views, scan.rows // self.binning, columns // self.binning

    def angles(self, scan: Scan) -> Floats:
        """Of the prepared projections."""
        return scan.angles_rad[OppositeViews.of(scan.angles_rad).front] if self.offset else scan.angles_rad

    def binned(self, place: float) -> float:
        """Where a column or row of the detector lies among the new pixels.

        >>> Preparation(binning=2).binned(0.5)
        0.0
        """
        return (place - (self.binning - 1) / 2) / self.binning

    def unbinned(self, place: float) -> float:
        """The reverse."""
        return place * self.binning + (self.binning - 1) / 2

    def layout(self, scan: Scan) -> Layout:
        """Of the volume that is written."""
        shape = self.shape(scan)
        if self.fitted_phase is not None:
            self.fitted_phase.check(shape)
        chunk = (min(CHUNK[0], shape[0]), min(CHUNK[1], shape[1]), shape[2])
        return Layout((Level(shape, chunk),), np.dtype(np.float32), codec="none")

    def describe(self) -> str:
        """In words, for a report."""
        steps = ["flats and darks corrected"]
        steps += [f"opposite views joined about column {self.offset.column:g}"] if self.offset else []
        steps += [f"rotated by {np.rad2deg(self.roll_rad):.3g} degrees"] if self.roll_rad else []
        steps += [f"binned by {self.binning}"] if self.binning > 1 else []
        phase = self.fitted_phase
        steps += [f"phase retrieved with a radius of {phase.radius_px:.1f} pixels"] if phase else []
        return ", ".join(steps)


def check_binning(scan: Scan, binning: int) -> None:
    """An error where a frame has fewer pixels than one of the new ones."""
    most = min(scan.rows, scan.columns)
    if binning > most:
        raise InvalidInput(
            f"Invalid binning {binning} for frames of {scan.rows} x {scan.columns} pixels.",
            remedy=f"Use at most {most}." if most > 1 else "Use 1, which leaves pixels as they are.",
        )


def prepared_scan(scan: Scan, request: Preparation, place: str) -> Scan:
    """The scan whose projections are the prepared ones of another; closing it closes the prepared volume only."""
    frames, pixel = Frames.whole(open_volume(place)), scan.pixel_size_um
    return Scan(
        scan.name,
        scan.kind,
        frames,
        request.angles(scan),
        pixel_size_um=pixel * request.binning if pixel else None,
        assumptions=scan.assumptions,
    )


@dataclass(frozen=True)
class PreparationTask(PlaneTask):
    """Projections of a scan to prepared transmissions, whole frames at a time."""

    source: str
    options: ScanOptions
    request: Preparation
    target: str
    layout: Layout
    output_chunk: Shape
    raw_itemsize: int
    device: str

    most: ClassVar[int] = MAX_VIEWS

    def cost(self, shape: Shape) -> int:
        """Raw frames and their attenuation; frames before and after a step; what the transforms of phase take."""
        wide = raw = prod(shape) * self.request.binning**2
        offset, phase = self.request.offset, self.request.fitted_phase
        if offset is not None:
            rows = shape[0] * shape[1] * self.request.binning
            # One view more: the last opposite one may lie between two.
            raw = 2 * rows * offset.columns + shape[1] * self.request.binning * offset.columns
            wide = rows * offset.joined_columns
        steps = [(self.raw_itemsize + 4) * raw, 4 * raw + 4 * wide, 8 * wide]
        if phase is not None:
            steps.append(8 * prod(shape) + 12 * shape[0] * prod(padded_shape(phase, shape[1:])))
        return max(steps) + 24 * shape[0] * shape[1] * self.request.binning

    @contextmanager
    def open(self, context: TaskContext) -> Iterator[Work]:
        scan = open_scan(self.source, self.options)
        writer = open_writer(Location.parse(self.target), self.layout, resume=True)
        with closing(scan), closing(writer):
            calibration = Calibration.of(scan)
            yield lambda block: self.make(block, scan, calibration, writer)

    def make(self, block: Block, scan: Scan, calibration: Calibration, writer: Any) -> dict[str, Any]:
        """Prepare and write some projections; returns how many pixels of them were filled in."""
        device, views = choose(self.device), (block.core.start[0], block.core.stop[0])
        frames, filled = prepared_frames(scan, calibration, self.request, FrameRange(views), device)
        writer.write(block.core, primitives(device).to_host(frames))
        return {"filled": filled}


@dataclass(frozen=True)
class FrameRange:
    """Some views, and some rows or all. turn: how those rows are turned upright; by default as whole frames are."""

    views: tuple[int, int]
    rows: tuple[int, int] | None = None
    turn: Callable[[Array], Array] | None = None


def prepared_frames(
    scan: Scan, calibration: Calibration, request: Preparation, part: FrameRange, device: Device
) -> tuple[Array, int]:
    """Some prepared transmissions (view, row, column), on the device, and how many pixels of them were filled in.

    For volumes and previews: all that is done before slices are made of some rows at a time. calibration: of the rows.
    """
    frames, filled = _transmissions(scan, calibration, request.offset, part, device)
    if request.roll_rad:
        frames = part.turn(frames) if part.turn else correct_roll(frames, request.roll_rad, device)
    if request.binning > 1:
        frames = bin_frames(frames, request.binning, device)
    if request.fitted_phase is not None:
        from pellucid.tomo.kernels import correction as kernels

        smooth = retrieve(frames, request.fitted_phase, device)
        launch(kernels.transmit_again, frames.shape, inputs=[smooth], outputs=[frames], device=device)
    return frames, filled


def _transmissions(
    scan: Scan, calibration: Calibration, offset: OffsetAxis | None, part: FrameRange, device: Device
) -> tuple[Array, int]:
    """(view, row, column) as measured, joined where opposite views are; 0 without light.

    calibration: of the same rows. Also how many pixels were not finite and were filled in.
    """
    from pellucid.tomo.kernels import correction as kernels

    room = primitives(device)
    corrected, filled = _corrected(scan, calibration, offset, part, device)
    sinograms, bad = corrected.sinograms, corrected.bad
    del corrected  # Joining needs the room.
    if offset is not None:
        pairs = OppositeViews.of(scan.angles_rad).some(*part.views)
        sinograms = join_opposite_views(sinograms, offset, pairs, device)
        bad = bad[:, pairs.front] | bad[:, pairs.before] | bad[:, pairs.after]
    rows, count, columns = sinograms.shape
    frames = room.empty((count, rows, columns), np.float32)
    inputs = [room.to_device(bad.astype(np.uint8)), sinograms]
    launch(kernels.transmit, frames.shape, inputs=inputs, outputs=[frames], device=device)
    return frames, filled


def _corrected(
    scan: Scan, calibration: Calibration, offset: OffsetAxis | None, part: FrameRange, device: Device
) -> tuple[Correction, int]:
    """Some views; of an offset scan also those half a turn later."""
    chosen = np.arange(*part.views)
    if offset is not None:
        chosen = OppositeViews.of(scan.angles_rad).views_of(*part.views)
    frames = scan.projections.choose(chosen)
    raw, filled = frames.read_filled(rows=part.rows)
    return attenuate(raw, frames.times, calibration, device), filled
