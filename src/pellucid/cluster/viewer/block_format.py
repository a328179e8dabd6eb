"""The voxels of a running program's blocks, read like a file: for histograms, slices and values under the cursor.

Here: BlockFormat, BlockReader.
Not here: which formats there are (formats.registry), drawing (job_blocks).
"""

from collections import defaultdict

import numpy as np

from pellucid.box import Box
from pellucid.cluster.credentials import Credentials
from pellucid.cluster.handles import Handle
from pellucid.cluster.viewer.block_file import SUFFIX, BlockFile
from pellucid.cluster.viewer.cluster_file import ClusterFile
from pellucid.errors import BlockLost, NotWritable, Unreachable
from pellucid.formats.location import Location
from pellucid.formats.protocol import Header, Layout, Level, Voxels, Writer
from pellucid.transport.address import Address
from pellucid.transport.peers.client import PeerClient
from pellucid.transport.peers.requests import PullRequest

NAME = "blocks"


class BlockReader:
    """Pulls what is read from the Workers that have it."""

    def __init__(self, location: Location) -> None:
        self.record = BlockFile(location.local).read()
        cluster = ClusterFile.of_device(self.record.cluster).read()
        token = Credentials.parse(cluster.credentials).token
        self._peers = PeerClient(token, prefers_local=cluster.prefers_local)
        level = Level(self.record.shape, self.record.blocks[0].shape, self.record.spacing)
        self.header = Header((level,), np.dtype(self.record.dtype).newbyteorder("="))

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        plan: dict[Address, list[PullRequest]] = defaultdict(list)
        for block in self.record.blocks:
            part, handle = block.box.intersect(box), Handle.parse(block.handle)
            if part.is_empty:
                continue
            into = out[part.relative_to(box.start).slices]
            plan[handle.worker.address].append(PullRequest(handle.pack(), part.relative_to(block.start), into))
        try:
            self._peers.pull(plan)
        except Unreachable as error:
            raise BlockLost(", ".join(map(str, plan)), "a Worker does not respond") from error

    def close(self) -> None:
        self._peers.close()


class BlockFormat:
    """As a plugin of formats: only viewers with Device Workers know it."""

    def __init__(self) -> None:
        self.suffixes: tuple[str, ...] = ()

    def recognises(self, path: str, head: bytes) -> bool:
        return path.endswith(SUFFIX)

    def open_reader(self, location: Location) -> BlockReader:
        return BlockReader(location)

    def open_writer(self, location: Location, layout: Layout, *, resume: bool = False) -> Writer:
        raise NotWritable(location.path, "blocks are those of a running program")
