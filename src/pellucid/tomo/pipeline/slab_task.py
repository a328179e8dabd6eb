"""The task that makes the slices of a slab and writes them.

Here: SlabTask.
Not here: the steps (slabs), planning, resuming and reporting (pipeline).

Reading, copying, computing and writing overlap: workers of the engine do all of them at the same time, and only take
turns at computing.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from pellucid.box import Box, Shape
from pellucid.conversion.values import ValueMap
from pellucid.device import Array, choose, primitives
from pellucid.engines.task import TaskContext, Work
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Voxels
from pellucid.formats.registry import open_writer
from pellucid.tomo.correction.preparation import Preparation, prepared_scan
from pellucid.tomo.geometry.offset import OffsetAxis
from pellucid.tomo.methods.gridding_cpu import reuse_buffers
from pellucid.tomo.pipeline.memory_model import SlabSize, slab_bytes
from pellucid.tomo.pipeline.plane_task import PlaneTask
from pellucid.tomo.pipeline.slabs import SlabPlan, SlabStatistics, make_slab
from pellucid.tomo.pipeline.volume_region import VolumeRegion
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan import Scan
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.registry import open_scan

MAX_SLICES = 64
"""Of a slab: more would only make the first one late."""

AS_IT_IS = ValueMap("float32")


@dataclass(frozen=True)
class SlabTask(PlaneTask):
    """Make slices of a scan and write them to level 0 of the target.

    axis, offset: as in SlabPlan. region: what the target has of the volume. scale: from attenuation per pixel to the
    unit of the output. preparation, prepared: what was done to whole projections, and where they lie.
    """

    source: str
    options: ScanOptions
    recipe: Recipe
    axis: tuple[float, float]
    offset: OffsetAxis | None
    region: VolumeRegion
    scale: float
    target: str
    layout: Layout
    values: ValueMap
    output_chunk: Shape
    views: int
    columns: int
    raw_itemsize: int
    device: str
    preparation: Preparation | None = None
    prepared: str = ""

    most: ClassVar[int] = MAX_SLICES

    def cost(self, shape: Shape) -> int:
        itemsizes = self.raw_itemsize, self.layout.dtype.itemsize
        size = SlabSize(shape[0], self.views, self.columns, self.region.edge, *itemsizes)
        return slab_bytes(size, self.recipe)

    @contextmanager
    def open(self, context: TaskContext) -> Iterator[Work]:
        whole = open_scan(self.source, self.options)
        scan = whole if self.preparation is None else prepared_scan(whole, self.preparation, self.prepared)
        writer = open_writer(Location.parse(self.target), self.layout, resume=True)
        used: list[Voxels] = []
        with closing(whole), closing(scan), closing(writer), reuse_buffers():
            yield lambda block: self.make(block.core, scan, writer, used)

    def make(self, box: Box, scan: Scan, writer: Any, used: list[Voxels]) -> dict[str, Any]:
        """Make and write some slices; returns what is to be known of it in the report.

        used: slabs that are written already, whose memory serves again: new memory takes longer to fill.
        """
        account, plan = SlabStatistics(), self.plan()
        raw, rows = self.read(box, scan, account)
        slab, kept = _room(used, box.shape, self.layout.dtype), (slice(None), *self.region.in_slice)

        def put(start: int, slices: Array) -> None:
            slices = slices[kept]
            place = slab[start : start + len(slices)]
            if self.values == AS_IT_IS:
                primitives(plan.device).to_host(slices, out=place)
                return
            for target, image in zip(place, primitives(plan.device).to_host(slices), strict=True):
                target[...] = self.values.apply(image)

        make_slab(raw, scan, rows, plan, account, put)
        with account.timing("write"):
            writer.write(box, slab)
        used.append(slab)
        return asdict(account)

    def plan(self, sets: int = 1) -> SlabPlan:
        return SlabPlan(self.recipe, self.axis, choose(self.device), self.offset, self.scale, sets=sets)

    def read(self, box: Box, scan: Scan, account: SlabStatistics) -> tuple[Voxels, tuple[int, int]]:
        """The frames of some slices, and their rows of the scan."""
        rows = (box.start[0] + self.region.z[0], box.stop[0] + self.region.z[0])
        with account.timing("read"):
            raw, account.filled = scan.projections.read_filled(rows=rows)
        return raw, rows


def _room(used: list[Voxels], shape: Shape, dtype: np.dtype[Any]) -> Voxels:
    """Memory that served before, where there is any of this shape."""
    try:
        slab = used.pop()  # Asked for first, another thread could have taken it meanwhile.
    except IndexError:
        return np.empty(shape, dtype)
    return slab if slab.shape == shape else np.empty(shape, dtype)
