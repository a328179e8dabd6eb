"""Phase retrieval of a whole scan, before slices are made of it: it mixes rows, so that frames have to be whole.

Here: PhaseTask, which writes attenuation (view, row, column) to a volume, a few frames at a time.
Not here: the filter (phase), slices (slabs).
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from pellucid.box import Shape
from pellucid.device import choose, primitives
from pellucid.engines.task import Work
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level, Voxels
from pellucid.formats.registry import open_writer
from pellucid.tomo.correction import Calibration, attenuate
from pellucid.tomo.phase import Paganin, retrieve
from pellucid.tomo.planes import PlaneTask
from pellucid.tomo.reading.assembly import ScanOptions
from pellucid.tomo.reading.opening import open_scan
from pellucid.tomo.scan import Scan
from pellucid.volume.blocks import Block

FRAMES = 8
"""Of a chunk along the views."""

MOST_FRAMES = 32


@dataclass(frozen=True)
class PhaseTask(PlaneTask):
    """Frames of a scan to frames of attenuation; rows that had too little light are not a number."""

    source: str
    options: ScanOptions
    phase: Paganin
    target: str
    layout: Layout
    grain: Shape
    raw_itemsize: int
    device: str

    most: ClassVar[int] = MOST_FRAMES

    def cost(self, shape: Shape) -> int:
        """As read, as transmission twice, as filtered, and three times with a margin for the transforms."""
        padded = prod(length + 2 * self.phase.pad_px for length in shape[1:])
        return shape[0] * (prod(shape[1:]) * (self.raw_itemsize + 12) + 12 * padded) + 16 * prod(shape[1:])

    @contextmanager
    def open(self) -> Iterator[Work]:
        scan = open_scan(self.source, self.options)
        writer = open_writer(Location.parse(self.target), self.layout, resume=True)
        with closing(scan), closing(writer):
            calibration = Calibration.of(scan)
            yield lambda block: self._retrieve(block, scan, calibration, writer)

    def _retrieve(self, block: Block, scan: Scan, calibration: Calibration, writer: Any) -> None:
        device, views = choose(self.device), slice(block.core.start[0], block.core.stop[0])
        raw = scan.projections.read(frames=(views.start, views.stop))
        corrected = attenuate(raw, scan.projections.times[views], calibration, device)
        room = primitives(device)
        frames = np.ascontiguousarray(np.exp(-room.to_host(corrected.sinograms)).swapaxes(0, 1))
        made: Voxels = room.to_host(retrieve(room.to_device(frames), self.phase, device))
        made[corrected.bad.T] = np.nan
        writer.write(block.core, made)


def phase_layout(scan: Scan) -> Layout:
    """Of the volume between the two: rows of many frames are read together later on."""
    shape = (scan.count, scan.rows, scan.columns)
    chunk = (min(FRAMES, scan.count), min(16, scan.rows), scan.columns)
    return Layout((Level(shape, chunk),), np.dtype(np.float32), codec="none")
