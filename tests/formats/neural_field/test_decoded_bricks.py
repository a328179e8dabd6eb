"""Reading in any order gives the voxels themselves; what was decoded is not decoded again while it is kept."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pellucid.box import Box, Shape
from pellucid.formats.neural_field.decoded_bricks import DecodedBricks

SHAPE: Shape = (70, 130, 65)
VOXELS = np.random.default_rng(1).integers(0, 255, SHAPE, np.uint8)


class Decoder:
    """Counts the voxels that it decodes."""

    def __init__(self, max_bytes: int = 1 << 30) -> None:
        self.decoded = 0
        self.bricks = DecodedBricks(self.decode, [SHAPE], max_bytes)

    def decode(self, box: Box, level: int) -> Any:
        self.decoded += box.size
        return VOXELS[box.slices]

    def read(self, box: Box) -> Any:
        out = np.zeros(box.shape, np.uint8)
        self.bricks.read(box, out, 0)
        return out


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    ends = [sorted(draw(st.lists(st.integers(0, n), min_size=2, max_size=2, unique=True))) for n in SHAPE]
    (z0, z1), (y0, y1), (x0, x1) = ends
    return Box((z0, y0, x0), (z1, y1, x1))


@given(st.lists(boxes(), min_size=1, max_size=4), st.sampled_from([0, 300_000, 1 << 30]))
def test_boxes_in_any_order_are_the_voxels(wanted: list[Box], max_bytes: int) -> None:
    decoder = Decoder(max_bytes)
    for box in wanted:
        assert np.array_equal(decoder.read(box), VOXELS[box.slices])


def test_the_whole_is_decoded_once() -> None:
    decoder = Decoder()
    for _ in range(3):
        decoder.read(Box.whole(SHAPE))
    assert decoder.decoded == VOXELS.size


def test_a_slice_does_not_decode_what_is_beside_it() -> None:
    decoder = Decoder()
    decoder.read(Box((10, 0, 0), (11, 130, 65)))
    assert decoder.decoded == 130 * 65


def test_what_may_not_be_kept_is_decoded_again() -> None:
    decoder = Decoder(max_bytes=0)
    decoder.read(Box.whole(SHAPE))
    decoder.read(Box.whole(SHAPE))
    assert decoder.decoded == 2 * VOXELS.size
