"""Boxes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.box import Box, Shape, grid_shape
from pellucid.errors import InvalidInput

lengths = st.integers(1, 12)
shapes = st.tuples(lengths, lengths, lengths)


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    start = draw(st.tuples(*[st.integers(-5, 10)] * 3))
    shape = draw(shapes)
    return Box(start, (start[0] + shape[0], start[1] + shape[1], start[2] + shape[2]))


def test_shape_and_size_count_voxels() -> None:
    box = Box((1, 2, 3), (2, 4, 6))
    assert box.shape == (1, 2, 3)
    assert box.size == 6
    assert Box((3, 0, 0), (1, 2, 2)).is_empty


@given(boxes(), boxes())
def test_intersection_is_what_both_contain(a: Box, b: Box) -> None:
    common = a.intersect(b)
    inside = {cell for cell in a.cells((1, 1, 1)) if cell in set(b.cells((1, 1, 1)))}
    assert set(common.cells((1, 1, 1))) == inside
    assert common.is_empty or (a.contains(common) and b.contains(common))


@given(boxes(), shapes)
def test_tiles_cover_a_box_once(box: Box, tile: Shape) -> None:
    tiles = list(box.tiles(tile))
    assert sum(one.size for one in tiles) == box.size
    assert len({one.start for one in tiles}) == len(tiles)
    assert all(box.contains(one) for one in tiles)


@given(boxes())
def test_text_is_read_back(box: Box) -> None:
    if min(box.start) >= 0:
        assert Box.parse(str(box), (100, 100, 100)) == box


def test_open_ends_mean_the_border() -> None:
    assert Box.parse(":,2:,3", (4, 5, 6)) == Box((0, 2, 3), (4, 5, 4))


@pytest.mark.parametrize("text", ["1:2", "a:b,:,:", "3:2,:,:", "0:9,:,:", "-1:2,:,:"])
def test_a_box_that_cannot_be_says_what_to_write(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"start:stop|z0:z1"):
        Box.parse(text, (4, 5, 6))


def test_growing_and_shifting() -> None:
    box = Box((1, 1, 1), (2, 2, 2))
    assert box.grow((1, 0, 2)) == Box((0, 1, -1), (3, 2, 4))
    assert box.shift((1, 2, 3)).relative_to((1, 2, 3)) == box
    assert grid_shape((5, 4, 1), (2, 2, 2)) == (3, 2, 1)
