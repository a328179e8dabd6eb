"""A volume whose blocks a running program has, as the renderer of a viewer uses it.

Here: JobBlocks.
Not here: volumes of files (images.volume_blocks), the file that names the blocks (block_file).
"""

from collections.abc import Callable, Sequence

from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.handles import Handle, WorkerId
from pellucid.cluster.viewer.block_file import SUFFIX, BlockFile
from pellucid.device import never_cancelled
from pellucid.volume.volume import Volume


class JobBlocks:
    """With the methods of VolumeBlocks. Nothing is read again here: what is lost, the program has to show again."""

    is_full_resolution = True
    reads = 0

    def __init__(self, volume: Volume) -> None:
        self.volume = volume
        placed = BlockFile(volume.location.local).read().blocks
        self.boxes = [one.box for one in placed]
        self._blocks = [DeviceBlock(Handle.parse(one.handle)) for one in placed]

    @classmethod
    def has(cls, source: str) -> bool:
        """Whether a source names such blocks."""
        return source.endswith(SUFFIX)

    def blocks(
        self, workers: Sequence[WorkerId], is_cancelled: Callable[[], bool] = never_cancelled
    ) -> list[DeviceBlock]:
        return self._blocks

    def forget_lost(self) -> int:
        """None: the program replaces the file."""
        return 0

    def release(self) -> None:
        """The program releases its blocks itself."""
