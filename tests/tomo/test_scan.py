"""Frames are read block by block, in the order asked for; a Scan refuses parts that do not fit together."""

from typing import Any

import numpy as np
import pytest

from pellucid.errors import InvalidInput
from pellucid.tomo.scan import Frames, Scan

STACK = np.arange(6 * 4 * 5, dtype=np.uint16).reshape(6, 4, 5)


@pytest.mark.parametrize(
    "which", [slice(None), [5, 0, 1, 2], [1, 3, 5], np.array([True, False, True, True, False, True])]
)
def test_frames_come_in_the_order_asked_for(which: Any) -> None:
    frames = Frames.from_array(STACK).choose(which)
    assert np.array_equal(frames.read(), STACK[which])
    assert np.array_equal(frames.read((1, 3), (2, 4)), STACK[which][1:3, 2:4])
    assert frames.times.tolist() == np.arange(6.0)[which].tolist()


def test_reading_what_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"no rows 3:5: there are 4. Stay within 0:4"):
        Frames.from_array(STACK).read(rows=(3, 5))


def test_a_scan_says_how_far_the_sample_turned() -> None:
    half = Scan("memory", "simulated", Frames.from_array(STACK), np.arange(6) * np.pi / 6)
    assert half.span_rad == pytest.approx(np.pi) and not half.is_full_turn
    full = Scan("memory", "simulated", Frames.from_array(STACK), np.arange(6) * np.pi / 3)
    assert full.is_full_turn


def test_parts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidInput, match="6 projections and 5 angles"):
        Scan("memory", "simulated", Frames.from_array(STACK), np.arange(5.0))
    with pytest.raises(InvalidInput, match=r"flats of memory are \(3, 5\) pixels and its projections \(4, 5\)"):
        Scan("memory", "simulated", Frames.from_array(STACK), np.arange(6.0), flats=Frames.from_array(STACK[:, 1:]))
