"""Levels that a file has are read from it; others are means, kept or made when they are read."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.box import Box, Shape, triple
from pellucid.fields.bricks.pyramid import Pyramid, plan
from pellucid.formats.location import Location
from pellucid.formats.protocol import Header, Level, Spacing, Voxels
from pellucid.settings import load, use
from pellucid.volume import statistics
from pellucid.volume.closable_reader import ClosableReader
from pellucid.volume.levels import reduce_voxels
from pellucid.volume.volume import Volume
from tests.contracts.lazy_volumes import ComputedReader, PlanesReader

EVERYTHING = 2**30


class LeveledReader(ComputedReader):
    """Voxels that say which level they came from."""

    def __init__(self, levels: list[tuple[Shape, Spacing]]) -> None:
        super().__init__(levels[0][0], lambda box: np.zeros(box.shape))
        self.header = Header(tuple(Level(shape, (32, 32, 32), spacing) for shape, spacing in levels), np.dtype("uint8"))

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        out[...] = 10 * level


def volume_of(*levels: tuple[Shape, Spacing]) -> Volume:
    return Volume(ClosableReader(LeveledReader(list(levels))), Location("memory:levels"))


def test_halvings_go_down_to_one_brick() -> None:
    levels = plan(Volume.from_array(np.zeros((33, 70, 300), np.uint8)))
    assert [level.shape for level in levels] == [
        (33, 70, 300), (17, 35, 150), (9, 18, 75), (5, 9, 38), (3, 5, 19)
    ]  # fmt: skip
    assert levels[-1].halvings == (4, 4, 4)
    assert levels[-1].bricks == (1, 1, 1)


def test_thick_slices_are_halved_later() -> None:
    levels = plan(Volume.from_array(np.zeros((20, 100, 100), np.uint8), spacing=(4.0, 1.0, 1.0)))
    assert [level.halvings for level in levels] == [(0, 0, 0), (0, 1, 1), (0, 2, 2)]


def test_the_file_s_levels_are_used_and_continued() -> None:
    volume = volume_of(((100, 100, 100), (1.0, 1.0, 1.0)), ((50, 50, 50), (2.0, 2.0, 2.0)))
    pyramid = Pyramid(volume)
    assert [level.file_level for level in pyramid.levels] == [0, 1, None]
    assert pyramid.read(1, Box((0, 0, 0), (2, 2, 2))).tolist() == np.full((2, 2, 2), 10).tolist()
    assert (pyramid.read(2, Box.whole((25, 25, 25))) == 10).all()


def test_levels_that_are_no_halvings_are_left_out() -> None:
    volume = volume_of(((90, 90, 90), (1.0, 1.0, 1.0)), ((30, 30, 30), (3.0, 3.0, 3.0)))
    assert [level.file_level for level in plan(volume)] == [0, None, None]


@pytest.mark.parametrize("host_bytes", [0, 40_000, EVERYTHING])
def test_kept_or_made_when_read_is_the_same(host_bytes: int) -> None:
    voxels = np.random.default_rng(0).integers(0, 255, (50, 131, 95), dtype=np.uint8)
    pyramid = Pyramid(Volume.from_array(voxels), host_bytes)
    expected = voxels
    for level, resolution in enumerate(pyramid.levels):
        expected = (
            reduce_voxels(voxels, (1, 1, 1), "mean") if level == 0 else reduce_voxels(expected, (2, 2, 2), "mean")
        )
        assert expected.shape == resolution.shape
        box = Box((1, 2, 1), resolution.shape)
        assert np.array_equal(pyramid.read(level, box), expected[box.slices])


def test_what_changed_is_made_again() -> None:
    voxels = np.zeros((64, 64, 64), np.uint8)
    pyramid = Pyramid(Volume.from_array(voxels))
    voxels[10:12, 20:22, 30:32] = 80
    pyramid.refresh(Box((10, 20, 30), (12, 22, 32)))
    coarse = pyramid.read(1, Box.whole((32, 32, 32)))
    assert coarse[5, 10, 15] == 80
    assert np.count_nonzero(coarse) == 1


@settings(max_examples=25)
@given(st.tuples(*[st.integers(1, 60)] * 3), st.sampled_from(["uint8", "int16", "float32"]), st.booleans())
def test_parts_of_planes_make_the_levels_of_whole_ones(shape: Shape, dtype: str, has_nan: bool) -> None:
    voxels = (np.random.default_rng(sum(shape)).normal(size=shape) * 30 + 60).astype(dtype)
    if has_nan and dtype == "float32":
        voxels[shape[0] // 2, shape[1] // 2, shape[2] // 2] = np.nan
    planes = PlanesReader(voxels)
    volume = Volume(ClosableReader(planes), Location("memory:planes"))
    with use(replace(load(), memory_bytes=1, threads=2)), patch.object(statistics, "PIECE_BYTES", 4000):
        pyramid = Pyramid(volume, EVERYTHING)
    assert planes.largest_read * voxels.itemsize <= 4000
    expected = voxels
    for level, resolution in enumerate(pyramid.levels[1:], 1):
        finer = pyramid.levels[level - 1]
        factors = triple(1 << (b - a) for a, b in zip(finer.halvings, resolution.halvings, strict=True))
        expected = reduce_voxels(expected, factors, "mean")
        assert pyramid.read(level, Box.whole(resolution.shape)).tobytes() == expected.tobytes()
