"""Neighbouring bricks are read together, by whole chunks where these are compressed."""

import errno
from dataclasses import replace

import numpy as np
import pytest

from pellucid.box import Box, Shape
from pellucid.fields.bricks.reader import BrickReader
from pellucid.fields.bricks.volume_bricks import VolumeBricks
from pellucid.formats.location import Location
from pellucid.formats.protocol import Level, Voxels
from pellucid.volume.closable_reader import ClosableReader
from pellucid.volume.volume import Volume
from tests.contracts.lazy_volumes import ComputedReader

SHAPE = (64, 256, 256)
BRICKS = 2 * 8 * 8


class WatchedReader(ComputedReader):
    """Remembers the boxes that were read."""

    def __init__(self, voxels: Voxels, chunk: Shape, codec: str) -> None:
        super().__init__(SHAPE, lambda box: voxels[box.slices])
        self.header = replace(self.header, levels=(Level(SHAPE, chunk),), codec=codec)
        self.boxes: list[Box] = []

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        self.boxes.append(box)
        super().read(box, out)


@pytest.mark.parametrize(
    ("chunk", "codec", "reads"), [((64, 64, 64), "zstd", 4), ((1, 256, 256), "", 4), ((1, 256, 256), "deflate", 2)]
)
def test_all_bricks_in_few_reads(chunk: Shape, codec: str, reads: int) -> None:
    voxels = np.random.default_rng(0).integers(0, 255, SHAPE, dtype=np.uint8)
    watched = WatchedReader(voxels, chunk, codec)
    reader = BrickReader(VolumeBricks(Volume(ClosableReader(watched), Location("memory:watched")), np.dtype("uint8")))
    watched.boxes.clear()
    found = {
        int(page): brick
        for batch in reader.read(np.arange(BRICKS))
        for group in batch
        for page, brick in zip(group.pages, group.voxels, strict=True)
    }
    assert len(watched.boxes) == reads
    assert sorted(found) == list(range(BRICKS))
    padded = np.pad(voxels, 2, mode="edge")
    for page, (z, y, x) in enumerate(np.ndindex(2, 8, 8)):
        expected = padded[32 * z : 32 * z + 36, 32 * y : 32 * y + 36, 32 * x : 32 * x + 36]
        assert np.array_equal(found[page].reshape(36, 36, 36), expected)
    reader.close()


def test_a_failure_to_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    voxels = np.zeros(SHAPE, np.uint8)
    watched = WatchedReader(voxels, (64, 64, 64), "")
    reader = BrickReader(VolumeBricks(Volume(ClosableReader(watched), Location("memory:watched")), np.dtype("uint8")))

    def fail(box: Box, out: Voxels, **_: int) -> None:
        raise OSError(errno.EIO, "the disk is gone")

    monkeypatch.setattr(watched, "read", fail)
    with pytest.raises(OSError, match="the disk is gone"):
        list(reader.read(np.array([0])))
    monkeypatch.undo()
    assert len(list(reader.read(np.array([0])))) == 1
    reader.close()
