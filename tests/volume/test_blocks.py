"""Splitting and stitching: exact for any block, halo and volume."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import uniform_filter

from pellucid.box import Box, Shape
from pellucid.errors import InvalidInput
from pellucid.volume.blocks import split, stitch

shapes = st.tuples(*[st.integers(1, 13)] * 3)
halos = st.tuples(*[st.integers(0, 4)] * 3)


@given(shapes, shapes, halos)
def test_cores_tile_the_volume_and_outers_hold_the_halo(shape: Shape, block: Shape, halo: Shape) -> None:
    count = np.zeros(shape, int)
    for one in split(shape, block, halo):
        count[one.core.slices] += 1
        assert one.outer == one.core.grow(halo).intersect(Box.whole(shape))
    assert (count == 1).all()


@given(shapes, shapes, halos)
def test_stitching_what_was_split_gives_the_volume_back(shape: Shape, block: Shape, halo: Shape) -> None:
    volume = np.arange(np.prod(shape)).reshape(shape)
    whole = np.full(shape, -1)
    for one in split(shape, block, halo):
        stitch(whole, one, volume[one.outer.slices])
    assert (whole == volume).all()


@given(shapes, shapes)
def test_a_filter_leaves_no_seam(shape: Shape, block: Shape) -> None:
    volume = np.random.default_rng(1).integers(0, 1000, shape).astype(float)
    whole = np.empty(shape)
    for one in split(shape, block, (1, 1, 1)):
        padded = np.pad(volume[one.outer.slices], one.padding((1, 1, 1)), mode="symmetric")
        stitch(whole, one, uniform_filter(padded, 3)[1:-1, 1:-1, 1:-1])
    assert np.allclose(whole, uniform_filter(volume, 3, mode="reflect"))


@given(shapes, shapes, halos)
def test_padding_completes_the_halo(shape: Shape, block: Shape, halo: Shape) -> None:
    for one in split(shape, block, halo):
        widths = one.padding(halo)
        full = tuple(n + low + high for n, (low, high) in zip(one.outer.shape, widths, strict=True))
        assert full == one.core.grow(halo).shape


def test_impossible_blocks_are_refused() -> None:
    with pytest.raises(InvalidInput, match="edges >= 1"):
        split((4, 4, 4), (0, 1, 1))
