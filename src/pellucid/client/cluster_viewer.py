"""A viewer for the blocks of a running program: images go from the Workers to the page, not through the program.

Here: connect_viewer, open_viewer, ConnectedViewer.
Not here: drawing (cluster.viewer), viewers of files on Workers (cluster.viewer.worker_source).

    with connect_viewer(application) as shown:
        print(shown.viewer.url)
        for step in range(100):
            blocks = ...
            open_viewer(blocks, shown)
"""

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid.box import Shape, triple
from pellucid.client.launch import start
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.group import WorkerGroup
from pellucid.cluster.viewer.block_file import SUFFIX, BlockFile, BlockRecord, PlacedBlock, check_placed
from pellucid.cluster.viewer.cluster_file import ClusterFile
from pellucid.formats.protocol import Spacing

if TYPE_CHECKING:
    from pellucid.client.viewer import Viewer
    from pellucid.cluster.spark.application import SparkApplication

FIRST = "blocks-0"


class ConnectedViewer:
    """viewer: the one that shows the blocks. What users change there stays when other blocks are shown."""

    def __init__(self, viewer: "Viewer", cluster: ClusterFile, spacing: Spacing) -> None:
        self.viewer, self._cluster, self._spacing = viewer, cluster, spacing
        self._numbers = itertools.count()
        self._shown: Path | None = None

    def show(self, blocks: Iterable[tuple[Shape, DeviceBlock]]) -> None:
        """Show blocks that are on the Workers in place of those before. Each with its first voxel (z, y, x) in the
        volume; with a halo of 2, or of 1 if it is not shaded by gradient."""
        self._show([_described(pair) for pair in blocks])

    def _show(self, described: list[tuple[str, Shape, Shape, str]]) -> None:
        placed = tuple(PlacedBlock(handle, start, shape) for handle, start, shape, _ in described)
        check_placed(placed)
        path = self._cluster.path.with_name(f"blocks-{next(self._numbers)}{SUFFIX}")
        BlockFile(path).write(BlockRecord(str(self._cluster.path), described[0][3], self._spacing, placed))
        if self._shown is None:
            self.viewer.load(path)
        else:
            self.viewer.change("volumes", 0, "source", value=str(path))
            self._shown.unlink(missing_ok=True)
        self._shown = path

    def close(self) -> None:
        """Remove the file that names the blocks."""
        if self._shown is not None:
            self._shown.unlink(missing_ok=True)


@contextmanager
def connect_viewer(
    application: "SparkApplication | WorkerGroup", *, spacing: Spacing = (1.0, 1.0, 1.0), **options: Any
) -> Iterator[ConnectedViewer]:
    """Start a viewer that draws with the Workers of a program. options: as of pellucid.start."""
    cluster = ClusterFile.of(application.credentials)
    workers = application.workers if isinstance(application, WorkerGroup) else application.workers()
    cluster.write(application.credentials, workers, prefers_local=application.links.prefers_local)
    try:
        with start(device=cluster.device, roots=[cluster.path.parent], **options) as viewer:
            shown = ConnectedViewer(viewer, cluster, spacing)
            yield shown
            shown.close()
    finally:
        cluster.remove()


def open_viewer(blocks: Any, shown: ConnectedViewer) -> None:
    """Show the blocks of an RDD, in place of recv_gpu: the driver receives their handles, and no voxels or images.
    Elements: the first voxel (z, y, x) of a block in the volume, and the block with its halo, cached or persistent."""
    shown._show(blocks.map(_described).collect())


def _described(pair: tuple[Shape, DeviceBlock]) -> tuple[str, Shape, Shape, str]:
    first, block = pair
    return str(block.handle), triple(first), block.shape, block.dtype.str
